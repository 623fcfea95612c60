package commands_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/eventlog"
)

func grant(t testing.TB, keeper *commands.Ledger, id, grant string, characters int64) commands.GrantedCredit {
	t.Helper()
	granted, err := keeper.GrantCredit(t.Context(), id, grant, characters, operator)
	assert.NoError(t, err)
	return granted
}

// spend reserves and settles.
func spend(t testing.TB, keeper *commands.Ledger, id string, characters int64) {
	t.Helper()
	settle(t, keeper, reserve(t, keeper, id, characters), characters)
}

func carry(t testing.TB, keeper *commands.Ledger, stream string) eventlog.Position {
	t.Helper()
	position, err := keeper.CarryCredit(t.Context(), stream, uuid.New())
	assert.NoError(t, err)
	return position
}

func requireNothingLeft(t *testing.T, keeper *commands.Ledger, id string) {
	t.Helper()
	_, err := keeper.Reserve(t.Context(), id, 1, operator)
	require.Equal(t, domain.PaymentRequired, domain.CodeOf(err), "%v", err)
}

// nextPeriod lets a month go by, in which what was reserved expires, and returns the stream of the period that is over.
func (w *world) nextPeriod(id string) (old string) {
	w.t.Helper()
	old = w.stream(id)
	w.clock.advance(31 * 24 * time.Hour)
	require.NotEqual(w.t, old, w.stream(id))
	return old
}

// decoded is the events of a stream with what is known about them.
func (w *world) decoded(stream string) (all []eventlog.Decoded) {
	w.t.Helper()
	for recorded, err := range w.log.ReadStream(w.t.Context(), stream, 0) {
		require.NoError(w.t, err)
		event, err := w.journal.Registry.Decode(recorded)
		require.NoError(w.t, err)
		all = append(all, event)
	}
	return all
}

func TestAnAccountAtItsLimitGoesOnWithCredit(t *testing.T) {
	// given a free account that has spent its plan
	w := newWorld(t)
	id := w.open("free")
	keeper := w.ledger()
	spend(t, keeper, id, freeLimit)
	requireNothingLeft(t, keeper, id)

	// when an operator grants it credit
	granted := grant(t, keeper, id, "spring", 100)
	require.Equal(t, "spring", granted.Grant)
	require.EqualValues(t, 100, granted.Left)
	require.Positive(t, granted.Position.Compare(eventlog.Start()))

	// then so much can be spoken, on each instance, and no more
	spend(t, w.ledger(), id, 60)
	spend(t, keeper, id, 40)
	requireNothingLeft(t, keeper, id)
	require.EqualValues(t, 7, grant(t, keeper, id, "", 7).Left)

	events := w.decoded(w.stream(id))
	last := events[len(events)-1]
	require.Equal(t, operator, last.Meta.Actor)
	require.EqualValues(t, freeLimit+100, w.books(id).Settled)
}

func TestAReservationTellsTheAllowance(t *testing.T) {
	w := newWorld(t)
	id := w.open("free")
	keeper := w.ledger()
	limit := int64(freeLimit)
	first := reserve(t, keeper, id, 14_000)
	require.Equal(t, ledger.Allowance{Plan: plan.Free, Limit: &limit, Reserved: 14_000}, first.Allowance)
	settle(t, keeper, first, 13_000)
	grant(t, w.ledger(), id, "g", 500) // by another instance

	second := reserve(t, keeper, id, 2_100)
	require.Equal(t, ledger.Allowance{Plan: plan.Free, Limit: &limit, Settled: 13_000, Reserved: 2_100, Credit: 500}, second.Allowance)
	remaining, limited := second.Allowance.Remaining()
	require.True(t, limited)
	require.EqualValues(t, 400, remaining)

	unlimited := reserve(t, keeper, w.open("enterprise"), 7)
	require.Equal(t, ledger.Allowance{Plan: plan.Enterprise, Reserved: 7}, unlimited.Allowance)
}

// Each of several commands that share an append has the allowance of its own moment.
func TestReservationsThatShareAnAppendTellTheirOwnAllowances(t *testing.T) {
	w := newWorld(t)
	id := w.open("free")
	keeper := w.ledger()
	release := w.log.hold()
	var wait sync.WaitGroup
	wait.Go(func() { reserve(t, keeper, id, 100) })
	<-w.log.held
	reserved := make(chan int64, 8)
	for range cap(reserved) {
		wait.Go(func() { reserved <- reserve(t, keeper, id, 100).Allowance.Reserved })
	}
	require.Eventually(t, func() bool { return keeper.Waiting(w.stream(id)) == cap(reserved) }, patience, time.Millisecond)
	release()
	wait.Wait()
	close(reserved)
	seen := map[int64]bool{}
	for n := range reserved {
		seen[n] = true
	}
	require.Len(t, seen, cap(reserved))
}

func TestAGrantCountsOnceHoweverOftenItIsGiven(t *testing.T) {
	// when two instances are asked for the same grant many times at once
	w := newWorld(t)
	id := w.open("free")
	ledgers := []*commands.Ledger{w.ledger(), w.ledger()}
	var wait sync.WaitGroup
	for i := range 32 {
		wait.Go(func() { grant(t, ledgers[i%2], id, "once", 1_000) })
	}
	wait.Wait()

	// then it is given once
	require.EqualValues(t, 1_000, w.books(id).Credit)

	// and asked for it with other characters, they refuse
	for _, keeper := range ledgers {
		_, err := keeper.GrantCredit(t.Context(), id, "once", 999, operator)
		require.ErrorIs(t, err, ledger.ErrOtherGrant)
	}

	// while grants without an id are each one of their own
	grant(t, ledgers[0], id, "", 5)
	require.EqualValues(t, 1_010, grant(t, ledgers[0], id, "", 5).Left)
}

func TestAnInstanceThatIsBehindGrantsTheSameWithOtherCharacters(t *testing.T) {
	// given two instances that know a period, and a grant that one of them does not know
	w := newWorld(t)
	id := w.open("free")
	first, second := w.ledger(), w.ledger()
	reserve(t, first, id, freeLimit)
	requireNothingLeft(t, second, id)
	grant(t, first, id, "g", 100)

	// when the other one is asked for it with another number, then it learns of it
	_, err := second.GrantCredit(t.Context(), id, "g", 200, operator)
	require.ErrorIs(t, err, ledger.ErrOtherGrant)
	require.EqualValues(t, 100, w.books(id).Credit)
}

func TestAGrantThatIsRepeatedInTheNextPeriodCountsOnce(t *testing.T) {
	// given a grant in a period that is over
	w := newWorld(t)
	id := w.open("free")
	grant(t, w.ledger(), id, "once", 1_000)
	old := w.nextPeriod(id)

	// when it is repeated, before its credit was carried on and after, then it is not given again
	for _, keeper := range []*commands.Ledger{w.ledger(), w.ledger()} {
		again := grant(t, keeper, id, "once", 1_000)
		require.EqualValues(t, 1_000, again.Left)
		require.Positive(t, again.Position.Compare(eventlog.Start()))
		_, err := keeper.GrantCredit(t.Context(), id, "once", 7, operator)
		require.ErrorIs(t, err, ledger.ErrOtherGrant)
		carry(t, keeper, old)
	}
	require.EqualValues(t, 1_000, w.books(id).CreditLeft())
}

func TestGrantsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	id := w.open("free")
	keeper := w.ledger()
	for name, c := range map[string]struct {
		account, grant string
		characters     int64
		code           domain.Code
	}{
		"an account that does not exist": {"nobody", "g", 1, domain.NotFound},
		"nothing":                        {id, "g", 0, domain.Invalid},
		"less than nothing":              {id, "g", -5, domain.Invalid},
		"too much":                       {id, "g", 1_000_000_001, domain.Invalid},
		"an id of other characters":      {id, "ä", 1, domain.Invalid},
		"too long an id":                 {id, strings.Repeat("g", 65), 1, domain.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := keeper.GrantCredit(t.Context(), c.account, c.grant, c.characters, operator)
			require.Equal(t, c.code, domain.CodeOf(err), "%v", err)
		})
	}
	require.Empty(t, w.books(id).events)
}

func TestAnAccountHasOnlySoManyGrants(t *testing.T) {
	w := newWorld(t)
	id := w.open("free")
	keeper := w.ledger()
	const atOnce = 8
	var wait sync.WaitGroup
	for first := range atOnce {
		wait.Go(func() {
			for i := first; i < ledger.MaxGrants; i += atOnce {
				grant(t, keeper, id, fmt.Sprint("g", i), 1)
			}
		})
	}
	wait.Wait()
	_, err := keeper.GrantCredit(t.Context(), id, "one-more", 1, operator)
	require.ErrorIs(t, err, ledger.ErrTooManyGrants)
	require.EqualValues(t, ledger.MaxGrants, grant(t, w.ledger(), id, "g5", 1).Left, "one of them again, on another instance")
	require.Positive(t, w.books(id).sums, "all of them fit into a sum")
}

func TestCreditGoesOnToTheNextPeriod(t *testing.T) {
	// given a period that ends with credit left
	w := newWorld(t)
	id := w.open("free")
	keeper := w.ledger()
	grant(t, keeper, id, "g", 1_000)
	spend(t, keeper, id, freeLimit+400)
	first := w.stream(id)
	_, err := keeper.CarryCredit(t.Context(), first, uuid.New())
	require.Error(t, err, "it is not over yet")
	old := w.nextPeriod(id)

	// when the to-do worker carries it on, more than once and on more than one instance
	cause := uuid.New()
	var wait sync.WaitGroup
	for range 3 {
		keeper := w.ledger()
		wait.Go(func() {
			_, err := keeper.CarryCredit(t.Context(), old, cause)
			assert.NoError(t, err)
		})
	}
	wait.Wait()
	position := carry(t, w.ledger(), old)

	// then it is there once
	b := w.books(id)
	require.EqualValues(t, 600, b.Credit)
	require.EqualValues(t, 600, b.CreditLeft())
	require.Zero(t, w.booksOf(old).CreditLeft())
	spend(t, w.ledger(), id, freeLimit+600)
	requireNothingLeft(t, keeper, id)

	// and the events name their causes
	ends := w.decoded(old)
	end := ends[len(ends)-1]
	require.IsType(t, ledger.CreditCarried{}, end.Event)
	require.Equal(t, cause, end.Meta.CausationID)
	require.Equal(t, eventlog.ActorSystem, end.Meta.Actor.Kind)
	granted := w.decoded(w.stream(id))[1]
	require.IsType(t, ledger.CreditGranted{}, granted.Event)
	require.Equal(t, end.ID, granted.Meta.CausationID)
	require.Equal(t, eventlog.ActorSystem, granted.Meta.Actor.Kind)
	require.Equal(t, granted.Position, position)
}

func TestAPeriodWithoutARestEndsAllTheSame(t *testing.T) {
	w := newWorld(t)
	id := w.open("free")
	keeper := w.ledger()
	grant(t, keeper, id, "g", 1_000)
	spend(t, keeper, id, freeLimit+1_000)
	old := w.nextPeriod(id)
	position := carry(t, keeper, old)
	require.True(t, w.booksOf(old).Over())
	require.Equal(t, position, carry(t, w.ledger(), old))
	require.Empty(t, w.books(id).events, "and costs the next one nothing")
}

func TestCreditWaitsForOpenReservations(t *testing.T) {
	// given a reply that goes on over the end of the period
	w := newWorld(t)
	id := w.open("free")
	keeper := w.ledger()
	grant(t, keeper, id, "g", 1_000)
	spend(t, keeper, id, freeLimit)
	old := w.stream(id)
	w.clock.advance(31*24*time.Hour - time.Second)
	long := reserve(t, keeper, id, 800)
	w.clock.advance(time.Minute)

	// when its credit is to be carried on, then that waits for the reply
	position := carry(t, keeper, old)
	require.False(t, w.booksOf(old).Over())
	require.Empty(t, w.books(id).events)
	last := w.decoded(old)
	require.Equal(t, last[len(last)-1].Position, position, "whoever waits for the list sees the reservation in it")

	// and then what it has left is carried
	settle(t, keeper, long, 300)
	carry(t, keeper, old)
	require.EqualValues(t, 700, w.books(id).Credit)

	// but a reply of a recitald that was killed holds it up no longer than it lasts
	killed := w.newLedger()
	reserve(t, killed, id, 1)
	killed.Close()
	old = w.nextPeriod(id)
	carry(t, keeper, old)
	require.EqualValues(t, 700, w.books(id).Credit)
}

func TestTheCreditOfAnAccountThatWasIdleForAYear(t *testing.T) {
	w := newWorld(t)
	id := w.open("pro")
	keeper := w.ledger()
	grant(t, keeper, id, "g", 1_000)
	old := w.stream(id)
	for range 12 {
		w.nextPeriod(id)
	}
	carry(t, keeper, old)
	require.EqualValues(t, 1_000, w.books(id).CreditLeft())
}

func TestAWorkerThatStopsBetweenTheEndAndTheGrant(t *testing.T) {
	for name, between := range map[string]func(t *testing.T, w *world, id string) (alsoCarry []string){
		"and goes on at once": func(*testing.T, *world, string) []string { return nil },
		"and goes on in another period": func(_ *testing.T, w *world, id string) []string {
			to := w.stream(id)
			w.nextPeriod(id)
			return []string{to} // which gets the credit and has ended
		},
		"and the period that was to get it has ended meanwhile": func(t *testing.T, w *world, id string) []string {
			grant(t, w.ledger(), id, "later", 50)
			to := w.nextPeriod(id)
			carry(t, w.ledger(), to)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			// given a worker that ended the period, and no more
			w := newWorld(t)
			id := w.open("free")
			grant(t, w.ledger(), id, "g", 1_000)
			old := w.nextPeriod(id)
			stopped := w.newLedger()
			w.log.breaks(w.stream(id))
			_, err := stopped.CarryCredit(t.Context(), old, uuid.New())
			require.ErrorIs(t, err, eventlog.ErrUnavailable)
			stopped.Close()
			require.EqualValues(t, 1_000, w.booksOf(old).Carried)
			w.log.breaks("")

			// when another one goes on, twice
			streams := append([]string{old}, between(t, w, id)...)
			for range 2 {
				for _, stream := range streams {
					carry(t, w.ledger(), stream)
				}
			}

			// then nothing is lost, and nothing there twice
			b := w.books(id)
			want := int64(1_000)
			for _, g := range b.Grants {
				require.NotNil(t, g.From)
			}
			if strings.Contains(name, "ended meanwhile") {
				want += 50
			}
			require.Equal(t, want, b.CreditLeft())
		})
	}
}

// Two instances begin to carry the same credit, one of them before a period's end and the other one after it.
func TestInstancesThatCarryIntoDifferentPeriods(t *testing.T) {
	w := newWorld(t)
	id := w.open("free")
	grant(t, w.ledger(), id, "g", 1_000)
	old := w.nextPeriod(id)
	slow, fast := w.ledger(), w.ledger()
	reserve(t, slow, id, 1) // it knows the period of now, and has no reason to ask again

	// given one that is held up when it knows where to
	release := w.log.hold()
	var wait sync.WaitGroup
	wait.Go(func() { carry(t, slow, old) })
	<-w.log.held

	// when the other one begins a month later, and both end
	first := w.nextPeriod(id)
	wait.Go(func() { carry(t, fast, old) })
	release()
	wait.Wait()
	carry(t, fast, first) // what has landed there is due as well

	// then all of it is in the period of now
	require.EqualValues(t, 1_000, w.books(id).CreditLeft())
	require.Zero(t, w.booksOf(first).CreditLeft())
}

// An instance whose clock is behind takes part in the period that the log is in.
func TestAnInstanceWhoseClockIsBehind(t *testing.T) {
	// given a period that another instance has ended
	w := newWorld(t)
	id := w.open("free")
	behind := newClock()
	late, err := commands.NewLedger(w.journal, behind.Now, longest)
	require.NoError(t, err)
	t.Cleanup(late.Close)
	held := reserve(t, late, id, 5)
	settle(t, late, held, 5)
	grant(t, w.ledger(), id, "g", 1_000)
	old := w.nextPeriod(id)
	carry(t, w.ledger(), old)
	ended := len(w.booksOf(old).events)

	// when it reserves and grants, then that is in the next one
	r := reserve(t, late, id, freeLimit+1_000)
	require.EqualValues(t, freeLimit+1_000, r.Allowance.Reserved)
	settle(t, late, r, freeLimit+500)
	require.EqualValues(t, 600, grant(t, late, id, "h", 100).Left)
	b := w.books(id)
	require.EqualValues(t, 1_100, b.Credit)
	require.EqualValues(t, freeLimit+500, b.Settled)

	// and nothing in the one that is over
	settle(t, late, held, 5)
	expire(t, late, old)
	require.Len(t, w.booksOf(old).events, ended)
}

func TestCreditIsRememberedInSums(t *testing.T) {
	// given an account with credit and a long history
	w := newWorld(t)
	id := w.open("free")
	keeper := w.ledger()
	grant(t, keeper, id, "g", 1_000)
	var wait sync.WaitGroup
	for range 64 {
		wait.Go(func() {
			for range 10 {
				settle(t, keeper, reserve(t, keeper, id, 1), 1)
			}
		})
	}
	wait.Wait()
	b := w.books(id)
	require.Positive(t, b.sums)

	// when an instance starts, then it knows the credit from the sum
	cold := w.ledger()
	w.log.reads.Store(0)
	require.EqualValues(t, 1_000, grant(t, cold, id, "g", 1_000).Left)
	require.LessOrEqual(t, w.log.reads.Load(), int64(b.SinceSum+2))
	reserve(t, cold, id, freeLimit+1_000-640)
	requireNothingLeft(t, cold, id)
}

func TestCarryingAPeriodThatDoesNotExist(t *testing.T) {
	w := newWorld(t)
	_, err := w.ledger().CarryCredit(context.Background(), "usage-nobody-1", uuid.New())
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
}
