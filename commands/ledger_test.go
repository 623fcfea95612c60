package commands_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/eventnode/nodetest"
)

const freeLimit = 15_000

func isConflict(err error) bool { return errors.As(err, new(*eventlog.ConflictError)) }

func reserve(t testing.TB, keeper *commands.Ledger, id string, characters int64) commands.Reservation {
	t.Helper()
	r, err := keeper.Reserve(t.Context(), id, characters, operator)
	assert.NoError(t, err)
	return r
}

func settle(t testing.TB, keeper *commands.Ledger, r commands.Reservation, characters int64) eventlog.Position {
	t.Helper()
	position, err := keeper.Settle(t.Context(), r, characters)
	assert.NoError(t, err)
	return position
}

func expire(t testing.TB, keeper *commands.Ledger, stream string) eventlog.Position {
	t.Helper()
	position, err := keeper.Expire(t.Context(), stream)
	require.NoError(t, err)
	return position
}

func TestCommandsOfOneAccountShareAppends(t *testing.T) {
	// given an append that takes long, and 64 replies that begin meanwhile
	const replies = 64
	w := newWorld(t)
	id := w.open("enterprise")
	keeper := w.ledger()
	reserve(t, keeper, id, 1)
	release := w.log.hold()
	var wait sync.WaitGroup
	wait.Go(func() { reserve(t, keeper, id, 1) })
	<-w.log.held
	before := w.log.appends.Load()
	reservations := make([]commands.Reservation, replies)
	for i := range replies {
		wait.Go(func() { reservations[i] = reserve(t, keeper, id, 100) })
	}
	require.Eventually(t, func() bool { return keeper.Waiting(w.stream(id)) == replies }, patience, time.Millisecond)

	// when it ends, then they share one append
	release()
	wait.Wait()
	require.EqualValues(t, 2, w.log.appends.Load()-before)

	// and all of them settle, without a conflict
	for i := range replies {
		wait.Go(func() { settle(t, keeper, reservations[i], int64(i)) })
	}
	wait.Wait()
	require.Zero(t, w.log.conflicts.Load())
	b := w.books(id)
	require.EqualValues(t, replies*(replies-1)/2, b.Settled)
	require.Len(t, b.Open, 2)
}

func TestTwoInstancesKeepTheLimit(t *testing.T) {
	// given two instances
	w := newWorld(t)
	id := w.open("free")
	ledgers := []*commands.Ledger{w.ledger(), w.ledger()}

	// when more is asked of them at once than the plan has, and what was granted is settled
	const requests, characters = 64, 1000
	var wait sync.WaitGroup
	var mu sync.Mutex
	granted := 0
	for i := range requests {
		wait.Go(func() {
			r, err := ledgers[i%2].Reserve(t.Context(), id, characters, operator)
			if err != nil {
				assert.Equal(t, domain.PaymentRequired, domain.CodeOf(err), "%v", err)
				assert.Zero(t, r)
				return
			}
			settle(t, ledgers[(i+1)%2], r, characters) // by the other one, for good measure
			mu.Lock()
			defer mu.Unlock()
			granted++
		})
	}
	wait.Wait()

	// then exactly what fits is granted, and settled once
	require.Equal(t, freeLimit/characters, granted)
	b := w.books(id)
	require.EqualValues(t, freeLimit, b.Settled)
	require.Len(t, b.settled, granted)
	require.Empty(t, b.Open)
	require.Less(t, w.log.appends.Load(), int64(4*requests), "conflicts do not feed on each other")
}

func TestARefusalIsTakenOnAFreshRead(t *testing.T) {
	// given an instance that knows the account as full
	w := newWorld(t)
	id := w.open("free")
	first, second := w.ledger(), w.ledger()
	r := reserve(t, first, id, freeLimit)
	_, err := first.Reserve(t.Context(), id, 1, operator)
	require.Equal(t, domain.PaymentRequired, domain.CodeOf(err))

	// when another one has freed room, then the first one grants it
	settle(t, second, r, 0)
	reserve(t, first, id, freeLimit)

	// and one that has seen room elsewhere does not grant what is gone
	_, err = second.Reserve(t.Context(), id, 1, operator)
	require.Equal(t, domain.PaymentRequired, domain.CodeOf(err))
}

func TestASecondSettlementOfAnInstanceThatIsBehind(t *testing.T) {
	// given two instances that know of a reservation, and a settlement that one of them does not know
	w := newWorld(t)
	id := w.open("free")
	first, second := w.ledger(), w.ledger()
	r := reserve(t, first, id, freeLimit)
	_, err := second.Reserve(t.Context(), id, 1, operator)
	require.Equal(t, domain.PaymentRequired, domain.CodeOf(err))
	settle(t, first, r, freeLimit)

	// when the other one settles it, too, then the first settlement stands in its books as well
	settle(t, second, r, 0)
	_, err = second.Reserve(t.Context(), id, 1, operator)
	require.Equal(t, domain.PaymentRequired, domain.CodeOf(err))
	require.EqualValues(t, freeLimit, w.books(id).Settled)
}

func TestARefusedCommandCostsOthersNothing(t *testing.T) {
	// given commands that wait for the same append: one fits, one does not, one settles
	w := newWorld(t)
	id := w.open("free")
	keeper := w.ledger()
	r := reserve(t, keeper, id, 10_000)
	release := w.log.hold()
	var wait sync.WaitGroup
	wait.Go(func() { reserve(t, keeper, id, 1) })
	<-w.log.held
	wait.Go(func() { reserve(t, keeper, id, 4_000) })
	wait.Go(func() {
		_, err := keeper.Reserve(t.Context(), id, 14_500, operator)
		assert.Equal(t, domain.PaymentRequired, domain.CodeOf(err))
	})
	wait.Go(func() { settle(t, keeper, r, 9_000) })
	require.Eventually(t, func() bool { return keeper.Waiting(w.stream(id)) == 3 }, patience, time.Millisecond)

	release()
	wait.Wait()
	b := w.books(id)
	require.EqualValues(t, 9_000, b.Settled)
	require.EqualValues(t, 4_001, b.Reserved)
}

func TestACommandWhoseCallerHasGoneDoesNothing(t *testing.T) {
	// given a command that waits for its turn
	w := newWorld(t)
	id := w.open("free")
	keeper := w.ledger()
	release := w.log.hold()
	var wait sync.WaitGroup
	wait.Go(func() { reserve(t, keeper, id, 1) })
	<-w.log.held
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := keeper.Reserve(ctx, id, 1000, operator)
		gone <- err
	}()
	require.Eventually(t, func() bool { return keeper.Waiting(w.stream(id)) == 1 }, patience, time.Millisecond)

	// when its caller leaves, then the caller does not wait, and nothing is reserved
	leave()
	require.ErrorIs(t, <-gone, context.Canceled)
	release()
	wait.Wait()
	keeper.Close()
	require.EqualValues(t, 1, w.books(id).Reserved)
}

func TestAReservationExpires(t *testing.T) {
	// given two reservations, the second one a minute later
	w := newWorld(t)
	id := w.open("free")
	keeper := w.ledger()
	r := reserve(t, keeper, id, 10_000)
	w.clock.advance(time.Minute)
	young := reserve(t, keeper, id, 5_000)

	// when the first one's time is over, then the next command has its characters, on another instance too
	w.clock.advance(longest - time.Minute)
	next := reserve(t, w.ledger(), id, 10_000)

	// and settling it late changes nothing
	appends := w.log.appends.Load()
	position := settle(t, keeper, r, 10_000)
	require.Equal(t, appends, w.log.appends.Load())
	require.Positive(t, position.Compare(eventlog.Start()), "there is a position to wait for all the same")
	settle(t, keeper, young, 4_000)
	settle(t, keeper, next, 1)
	settle(t, keeper, next, 1)
	require.EqualValues(t, 4_001, w.books(id).Settled)
}

func TestExpireEndsWhatIsDue(t *testing.T) {
	w := newWorld(t)
	id := w.open("free")
	keeper := w.ledger()
	reserve(t, keeper, id, 10_000)
	w.clock.advance(longest - 1)
	expire(t, keeper, w.stream(id))
	require.Len(t, w.books(id).Open, 1)

	w.clock.advance(1)
	ended := expire(t, keeper, w.stream(id))
	require.Empty(t, w.books(id).Open)
	require.Equal(t, ended, expire(t, keeper, w.stream(id)), "again")
	require.Len(t, w.books(id).ended, 1)
}

func TestMoreExpiresThanOneAppendTakes(t *testing.T) {
	// given a free account with very many reservations, of an instance that was killed
	const open = 5_000
	w := newWorld(t)
	id := w.open("free")
	last := w.ledger()
	reserve(t, last, id, 1)
	at := eventlog.Revision(1)
	for range open / 500 {
		events := make([]any, 500)
		for i := range events {
			events[i] = ledger.Reserved{Account: id, Reservation: uuid.NewString(), Characters: 2, At: w.clock.Now(), ExpiresAt: w.clock.Now().Add(longest)}
		}
		at = w.other(w.stream(id), at, events...)
	}

	// when they have expired, then all of the plan can be reserved
	w.clock.advance(longest)
	reserve(t, w.ledger(), id, freeLimit)
	b := w.books(id)
	require.Len(t, b.ended, open+1)
	require.Len(t, b.Open, 1)
}

func TestASumBoundsWhatIsRead(t *testing.T) {
	// given an account with a long history
	w := newWorld(t)
	id := w.open("enterprise")
	keeper := w.ledger()
	held := reserve(t, keeper, id, 77)
	var wait sync.WaitGroup
	for range 64 {
		wait.Go(func() {
			for range 20 {
				settle(t, keeper, reserve(t, keeper, id, 10), 7)
			}
		})
	}
	wait.Wait()
	b := w.books(id)
	require.EqualValues(t, 64*20*7, b.Settled)
	require.Positive(t, b.sums)
	require.Greater(t, len(b.events), 2*ledger.SumEvery)

	// when an instance starts, then it reads back to the last sum only, and knows the same
	w.log.reads.Store(0)
	cold := w.ledger()
	settle(t, cold, held, 70)
	cold.Close()
	require.LessOrEqual(t, w.log.reads.Load(), int64(b.SinceSum+1))
	require.Less(t, b.SinceSum, ledger.SumEvery)
	b = w.books(id)
	require.EqualValues(t, 64*20*7+70, b.Settled)
	require.Empty(t, b.Open)
	require.Equal(t, b.State, cold.State(w.stream(id)))
}

func TestAnAccountThatDoesNotExist(t *testing.T) {
	w := newWorld(t)
	_, err := w.ledger().Reserve(t.Context(), "nobody", 1, operator)
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
}

func TestTheNextPeriodStartsAnew(t *testing.T) {
	w := newWorld(t)
	id := w.open("free")
	keeper := w.ledger()
	r := reserve(t, keeper, id, freeLimit)
	before := w.stream(id)

	w.clock.advance(31 * 24 * time.Hour)
	require.NotEqual(t, before, w.stream(id))
	reserve(t, keeper, id, freeLimit)
	require.EqualValues(t, freeLimit, w.books(id).Reserved)

	settle(t, keeper, r, freeLimit) // its own period is over, and so is its time
	require.Zero(t, w.books(id).Settled)
}

// An outage is an error in bounded time, and the same ledger goes on when the log is back.
func TestAnOutageOfTheLog(t *testing.T) {
	dir := nodetest.Dir(t)
	node := nodetest.Open(t, dir)
	w := newWorldOn(t, nodetest.Socket(dir))
	id := w.open("free")
	keeper := w.ledger()
	r := reserve(t, keeper, id, 1_000)
	require.NoError(t, node.Close())

	for range 8 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := keeper.Settle(ctx, r, 1_000)
		cancel()
		require.True(t, errors.Is(err, eventlog.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded), "%v", err)
	}
	_, err := keeper.Settle(t.Context(), r, 1_000)
	require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)
	_, err = w.ledger().Reserve(t.Context(), id, 1, operator)
	require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)

	node = nodetest.Open(t, dir)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	require.Eventually(t, func() bool {
		_, err := keeper.Settle(t.Context(), r, 1_000)
		return err == nil
	}, patience, time.Millisecond)
	reserve(t, keeper, id, 14_000)
	require.EqualValues(t, 1_000, w.books(id).Settled)
}

func TestCloseWaitsForWhatIsUnderWay(t *testing.T) {
	// given an append under way, and a reservation that was given back
	w := newWorld(t)
	id := w.open("free")
	keeper := w.newLedger()
	r := reserve(t, keeper, id, 500)
	release := w.log.hold()
	var wait sync.WaitGroup
	wait.Go(func() { reserve(t, keeper, id, 1000) })
	<-w.log.held
	keeper.GiveBack(r)

	// when the ledger is closed, then new commands are refused
	closed := make(chan struct{})
	go func() { keeper.Close(); close(closed) }()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := keeper.Reserve(ctx, id, 1, operator)
		return domain.CodeOf(err) == domain.Unavailable
	}, patience, time.Millisecond)
	select {
	case <-closed:
		require.Fail(t, "Close did not wait")
	default:
	}

	// and what was under way is done
	release()
	<-closed
	wait.Wait()
	keeper.GiveBack(r)
	b := w.books(id)
	require.EqualValues(t, 1000, b.Reserved)
	require.Zero(t, b.Settled)
}

func TestAnEventThatDoesNotBelongThereIsAnError(t *testing.T) {
	w := newWorld(t)
	id := w.open("free")
	w.other(w.stream(id), eventlog.NoStream, account.APIKeyCreated{Account: id, Hash: "secret"})
	_, err := w.ledger().Reserve(t.Context(), id, 1, operator)
	require.ErrorContains(t, err, "does not belong there")
	require.Empty(t, domain.CodeOf(err), "it is nothing that a client can do about")
	require.NotContains(t, fmt.Sprint(err), "secret")
}
