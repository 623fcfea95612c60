package audit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	commands "github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/testing/proptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is an audit of a log.
type desk struct {
	*commandstest.World
	audit *commands.Audit
}

func newDesk(t testing.TB) *desk {
	w := commandstest.New(t)
	return &desk{World: w, audit: commands.New(w.Journal, w.Clock.Now)}
}

// write appends events of a time to a stream after a revision.
func (d *desk) write(
	t require.TestingT, stream string, after eventlog.Revision, at time.Time, events ...any,
) eventlog.Revision {
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: at}
	proposed, err := d.Journal.Registry.Encode(uuid.New(), 0, meta, events...)
	require.NoError(t, err)
	appended, err := d.Log.Log.Append(d.T.Context(), stream, after, proposed)
	require.NoError(t, err)
	return appended.Revision
}

func TestAnAccountIsShownAsItWas(t *testing.T) {
	d := newDesk(t)
	day := 24 * time.Hour
	began := d.Clock.Now()
	id := d.Open("free")
	d.Clock.Advance(day)
	keeper := d.Ledger()
	reserved, err := keeper.Reserve(t.Context(), id, 100, commandstest.Operator())
	require.NoError(t, err)
	d.Must(keeper.Settle(t.Context(), reserved, 70))
	d.Clock.Advance(day)
	d.Must(d.Accounts.SetOperator(t.Context(), id, true, commandstest.Operator()))
	d.Clock.Advance(day)
	d.Must(d.Accounts.Close(t.Context(), id, commandstest.Operator()))
	d.Clock.Advance(40 * day)

	as := func(at time.Time) commands.Account {
		found, err := d.audit.Account(t.Context(), id, at)
		require.NoError(t, err)
		return found
	}
	_, err = d.audit.Account(t.Context(), id, began.Add(-time.Second))
	require.Equal(t, domain.NotFound, domain.CodeOf(err), "it had not been opened")
	_, err = d.audit.Account(t.Context(), "nobody", d.Clock.Now())
	require.Equal(t, domain.NotFound, domain.CodeOf(err))

	opened := as(began)
	require.Len(t, opened.Keys, 1)
	require.False(t, opened.Operator || opened.Usage.Exists())
	used := as(began.Add(day))
	require.EqualValues(t, 70, used.Usage.Settled)
	require.False(t, used.Operator)
	require.True(t, as(began.Add(2*day)).Operator)
	require.Equal(t, account.NotClosed, as(began.Add(3*day-time.Nanosecond)).Closing)
	closed := as(began.Add(3 * day))
	require.Equal(t, account.Ending, closed.Closing)
	require.Empty(t, closed.Keys)
	require.Equal(t, "account-"+id, closed.From[0].Stream)
	require.False(t, as(d.Clock.Now()).Usage.Exists(), "in a later period nothing was used")
}

// The state at any time is a plain fold of the events until then, for any length of the stream and any skipped events.
func TestAsOfIsAFoldOfWhatHadHappened(t *testing.T) {
	d := newDesk(t)
	began := d.Clock.Now()
	proptest.Check(t, 4, func(r *rapid.T) {
		id := uuid.NewString()
		owner := account.Opened{Account: id, Plan: plan.Free, At: began}
		d.write(r, account.Stream(id), eventlog.NoStream, began, owner)
		limit := int64(15_000)
		stream := ledger.Stream(id, owner.Entitlement().At(began).Start)
		events := []ledger.Event{ledger.PeriodOpened{Account: id, Plan: plan.Free, Limit: &limit, Start: began,
			End: began.AddDate(0, 1, 0)}}
		states := []ledger.State{ledger.Evolve(ledger.State{}, events[0])}
		revision := d.write(r, stream, eventlog.NoStream, began, events[0])
		length := rapid.IntRange(0, 3000).Draw(r, "length")
		batch := []any{}
		for i := 1; i <= length; i++ {
			event := ledger.Event(ledger.Settled{Account: id, Reservation: fmt.Sprint(i), Characters: int64(i), Start: began,
				At: began})
			if i%1000 == 0 {
				event = ledger.SnapshotTaken{PeriodOpened: states[i-1].Terms, Characters: states[i-1].Settled, At: began}
			}
			states = append(states, ledger.Evolve(states[i-1], event))
			batch = append(batch, event)
			if i%100 == 0 || i == length { // each batch is a second later
				revision = d.write(r, stream, revision, began.Add(time.Duration(i/100)*time.Second), batch...)
				batch = batch[:0]
			}
		}
		second := rapid.IntRange(0, length/100+2).Draw(r, "second")
		found, err := d.audit.Account(t.Context(), id, began.Add(time.Duration(second)*time.Second))
		require.NoError(r, err)
		last := min(length, second*100)
		if second > length/100 || length%100 != 0 && second == length/100 {
			last = length
		}
		require.Equal(r, states[last].Settled, found.Usage.Settled)
		require.EqualValues(r, last, found.From[1].Revision)
	})
}
