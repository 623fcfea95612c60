package notices_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/commands/commandstest"
	commands "github.com/recital-tts/recital/commands/notices"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/notice"
	"github.com/recital-tts/recital/internal/access/keyring/memkeys"
	"github.com/recital-tts/recital/internal/events/todo"
	port "github.com/recital-tts/recital/internal/providers/notices"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server accepts messages, unless fail is set.
type server struct {
	mu   sync.Mutex
	fail error
	sent []port.Message
}

// Send implements port.Sender.
func (s *server) Send(_ context.Context, m port.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	s.sent = append(s.sent, m)
	return nil
}

type world struct {
	*commandstest.World
	*commands.Notices
	server *server
	keys   *memkeys.Keyring
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{World: commandstest.New(t), server: &server{}, keys: memkeys.New()}
	w.Accounts.SealWith(w.keys)
	w.Notices = commands.New(commands.Config{
		Journal: w.Journal, Accounts: w.Accounts, Keys: w.keys, Operators: "operators@example.com", Now: w.Clock.Now,
		Address: func(_ context.Context, id string) (sealed []byte, err error) {
			for _, event := range commandstest.Fold[account.Event](w.World, account.Stream(id)) {
				if e, is := event.(account.ProfileRecorded); is {
					sealed = e.Email
				}
			}
			return sealed, nil
		},
	})
	return w
}

// owned opens an account whose owner has an address.
func (w *world) owned() string {
	w.T.Helper()
	id := w.Open("free")
	_, err := w.Accounts.RecordProfile(w.T.Context(), id, account.Profile{Name: "Ada\r\nBcc: eve@example.com",
		Email: "ada@example.com"}, commandstest.Operator())
	require.NoError(w.T, err)
	return id
}

// item returns the item of a notice about an occasion now.
func (w *world) item(n notice.Notice) todo.Item {
	return todo.Item{ID: n.Item(), Stream: notice.Stream(n.Account, w.Clock.Now()), Due: w.Clock.Now(), Cause: uuid.New()}
}

func (w *world) carry(item todo.Item) error {
	_, err := w.Carry(w.T.Context(), notice.Mail, w.server, item)
	return err
}

func (w *world) outcomes(stream string) (all []notice.Outcome) {
	for _, event := range commandstest.Fold[notice.Event](w.World, stream) {
		switch e := event.(type) {
		case notice.Ended:
			all = append(all, e.Outcome)
		case notice.LimitReached:
			all = append(all, notice.Exceeded)
		}
	}
	return all
}

func TestANoticeGoesToTheOwnersAddressOnce(t *testing.T) {
	w := newWorld(t)
	id := w.owned()
	item := w.item(notice.OfUsage(id, 80, 15_000))
	require.NoError(t, w.carry(item))
	require.NoError(t, w.carry(item))
	require.Len(t, w.server.sent, 1)
	m := w.server.sent[0]
	require.Equal(t, "ada@example.com", m.To)
	require.Equal(t, commands.ID(item).String(), m.ID)
	require.Equal(t, "80 % of your characters are used", m.Subject)
	require.Contains(t, m.Body, "15000")
	require.Equal(t, []notice.Outcome{notice.Sent}, w.outcomes(item.Stream))
	for event, err := range w.Log.ReadStream(t.Context(), item.Stream, 0) {
		require.NoError(t, err)
		require.NotContains(t, string(event.Data)+string(event.Metadata), "ada@")
	}
}

func TestAnAlertGoesToTheOperators(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.carry(w.item(notice.Notice{Kind: notice.AlertRaised, Details: map[string]string{
		"sentence": "A disk is nearly full",
	}})))
	require.Equal(t, "operators@example.com", w.server.sent[0].To)
}

func TestWhatIsNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*world, string)
		want    notice.Outcome
	}{
		"to a closed account": {func(w *world, id string) {
			_, err := w.Accounts.Close(w.T.Context(), id, commandstest.Operator())
			require.NoError(w.T, err)
		}, notice.Unwanted},
		"to an owner who wants no e-mail": {func(w *world, id string) {
			_, err := w.Accounts.SetEmailPreferences(w.T.Context(), id, false, commandstest.Operator())
			require.NoError(w.T, err)
		}, notice.Unwanted},
		"with a key that is destroyed": {func(w *world, id string) {
			require.NoError(w.T, w.keys.Erase(w.T.Context(), id))
		}, notice.Unwanted},
		"a day later": {func(w *world, _ string) { w.Clock.Advance(25 * time.Hour) }, notice.Late},
		"to an address that is refused": {func(w *world, _ string) {
			w.server.fail = fmt.Errorf("the server: %w", port.ErrRefused)
		}, notice.Refused},
	} {
		w := newWorld(t)
		id := w.owned()
		item := w.item(notice.OfKey(id, "rk_abcd****wxyz"))
		c.prepare(w, id)
		require.NoError(t, w.carry(item), name)
		require.Empty(t, w.server.sent, name)
		require.Equal(t, []notice.Outcome{c.want}, w.outcomes(item.Stream), name)
	}
}

func TestAnOwnerWithoutAnAddressIsOnlyKnownToTheWebhook(t *testing.T) {
	w := newWorld(t)
	item := w.item(notice.OfPayment(w.Open("free"), "in_1", 1))
	require.NoError(t, w.carry(item))
	require.Empty(t, w.server.sent)
	w.Must(w.Carry(t.Context(), notice.Webhook, w.server, item))
	require.Len(t, w.server.sent, 1)
	require.Empty(t, w.server.sent[0].To)
	require.Equal(t, []notice.Outcome{notice.Unwanted, notice.Sent}, w.outcomes(item.Stream))
}

func TestWhatIsNotTakenRestsLongerEachTime(t *testing.T) {
	w := newWorld(t)
	item := w.item(notice.OfUsage(w.owned(), 100, 15_000))
	w.server.fail = port.ErrLater
	for _, c := range []struct{ waited, pause time.Duration }{
		{0, 30 * time.Second}, {30 * time.Second, 30 * time.Second}, {time.Minute, 90 * time.Second},
		{3 * time.Hour, time.Hour},
	} {
		w.Clock.Advance(c.waited)
		var notYet *todo.NotYetError
		require.ErrorAs(t, w.carry(item), &notYet)
		require.Equal(t, c.pause, notYet.After)
	}
	require.Empty(t, w.outcomes(item.Stream))
	w.server.fail = nil
	require.NoError(t, w.carry(item))
	require.Equal(t, []notice.Outcome{notice.Sent}, w.outcomes(item.Stream))
}

func TestAnOutageIsNoFailureOfANotice(t *testing.T) {
	w := newWorld(t)
	item := w.item(notice.OfUsage(w.owned(), 100, 15_000))
	w.server.fail = port.ErrUnavailable
	require.Equal(t, domain.Unavailable, domain.CodeOf(w.carry(item)))
	require.Empty(t, w.outcomes(item.Stream))
}

// A process that crashes after a notice was sent, and before that is in the log, sends it again under the same id.
func TestAKillRepeatsANoticeUnderItsID(t *testing.T) {
	w := newWorld(t)
	item := w.item(notice.OfUsage(w.owned(), 80, 15_000))
	w.Log.Break(item.Stream)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := w.Carry(ctx, notice.Mail, w.server, item)
	require.Error(t, err)
	w.Log.Break("")
	require.NoError(t, w.carry(item))
	require.Len(t, w.server.sent, 2)
	require.Equal(t, w.server.sent[0].ID, w.server.sent[1].ID)
	require.Equal(t, []notice.Outcome{notice.Sent}, w.outcomes(item.Stream))
}

func TestNobodyCanHaveNoticesSentWithoutEnd(t *testing.T) {
	w := newWorld(t)
	id := w.owned()
	for i := range 100 {
		require.NoError(t, w.carry(w.item(notice.OfKey(id, fmt.Sprintf("rk_%04d****wxyz", i)))))
	}
	require.Len(t, w.server.sent, 20)
	stream := notice.Stream(id, w.Clock.Now())
	require.Len(t, w.outcomes(stream), 21, "what exceeds the limit is recorded once")

	// others are not affected, and the account is notified again in the next hour
	other := w.owned()
	require.NoError(t, w.carry(w.item(notice.OfKey(other, "rk_abcd****wxyz"))))
	w.Clock.Advance(time.Hour)
	require.NoError(t, w.carry(w.item(notice.OfKey(id, "rk_abcd****wxyz"))))
	require.Len(t, w.server.sent, 22)
}

func TestTwoInstancesRecordOneOutcome(t *testing.T) {
	w := newWorld(t)
	item := w.item(notice.OfUsage(w.owned(), 80, 15_000))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if err := w.carry(item); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	require.Equal(t, []notice.Outcome{notice.Sent}, w.outcomes(item.Stream))
}
