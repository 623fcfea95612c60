// Package commandstest provides shared parts of the tests of commands: a log in memory, a settable clock, accounts, and
// the books of a period, which are checked for the invariants of any history.
package commandstest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/commands/feedback"
	"github.com/recital-tts/recital/commands/hosting"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/commands/notices"
	"github.com/recital-tts/recital/commands/packages"
	"github.com/recital-tts/recital/commands/pronunciations"
	"github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/commands/signin"
	"github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/memlog"
)

// Patience bounds waits on a busy machine.
const Patience = time.Minute

// Longest is the lifetime of reservations.
const Longest = 10 * time.Minute

// StartTime returns the start of the tests' clocks: early in a period.
func StartTime() time.Time { return time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC) }

// Clock is a settable clock, with a wall clock and a monotonic reading.
type Clock struct{ nanoseconds, jumped atomic.Int64 }

// NewClock returns a clock set to StartTime.
func NewClock() *Clock {
	c := &Clock{}
	c.nanoseconds.Store(StartTime().UnixNano())
	return c
}

// Now returns the wall clock.
func (c *Clock) Now() time.Time { return time.Unix(0, c.nanoseconds.Load()+c.jumped.Load()).UTC() }

// Elapsed returns the monotonic reading, which jumps do not change.
func (c *Clock) Elapsed() time.Duration { return time.Duration(c.nanoseconds.Load()) }

// Advance advances both readings.
func (c *Clock) Advance(d time.Duration) { c.nanoseconds.Add(int64(d)) }

// Jump changes the wall clock alone.
func (c *Clock) Jump(d time.Duration) { c.jumped.Add(int64(d)) }

// Log is a log that counts calls, and that can delay appends.
type Log struct {
	eventlog.Log
	Appends, Conflicts atomic.Int64

	mu      sync.Mutex
	gate    chan struct{}    // if not nil, appends wait until it is closed
	Held    chan struct{}    // of capacity 1; has an element when an append waits
	broken  string           // a stream that refuses appends
	read    map[string]int64 // number of events read, by stream
	written map[string]bool  // streams
}

// Watch returns a Log over a log.
func Watch(log eventlog.Log) *Log {
	return &Log{Log: log, Held: make(chan struct{}, 1), read: map[string]int64{}, written: map[string]bool{}}
}

// Hold makes appends wait until release is called.
func (w *Log) Hold() (release func()) {
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

// Break makes a stream refuse appends; "" repairs it.
func (w *Log) Break(stream string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = stream
}

// Append implements eventlog.Log.
func (w *Log) Append(
	ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) (eventlog.Appended, error) {
	w.mu.Lock()
	gate, broken := w.gate, w.broken
	w.written[stream] = true
	w.mu.Unlock()
	if stream == broken {
		return eventlog.Appended{}, eventlog.ErrUnavailable
	}
	if gate != nil {
		select {
		case w.Held <- struct{}{}:
		default:
		}
		<-gate
	}
	w.Appends.Add(1)
	appended, err := w.Log.Append(ctx, stream, expected, events)
	if errors.As(err, new(*eventlog.ConflictError)) {
		w.Conflicts.Add(1)
	}
	return appended, err
}

// ReadStreamBackwards implements eventlog.Log.
func (w *Log) ReadStreamBackwards(ctx context.Context, stream string) iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		for event, err := range w.Log.ReadStreamBackwards(ctx, stream) {
			w.count(stream)
			if !yield(event, err) {
				return
			}
		}
	}
}

func (w *Log) count(stream string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read[stream]++
}

// Read returns the number of events that were read backwards from a stream so far.
func (w *Log) Read(stream string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.read[stream]
}

// Written returns the streams with a prefix to which events were to be appended, sorted.
func (w *Log) Written(prefix string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []string
	for stream := range w.written {
		if strings.HasPrefix(stream, prefix) {
			found = append(found, stream)
		}
	}
	slices.Sort(found)
	return found
}

// World is a log with the parts that tests use.
type World struct {
	T        testing.TB
	Log      *Log
	Journal  *journal.Journal
	Accounts *accounts.Accounts
	Clock    *Clock
}

// New returns a World on a log in memory.
func New(t testing.TB) *World {
	t.Helper()
	return NewOn(t, memlog.New())
}

// NewOn returns a World on a log.
func NewOn(t testing.TB, log eventlog.Log) *World {
	t.Helper()
	registry, err := eventlog.NewRegistry(slices.Concat(accounts.Events(), alerts.Events(), billing.Events(),
		clips.Events(), feedback.Events(), hosting.Events(), ledger.Events(), notices.Events(), packages.Events(),
		sessions.Events(),
		pronunciations.Events(), signin.Events(), voices.Events())...)
	require.NoError(t, err)
	w := &World{T: t, Log: Watch(log), Clock: NewClock()}
	w.Journal = &journal.Journal{Log: w.Log, Registry: registry}
	w.Accounts = accounts.New(w.Journal, w.Clock.Now)
	return w
}

// Ledger returns the ledger of one instance.
func (w *World) Ledger() *ledger.Ledger {
	w.T.Helper()
	keeper := w.NewLedger()
	w.T.Cleanup(keeper.Close)
	return keeper
}

// NewLedger returns the ledger of one instance, which the caller closes.
func (w *World) NewLedger() *ledger.Ledger {
	w.T.Helper()
	keeper := ledger.New(w.Journal, w.Accounts, w.Clock.Now, Longest)
	keeper.MeasureBy(w.Clock.Elapsed)
	return keeper
}

// Must requires that a command has succeeded, whatever it returns.
func (w *World) Must(_ any, err error) {
	w.T.Helper()
	require.NoError(w.T, err)
}

// Operator returns the origin of an operator's commands.
func Operator() journal.Origin {
	return journal.Origin{Actor: eventlog.Actor{Kind: eventlog.ActorOperator}}
}

// Open opens an account on a plan.
func (w *World) Open(plan string) string {
	w.T.Helper()
	opened, err := w.Accounts.Open(w.T.Context(), plan, Operator())
	require.NoError(w.T, err)
	return opened.Account
}

// Account returns the state of an account, from all its events.
func (w *World) Account(id string) (state account.State) {
	w.T.Helper()
	for _, event := range Fold[account.Event](w, account.Stream(id)) {
		state = account.Evolve(state, event)
	}
	return state
}

// Stream returns the stream of an account's current period.
func (w *World) Stream(id string) string {
	return fmt.Sprintf("usage-%s-%d", id, w.Account(id).Entitlement.At(w.Clock.Now()).Start.Unix())
}

// Decoded returns the events of a stream, with their metadata.
func (w *World) Decoded(stream string) (all []eventlog.Decoded) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), Patience)
	defer cancel()
	for recorded, err := range w.Log.ReadStream(ctx, stream, 0) {
		require.NoError(w.T, err)
		decoded, err := w.Journal.Registry.Decode(recorded)
		require.NoError(w.T, err)
		all = append(all, decoded)
	}
	return all
}

// Last returns the last event of a stream.
func (w *World) Last(stream string) eventlog.Decoded {
	w.T.Helper()
	all := w.Decoded(stream)
	require.NotEmpty(w.T, all)
	return all[len(all)-1]
}

// Fold returns the events of a stream.
func Fold[E any](w *World, stream string) []E {
	w.T.Helper()
	var events []E
	for _, decoded := range w.Decoded(stream) {
		events = append(events, decoded.Event.(E))
	}
	return events
}

// Other appends events like another release or instance, without a Ledger and in one append, so that a test does not
// need a thousand commands.
func (w *World) Other(stream string, expected eventlog.Revision, events ...any) eventlog.Revision {
	w.T.Helper()
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: w.Clock.Now()}
	proposed, err := w.Journal.Registry.Encode(uuid.New(), 0, meta, events...)
	require.NoError(w.T, err)
	appended, err := w.Log.Log.Append(w.T.Context(), stream, expected, proposed)
	require.NoError(w.T, err)
	return appended.Revision
}
