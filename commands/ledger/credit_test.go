package ledger_test

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

	"github.com/recital-tts/recital/commands/commandstest"
	commands "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

func grant(t testing.TB, keeper *commands.Ledger, id, grant string, characters int64) commands.GrantedCredit {
	t.Helper()
	granted, err := keeper.GrantCredit(t.Context(), id, grant, characters, commandstest.Operator())
	assert.NoError(t, err)
	return granted
}

// spend reserves and settles characters.
func spend(t testing.TB, keeper *commands.Ledger, id string, characters int64) {
	t.Helper()
	commandstest.Settle(t, keeper, commandstest.Reserve(t, keeper, id, characters), characters)
}

func carry(t testing.TB, keeper *commands.Ledger, stream string) eventlog.Position {
	t.Helper()
	position, err := keeper.CarryCredit(t.Context(), stream, uuid.New())
	assert.NoError(t, err)
	return position
}

func requireNothingLeft(t *testing.T, keeper *commands.Ledger, id string) {
	t.Helper()
	_, err := keeper.Reserve(t.Context(), id, 1, commandstest.Operator())
	require.Equal(t, domain.PaymentRequired, domain.CodeOf(err), "%v", err)
}

// nextPeriod advances the clock by a month, in which open reservations expire, and returns the stream of the period
// that is over.
func (w *world) nextPeriod(id string) (old string) {
	w.T.Helper()
	old = w.Stream(id)
	w.Clock.Advance(31 * 24 * time.Hour)
	require.NotEqual(w.T, old, w.Stream(id))
	return old
}

func TestAnAccountAtItsLimitGoesOnWithCredit(t *testing.T) {
	// given a free account that has spent its plan
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	spend(t, keeper, id, commandstest.FreeLimit)
	requireNothingLeft(t, keeper, id)

	// when an operator grants it credit
	granted := grant(t, keeper, id, "spring", 100)
	require.Equal(t, "spring", granted.Grant)
	require.EqualValues(t, 100, granted.Left)
	require.Positive(t, granted.Position.Compare(eventlog.Start()))

	// then exactly that many characters can be used, on each instance
	spend(t, w.Ledger(), id, 60)
	spend(t, keeper, id, 40)
	requireNothingLeft(t, keeper, id)
	require.EqualValues(t, 7, grant(t, keeper, id, "", 7).Left)

	events := w.Decoded(w.Stream(id))
	last := events[len(events)-1]
	require.Equal(t, commandstest.Operator().Actor, last.Meta.Actor)
	require.EqualValues(t, commandstest.FreeLimit+100, w.Books(id).Settled)
}

func TestAReservationTellsTheAllowance(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	limit := int64(commandstest.FreeLimit)
	first := commandstest.Reserve(t, keeper, id, 14_000)
	require.Equal(t, ledger.Allowance{Plan: plan.Free, Limit: &limit, Reserved: 14_000}, first.Allowance)
	commandstest.Settle(t, keeper, first, 13_000)
	grant(t, w.Ledger(), id, "g", 500) // by another instance

	second := commandstest.Reserve(t, keeper, id, 2_100)
	require.Equal(t, ledger.Allowance{Plan: plan.Free, Limit: &limit, Settled: 13_000, Reserved: 2_100, Credit: 500},
		second.Allowance)
	remaining, limited := second.Allowance.Remaining()
	require.True(t, limited)
	require.EqualValues(t, 400, remaining)

	unlimited := commandstest.Reserve(t, keeper, w.Open("enterprise"), 7)
	require.Equal(t, ledger.Allowance{Plan: plan.Enterprise, Reserved: 7}, unlimited.Allowance)
}

// Each of several commands in one append has the allowance at its own point in the sequence.
func TestReservationsThatShareAnAppendTellTheirOwnAllowances(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	release := w.Log.Hold()
	var wait sync.WaitGroup
	wait.Go(func() { commandstest.Reserve(t, keeper, id, 100) })
	<-w.Log.Held
	reserved := make(chan int64, 8)
	for range cap(reserved) {
		wait.Go(func() { reserved <- commandstest.Reserve(t, keeper, id, 100).Allowance.Reserved })
	}
	require.Eventually(t, func() bool { return keeper.Waiting(w.Stream(id)) == cap(reserved) }, commandstest.Patience,
		time.Millisecond)
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
	// when two instances receive the same grant many times concurrently
	w := newWorld(t)
	id := w.Open("free")
	ledgers := []*commands.Ledger{w.Ledger(), w.Ledger()}
	var wait sync.WaitGroup
	for i := range 32 {
		wait.Go(func() { grant(t, ledgers[i%2], id, "once", 1_000) })
	}
	wait.Wait()

	// then it is granted once
	require.EqualValues(t, 1_000, w.Books(id).Credit)

	// and with other characters it is refused
	for _, keeper := range ledgers {
		_, err := keeper.GrantCredit(t.Context(), id, "once", 999, commandstest.Operator())
		require.ErrorIs(t, err, ledger.ErrOtherGrant)
	}

	// while each grant without an id is a separate one
	grant(t, ledgers[0], id, "", 5)
	require.EqualValues(t, 1_010, grant(t, ledgers[0], id, "", 5).Left)
}

func TestAnInstanceThatIsBehindGrantsTheSameWithOtherCharacters(t *testing.T) {
	// given two instances that know a period, and a grant that one of them does not know
	w := newWorld(t)
	id := w.Open("free")
	first, second := w.Ledger(), w.Ledger()
	commandstest.Reserve(t, first, id, commandstest.FreeLimit)
	requireNothingLeft(t, second, id)
	grant(t, first, id, "g", 100)

	// when the other one receives it with another number, then it is refused
	_, err := second.GrantCredit(t.Context(), id, "g", 200, commandstest.Operator())
	require.ErrorIs(t, err, ledger.ErrOtherGrant)
	require.EqualValues(t, 100, w.Books(id).Credit)
}

func TestAGrantThatIsRepeatedInTheNextPeriodCountsOnce(t *testing.T) {
	// given a grant in a period that is over
	w := newWorld(t)
	id := w.Open("free")
	grant(t, w.Ledger(), id, "once", 1_000)
	old := w.nextPeriod(id)

	// when it is repeated, before and after its credit was carried, then it is not granted again
	for _, keeper := range []*commands.Ledger{w.Ledger(), w.Ledger()} {
		again := grant(t, keeper, id, "once", 1_000)
		require.EqualValues(t, 1_000, again.Left)
		require.Positive(t, again.Position.Compare(eventlog.Start()))
		_, err := keeper.GrantCredit(t.Context(), id, "once", 7, commandstest.Operator())
		require.ErrorIs(t, err, ledger.ErrOtherGrant)
		carry(t, keeper, old)
	}
	require.EqualValues(t, 1_000, w.Books(id).CreditLeft())
}

func TestGrantsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
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
			_, err := keeper.GrantCredit(t.Context(), c.account, c.grant, c.characters, commandstest.Operator())
			require.Equal(t, c.code, domain.CodeOf(err), "%v", err)
		})
	}
	require.Empty(t, w.Books(id).Events)
}

func TestAnAccountHasOnlySoManyGrants(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
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
	_, err := keeper.GrantCredit(t.Context(), id, "one-more", 1, commandstest.Operator())
	require.ErrorIs(t, err, ledger.ErrTooManyGrants)
	require.EqualValues(t, ledger.MaxGrants, grant(t, w.Ledger(), id, "g5", 1).Left,
		"one of them again, on another instance")
	require.Positive(t, w.Books(id).Snapshots, "all of them fit into a sum")
}

func TestCreditGoesOnToTheNextPeriod(t *testing.T) {
	// given a period that ends with credit left
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	grant(t, keeper, id, "g", 1_000)
	spend(t, keeper, id, commandstest.FreeLimit+400)
	first := w.Stream(id)
	_, err := keeper.CarryCredit(t.Context(), first, uuid.New())
	require.Error(t, err, "it is not over yet")
	old := w.nextPeriod(id)

	// when the to-do worker carries it, repeatedly and on several instances
	cause := uuid.New()
	var wait sync.WaitGroup
	for range 3 {
		keeper := w.Ledger()
		wait.Go(func() {
			_, err := keeper.CarryCredit(t.Context(), old, cause)
			assert.NoError(t, err)
		})
	}
	wait.Wait()
	position := carry(t, w.Ledger(), old)

	// then it is granted once
	b := w.Books(id)
	require.EqualValues(t, 600, b.Credit)
	require.EqualValues(t, 600, b.CreditLeft())
	require.Zero(t, w.BooksOf(old).CreditLeft())
	spend(t, w.Ledger(), id, commandstest.FreeLimit+600)
	requireNothingLeft(t, keeper, id)

	// and the events name their causes
	ends := w.Decoded(old)
	end := ends[len(ends)-1]
	require.IsType(t, ledger.CreditCarried{}, end.Event)
	require.Equal(t, cause, end.Meta.CausationID)
	require.Equal(t, eventlog.ActorSystem, end.Meta.Actor.Kind)
	granted := w.Decoded(w.Stream(id))[1]
	require.IsType(t, ledger.CreditGranted{}, granted.Event)
	require.Equal(t, end.ID, granted.Meta.CausationID)
	require.Equal(t, eventlog.ActorSystem, granted.Meta.Actor.Kind)
	require.Equal(t, granted.Position, position)
}

func TestAPeriodWithoutARestEndsAllTheSame(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	grant(t, keeper, id, "g", 1_000)
	spend(t, keeper, id, commandstest.FreeLimit+1_000)
	old := w.nextPeriod(id)
	position := carry(t, keeper, old)
	require.True(t, w.BooksOf(old).Over())
	require.Equal(t, position, carry(t, w.Ledger(), old))
	require.Empty(t, w.Books(id).Events, "and costs the next one nothing")
}

func TestCreditWaitsForOpenReservations(t *testing.T) {
	// given a reply that continues past the end of the period
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	grant(t, keeper, id, "g", 1_000)
	spend(t, keeper, id, commandstest.FreeLimit)
	old := w.Stream(id)
	w.Clock.Advance(31*24*time.Hour - time.Second)
	long := commandstest.Reserve(t, keeper, id, 800)
	w.Clock.Advance(time.Minute)

	// when its credit is due to be carried, then that waits for the reply
	position := carry(t, keeper, old)
	require.False(t, w.BooksOf(old).Over())
	require.Empty(t, w.Books(id).Events)
	last := w.Decoded(old)
	require.Equal(t, last[len(last)-1].Position, position, "whoever waits for the list sees the reservation in it")

	// and then the rest is carried
	commandstest.Settle(t, keeper, long, 300)
	carry(t, keeper, old)
	require.EqualValues(t, 700, w.Books(id).Credit)

	// but a reply of a killed instance delays it no longer than the reservation lasts
	killed := w.NewLedger()
	commandstest.Reserve(t, killed, id, 1)
	killed.Close()
	expire(t, keeper, w.Stream(id))
	old = w.nextPeriod(id)
	carry(t, keeper, old)
	require.EqualValues(t, 700, w.Books(id).Credit)
}

func TestTheCreditOfAnAccountThatWasIdleForAYear(t *testing.T) {
	w := newWorld(t)
	id := w.Open("pro")
	keeper := w.Ledger()
	grant(t, keeper, id, "g", 1_000)
	old := w.Stream(id)
	for range 12 {
		w.nextPeriod(id)
	}
	carry(t, keeper, old)
	require.EqualValues(t, 1_000, w.Books(id).CreditLeft())
}

func TestAWorkerThatStopsBetweenTheEndAndTheGrant(t *testing.T) {
	for name, between := range map[string]func(t *testing.T, w *world, id string) (alsoCarry []string){
		"and goes on at once": func(*testing.T, *world, string) []string { return nil },
		"and goes on in another period": func(_ *testing.T, w *world, id string) []string {
			to := w.Stream(id)
			w.nextPeriod(id)
			return []string{to} // the one that receives the credit and has ended
		},
		"and the period that was to get it has ended meanwhile": func(t *testing.T, w *world, id string) []string {
			grant(t, w.Ledger(), id, "later", 50)
			to := w.nextPeriod(id)
			carry(t, w.Ledger(), to)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			// given a worker that stopped after ending the period
			w := newWorld(t)
			id := w.Open("free")
			grant(t, w.Ledger(), id, "g", 1_000)
			old := w.nextPeriod(id)
			stopped := w.NewLedger()
			w.Log.Break(w.Stream(id))
			_, err := stopped.CarryCredit(t.Context(), old, uuid.New())
			require.ErrorIs(t, err, eventlog.ErrUnavailable)
			stopped.Close()
			require.EqualValues(t, 1_000, w.BooksOf(old).Carried)
			w.Log.Break("")

			// when another one continues, twice
			streams := append([]string{old}, between(t, w, id)...)
			for range 2 {
				for _, stream := range streams {
					carry(t, w.Ledger(), stream)
				}
			}

			// then no credit is lost or duplicated
			b := w.Books(id)
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

// Two instances begin to carry the same credit, one before a period's end and the other after it.
func TestInstancesThatCarryIntoDifferentPeriods(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	grant(t, w.Ledger(), id, "g", 1_000)
	old := w.nextPeriod(id)
	slow, fast := w.Ledger(), w.Ledger()
	commandstest.Reserve(t, slow, id, 1) // it knows the current period, and has no reason to read it again

	// given an instance that is delayed when it knows the target
	release := w.Log.Hold()
	var wait sync.WaitGroup
	wait.Go(func() { carry(t, slow, old) })
	<-w.Log.Held

	// when the other one begins a month later, and both end
	first := w.nextPeriod(id)
	wait.Go(func() { carry(t, fast, old) })
	release()
	wait.Wait()
	carry(t, fast, first) // credit carried into it is due as well

	// then all of it is in the current period
	require.EqualValues(t, 1_000, w.Books(id).CreditLeft())
	require.Zero(t, w.BooksOf(first).CreditLeft())
}

// An instance with a slow clock uses the current period of the log.
func TestAnInstanceWhoseClockIsBehind(t *testing.T) {
	// given a period that another instance has ended
	w := newWorld(t)
	id := w.Open("free")
	behind := commandstest.NewClock()
	late := commands.New(w.Journal, w.Accounts, behind.Now, commandstest.Longest)
	late.MeasureBy(behind.Elapsed)
	t.Cleanup(late.Close)
	held := commandstest.Reserve(t, late, id, 5)
	commandstest.Settle(t, late, held, 5)
	grant(t, w.Ledger(), id, "g", 1_000)
	old := w.nextPeriod(id)
	carry(t, w.Ledger(), old)
	ended := len(w.BooksOf(old).Events)

	// when it reserves and grants, then it does so in the next one
	r := commandstest.Reserve(t, late, id, commandstest.FreeLimit+1_000)
	require.EqualValues(t, commandstest.FreeLimit+1_000, r.Allowance.Reserved)
	commandstest.Settle(t, late, r, commandstest.FreeLimit+500)
	require.EqualValues(t, 600, grant(t, late, id, "h", 100).Left)
	b := w.Books(id)
	require.EqualValues(t, 1_100, b.Credit)
	require.EqualValues(t, commandstest.FreeLimit+500, b.Settled)

	// and the ended one stays unchanged
	commandstest.Settle(t, late, held, 5)
	expire(t, late, old)
	require.Len(t, w.BooksOf(old).Events, ended)
}

func TestCreditIsRememberedInSums(t *testing.T) {
	// given an account with credit and a long history
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	grant(t, keeper, id, "g", 1_000)
	var wait sync.WaitGroup
	for range 64 {
		wait.Go(func() {
			for range 10 {
				commandstest.Settle(t, keeper, commandstest.Reserve(t, keeper, id, 1), 1)
			}
		})
	}
	wait.Wait()
	b := w.Books(id)
	require.Positive(t, b.Snapshots)

	// when an instance starts, then it knows the credit from the snapshot
	cold := w.Ledger()
	before := w.Log.Read(w.Stream(id))
	require.EqualValues(t, 1_000, grant(t, cold, id, "g", 1_000).Left)
	require.LessOrEqual(t, w.Log.Read(w.Stream(id))-before, int64(b.SinceSnapshot+2))
	commandstest.Reserve(t, cold, id, commandstest.FreeLimit+1_000-640)
	requireNothingLeft(t, cold, id)
}

func TestCarryingAPeriodThatDoesNotExist(t *testing.T) {
	w := newWorld(t)
	_, err := w.Ledger().CarryCredit(context.Background(), "usage-nobody-1", uuid.New())
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
}
