package ledger_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	commands "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// mishap is a fault of an append.
type mishap int

const (
	none        mishap = iota
	refused            // the log refuses it
	answerLost         // it is written, but reported as failed
	killed             // the instance is killed before it
	killedAfter        // the instance is killed after it was written
	drained            // the instance is shut down, and completes its replies
)

// instance is a recitald with replies in progress.
type instance struct {
	keeper  *commands.Ledger
	dead    atomic.Bool
	replies sync.WaitGroup
}

// fleet is the serving instance, its predecessors, and their mishaps, one per append.
type fleet struct {
	w       *world
	mishaps []mishap
	appends atomic.Int64

	mu     sync.Mutex
	now    *instance
	all    []*instance
	drains sync.WaitGroup
}

func newFleet(w *world, mishaps []mishap) *fleet {
	f := &fleet{w: w, mishaps: mishaps}
	f.replace(nil)
	return f
}

// replace starts an instance in place of another.
func (f *fleet) replace(old *instance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now != old {
		return
	}
	f.now = &instance{}
	journal := &journal.Journal{Log: &brittle{Log: f.w.Journal.Log, fleet: f, instance: f.now},
		Registry: f.w.Journal.Registry}
	keeper := commands.New(journal, f.w.Accounts, f.w.Clock.Now, commandstest.Longest)
	f.now.keeper = keeper
	f.all = append(f.all, f.now)
}

// begin starts a reply on the serving instance.
func (f *fleet) begin() *instance {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now.replies.Add(1)
	return f.now
}

func (f *fleet) kill(i *instance) {
	i.dead.Store(true)
	f.replace(i)
}

func (f *fleet) drain(i *instance) {
	f.replace(i)
	f.drains.Go(func() {
		i.replies.Wait()
		i.keeper.Close()
	})
}

// close closes all instances, including their replacements: returned reservations are still being written.
func (f *fleet) close() {
	for n := 0; ; n++ {
		f.mu.Lock()
		if n == len(f.all) {
			f.mu.Unlock()
			break
		}
		next := f.all[n]
		f.mu.Unlock()
		next.keeper.Close()
	}
	f.drains.Wait()
}

func (f *fleet) next() mishap {
	if n := int(f.appends.Add(1)) - 1; n < len(f.mishaps) {
		return f.mishaps[n]
	}
	return none
}

// brittle is an instance's connection to the log.
type brittle struct {
	eventlog.Log
	fleet    *fleet
	instance *instance
}

func (b *brittle) Append(
	ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) (eventlog.Appended, error) {
	if b.instance.dead.Load() {
		return eventlog.Appended{}, eventlog.ErrUnavailable
	}
	what := b.fleet.next()
	switch what {
	case refused:
		return eventlog.Appended{}, eventlog.ErrUnavailable
	case killed:
		b.fleet.kill(b.instance)
		return eventlog.Appended{}, eventlog.ErrUnavailable
	case drained:
		b.fleet.drain(b.instance)
	}
	appended, err := b.Log.Append(ctx, stream, expected, events)
	switch what {
	case answerLost:
		return eventlog.Appended{}, eventlog.ErrUnavailable
	case killedAfter:
		b.fleet.kill(b.instance)
		return eventlog.Appended{}, eventlog.ErrUnavailable
	}
	return appended, err
}

// stream is a reply as seen by its client.
type stream struct {
	characters int64
	handedOver int64         // before its end, whether by disconnect, error or completion
	patience   time.Duration // after which its client disconnects, if the reply has not begun by then
}

// receipts are the deliveries that clients can prove.
type receipts struct {
	mu      sync.Mutex
	certain map[string]int64 // delivered and certainly settled, by reservation
	unknown map[string]int64 // delivered; whether it was settled is unknown
}

func (a *receipts) note(r commands.Reservation, handedOver int64, told bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if told {
		a.certain[r.ID.String()] = handedOver
		return
	}
	a.unknown[r.ID.String()] = handedOver
}

// speak runs a reply from its reservation to its settlement.
func (a *receipts) speak(t assert.TestingT, f *fleet, id string, s stream) {
	i := f.begin()
	defer i.replies.Done()
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	r, err := i.keeper.Reserve(ctx, id, s.characters, commandstest.Operator())
	switch {
	case domain.CodeOf(err) == domain.PaymentRequired:
		assert.Zero(t, r)
		return
	case err != nil:
		i.keeper.GiveBack(r)
		a.note(r, 0, false)
		return
	case i.dead.Load():
		a.note(r, s.handedOver, false)
		return
	}
	_, err = i.keeper.Settle(context.Background(), r, s.handedOver)
	a.note(r, s.handedOver, err == nil)
}

// For any faults of replies, of the log's responses and of instances: a client is charged once for exactly the
// delivered characters; if the outcome is unknown, it is charged for these or for none; and unsettled reservations are
// released.
func TestAnyMishapsCountWhatWasHandedOver(t *testing.T) {
	w := newWorld(t)
	const credit = 5_000
	rapid.Check(t, func(r *rapid.T) {
		// given an account with credit, and mishaps to come
		id := w.Open("free")
		usual := rapid.SampledFrom([]mishap{none, none, none, none, none, refused, answerLost, killed, killedAfter, drained})
		f := newFleet(w, rapid.SliceOfN(usual, 0, 40).Draw(r, "mishaps"))
		books := &receipts{certain: map[string]int64{}, unknown: map[string]int64{}}

		// when clients speak concurrently, and an operator grants credit until that is acknowledged
		var wait sync.WaitGroup
		for range rapid.IntRange(1, 8).Draw(r, "clients") {
			var streams []stream
			for range rapid.IntRange(1, 5).Draw(r, "streams") {
				n := rapid.Int64Range(0, 3_000).Draw(r, "characters")
				streams = append(streams, stream{
					characters: n, handedOver: rapid.Int64Range(0, n).Draw(r, "handed over"),
					patience: rapid.SampledFrom([]time.Duration{0, 100 * time.Microsecond, time.Millisecond, commandstest.Patience,
						commandstest.Patience}).Draw(r, "patience"),
				})
			}
			wait.Go(func() {
				for _, s := range streams {
					books.speak(t, f, id, s)
				}
			})
		}
		wait.Go(func() {
			for acknowledged := false; !acknowledged; {
				i := f.begin()
				_, err := i.keeper.GrantCredit(context.Background(), id, "grant", credit, commandstest.Operator())
				acknowledged = err == nil
				i.replies.Done()
			}
		})
		wait.Wait()
		f.close()

		// then, once the replies of killed instances have expired, the books are right
		after := w.NewLedger()
		defer after.Close()
		_, err := after.Expire(context.Background(), w.Stream(id), "")
		require.NoError(r, err)
		w.Clock.Advance(commandstest.Longest)
		_, err = after.Expire(context.Background(), w.Stream(id), "")
		require.NoError(r, err)
		b := w.Books(id)
		require.Empty(r, b.Open)
		require.EqualValues(r, credit, b.Credit)
		for reservation, characters := range books.certain {
			require.Contains(r, b.SettledBy, reservation)
			require.Equal(r, characters, b.SettledBy[reservation])
		}
		for reservation, characters := range b.SettledBy {
			if _, certain := books.certain[reservation]; !certain {
				require.Contains(r, books.unknown, reservation)
				require.Contains(r, []int64{0, books.unknown[reservation]}, characters)
			}
		}

		// and the whole rest can be used
		rest, err := after.Reserve(context.Background(), id, commandstest.FreeLimit+credit-b.Settled, commandstest.Operator())
		require.NoError(r, err)
		_, err = after.Reserve(context.Background(), id, 1, commandstest.Operator())
		require.Equal(r, domain.PaymentRequired, domain.CodeOf(err))
		_, err = after.Settle(context.Background(), rest, 0)
		require.NoError(r, err)
	})
}
