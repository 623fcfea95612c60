package commands_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/eventlog/catalog"
	"github.com/recital-tts/recital/internal/eventlog/esdb"
	"github.com/recital-tts/recital/internal/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
)

// speechworker is the real binary, built once by TestMain.
var speechworker string

func TestMain(m *testing.M) { workertest.Main(m, &speechworker) }

// patience bounds what is waited for on a machine that is busy; nothing is timed.
const patience = time.Minute

// longest is how long reservations live.
const longest = 10 * time.Minute

// startTime is when the tests' clocks start: early in a period.
var startTime = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// clock is a time that tests set.
type clock struct{ nanoseconds atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.nanoseconds.Store(startTime.UnixNano())
	return c
}

func (c *clock) Now() time.Time { return time.Unix(0, c.nanoseconds.Load()).UTC() }

func (c *clock) advance(d time.Duration) { c.nanoseconds.Add(int64(d)) }

// watched is a real log that counts, and that can be made to wait before an append.
type watched struct {
	eventlog.Log
	appends, conflicts, reads atomic.Int64

	mu     sync.Mutex
	gate   chan struct{} // appends wait until it is closed, if there is one
	held   chan struct{} // has room for one: an append waits
	broken string        // a stream that takes no appends
}

func watch(log eventlog.Log) *watched { return &watched{Log: log, held: make(chan struct{}, 1)} }

// hold makes appends wait; release lets them go on.
func (w *watched) hold() (release func()) {
	gate := make(chan struct{})
	w.mu.Lock()
	w.gate = gate
	w.mu.Unlock()
	return func() {
		w.mu.Lock()
		w.gate = nil
		w.mu.Unlock()
		close(gate)
	}
}

// breaks makes a stream take no appends, none where it is empty.
func (w *watched) breaks(stream string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = stream
}

func (w *watched) Append(ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed) (eventlog.Appended, error) {
	w.mu.Lock()
	gate, broken := w.gate, w.broken
	w.mu.Unlock()
	if stream == broken {
		return eventlog.Appended{}, eventlog.ErrUnavailable
	}
	if gate != nil {
		select {
		case w.held <- struct{}{}:
		default:
		}
		<-gate
	}
	w.appends.Add(1)
	appended, err := w.Log.Append(ctx, stream, expected, events)
	if isConflict(err) {
		w.conflicts.Add(1)
	}
	return appended, err
}

func (w *watched) ReadStreamBackwards(ctx context.Context, stream string) iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		for event, err := range w.Log.ReadStreamBackwards(ctx, stream) {
			w.reads.Add(1)
			if !yield(event, err) {
				return
			}
		}
	}
}

// world is a log in a real node, and what the tests do with it.
type world struct {
	t        testing.TB
	log      *watched
	journal  commands.Journal
	accounts *commands.Accounts
	clock    *clock
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOn(t, nodetest.Start(t))
}

func newWorldOn(t testing.TB, socket string) *world {
	t.Helper()
	client, err := esdb.Open(esdb.Config{Socket: socket, MaxBackOff: 50 * time.Millisecond, BreakerPause: 50 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	registry, err := catalog.Registry()
	require.NoError(t, err)
	w := &world{t: t, log: watch(client), clock: newClock()}
	w.journal = commands.Journal{Log: w.log, Registry: registry}
	w.accounts = commands.NewAccounts(w.journal, w.clock.Now)
	return w
}

// ledger is one instance's.
func (w *world) ledger() *commands.Ledger {
	w.t.Helper()
	keeper := w.newLedger()
	w.t.Cleanup(keeper.Close)
	return keeper
}

// newLedger is ledger, closed by the caller.
func (w *world) newLedger() *commands.Ledger {
	w.t.Helper()
	keeper, err := commands.NewLedger(w.journal, w.clock.Now, longest)
	require.NoError(w.t, err)
	return keeper
}

var operator = eventlog.Actor{Kind: eventlog.ActorOperator}

// open opens an account on a plan.
func (w *world) open(plan string) string {
	w.t.Helper()
	opened, err := w.accounts.Open(w.t.Context(), plan, operator)
	require.NoError(w.t, err)
	return opened.Account
}

// stream is where an account's characters of now are kept.
func (w *world) stream(id string) string {
	var state account.State
	for _, event := range fold[account.Event](w, "account-"+id) {
		state = account.Evolve(state, event)
	}
	begin, _ := plan.MonthlyPeriod(state.OpenedAt, w.clock.Now())
	return fmt.Sprintf("usage-%s-%d", id, begin.Unix())
}

// fold reads a stream's events.
func fold[E any](w *world, stream string) []E {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	var events []E
	for recorded, err := range w.log.ReadStream(ctx, stream, 0) {
		require.NoError(w.t, err)
		decoded, err := w.journal.Registry.Decode(recorded)
		require.NoError(w.t, err)
		events = append(events, decoded.Event.(E))
	}
	return events
}

// books are the events of one period, checked for what must hold in any history.
type books struct {
	ledger.State
	events  []ledger.Event
	settled map[string]int64 // by reservation
	ended   map[string]int   // by reservation: how often
	sums    int
}

// books reads an account's period of now.
func (w *world) books(id string) books {
	w.t.Helper()
	return w.booksOf(w.stream(id))
}

func (w *world) booksOf(stream string) books {
	w.t.Helper()
	b := books{settled: map[string]int64{}, ended: map[string]int{}}
	b.events = fold[ledger.Event](w, stream)
	reserved := map[string]int64{}
	var total, credit int64
	var grants []ledger.Credited
	for _, event := range b.events {
		require.False(w.t, b.Over(), "%T after the end of the period", event)
		switch e := event.(type) {
		case ledger.Reserved:
			_, twice := reserved[e.Reservation] // asserting it with NotContains takes long where there are many
			require.False(w.t, twice, "reserved twice")
			reserved[e.Reservation] = e.Characters
		case ledger.Settled:
			require.LessOrEqual(w.t, e.Characters, reserved[e.Reservation])
			b.settled[e.Reservation] = e.Characters
			b.ended[e.Reservation]++
			total += e.Characters
		case ledger.Expired:
			b.ended[e.Reservation]++
		case ledger.Summed:
			b.sums++
			require.Equal(w.t, b.Settled, e.Characters, "a sum is what the events before it come to")
			require.ElementsMatch(w.t, b.Open, e.Reservations)
		case ledger.CreditGranted:
			grants = append(grants, ledger.Credited{Grant: e.Grant, Characters: e.Characters, From: e.From})
			credit += e.Characters
		case ledger.CreditSummed:
			require.Equal(w.t, grants, e.Grants)
		}
		b.State = ledger.Evolve(b.State, event)
		if limit := b.Terms.Limit; limit != nil && !b.Terms.Metered {
			require.LessOrEqual(w.t, b.Settled+b.Reserved, *limit+credit, "a free account is over its limit")
		}
	}
	for reservation, times := range b.ended {
		require.Equal(w.t, 1, times, "reservation %s has ended more than once", reservation)
	}
	require.Equal(w.t, total, b.Settled)
	require.Equal(w.t, grants, b.Grants)
	require.Equal(w.t, credit, b.Credit)
	return b
}

// other writes a reservation as another release or instance would, without a Ledger: so many at once that a test needs
// no thousand commands.
func (w *world) other(stream string, expected eventlog.Revision, events ...any) eventlog.Revision {
	w.t.Helper()
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: w.clock.Now()}
	proposed, err := w.journal.Registry.Encode(uuid.New(), 0, meta, events...)
	require.NoError(w.t, err)
	appended, err := w.log.Log.Append(w.t.Context(), stream, expected, proposed)
	require.NoError(w.t, err)
	return appended.Revision
}
