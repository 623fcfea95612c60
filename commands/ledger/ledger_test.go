package ledger_test

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

	"github.com/recital-tts/recital/commands/commandstest"
	commands "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb/esdbtest"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

// expire ends reservations that a ledger has seen open for too long. A reservation that it sees for the first time is
// new to it.
func expire(t testing.TB, keeper *commands.Ledger, stream string) eventlog.Position {
	t.Helper()
	position, err := keeper.Expire(t.Context(), stream, "")
	require.NoError(t, err)
	return position
}

func TestCommandsOfOneAccountShareAppends(t *testing.T) {
	// given a slow append, and 64 replies that begin meanwhile
	const replies = 64
	w := newWorld(t)
	id := w.Open("enterprise")
	keeper := w.Ledger()
	commandstest.Reserve(t, keeper, id, 1)
	release := w.Log.Hold()
	var wait sync.WaitGroup
	wait.Go(func() { commandstest.Reserve(t, keeper, id, 1) })
	<-w.Log.Held
	before := w.Log.Appends.Load()
	reservations := make([]commands.Reservation, replies)
	for i := range replies {
		wait.Go(func() { reservations[i] = commandstest.Reserve(t, keeper, id, 100) })
	}
	require.Eventually(t, func() bool { return keeper.Waiting(w.Stream(id)) == replies }, commandstest.Patience,
		time.Millisecond)

	// when it ends, then they share one append
	release()
	wait.Wait()
	require.EqualValues(t, 2, w.Log.Appends.Load()-before)

	// and all of them settle, without a conflict
	for i := range replies {
		wait.Go(func() { commandstest.Settle(t, keeper, reservations[i], int64(i)) })
	}
	wait.Wait()
	require.Zero(t, w.Log.Conflicts.Load())
	b := w.Books(id)
	require.EqualValues(t, replies*(replies-1)/2, b.Settled)
	require.Len(t, b.Open, 2)
}

func TestTwoInstancesKeepTheLimit(t *testing.T) {
	// given two instances
	w := newWorld(t)
	id := w.Open("free")
	ledgers := []*commands.Ledger{w.Ledger(), w.Ledger()}

	// when more is requested concurrently than the plan includes, and the granted reservations are settled
	const requests, characters = 64, 1000
	var wait sync.WaitGroup
	var mu sync.Mutex
	granted := 0
	for i := range requests {
		wait.Go(func() {
			r, err := ledgers[i%2].Reserve(t.Context(), id, characters, commandstest.Operator())
			if err != nil {
				assert.Equal(t, domain.PaymentRequired, domain.CodeOf(err), "%v", err)
				assert.Zero(t, r)
				return
			}
			commandstest.Settle(t, ledgers[(i+1)%2], r, characters) // by the other one, to involve both
			mu.Lock()
			defer mu.Unlock()
			granted++
		})
	}
	wait.Wait()

	// then exactly the requests that fit are granted, and settled once
	require.Equal(t, commandstest.FreeLimit/characters, granted)
	b := w.Books(id)
	require.EqualValues(t, commandstest.FreeLimit, b.Settled)
	require.Len(t, b.SettledBy, granted)
	require.Empty(t, b.Open)
	require.Less(t, w.Log.Appends.Load(), int64(4*requests), "conflicts do not feed on each other")
}

func TestARefusalIsTakenOnAFreshRead(t *testing.T) {
	// given an instance that knows the account as full
	w := newWorld(t)
	id := w.Open("free")
	first, second := w.Ledger(), w.Ledger()
	r := commandstest.Reserve(t, first, id, commandstest.FreeLimit)
	_, err := first.Reserve(t.Context(), id, 1, commandstest.Operator())
	require.Equal(t, domain.PaymentRequired, domain.CodeOf(err))

	// when another one has freed characters, then the first one grants a reservation
	commandstest.Settle(t, second, r, 0)
	commandstest.Reserve(t, first, id, commandstest.FreeLimit)

	// and one that saw free characters earlier does not grant used ones
	_, err = second.Reserve(t.Context(), id, 1, commandstest.Operator())
	require.Equal(t, domain.PaymentRequired, domain.CodeOf(err))
}

func TestASecondSettlementOfAnInstanceThatIsBehind(t *testing.T) {
	// given two instances that know of a reservation, and a settlement that one of them does not know
	w := newWorld(t)
	id := w.Open("free")
	first, second := w.Ledger(), w.Ledger()
	r := commandstest.Reserve(t, first, id, commandstest.FreeLimit)
	_, err := second.Reserve(t.Context(), id, 1, commandstest.Operator())
	require.Equal(t, domain.PaymentRequired, domain.CodeOf(err))
	commandstest.Settle(t, first, r, commandstest.FreeLimit)

	// when the other one settles it, too, then the first settlement stays
	commandstest.Settle(t, second, r, 0)
	_, err = second.Reserve(t.Context(), id, 1, commandstest.Operator())
	require.Equal(t, domain.PaymentRequired, domain.CodeOf(err))
	require.EqualValues(t, commandstest.FreeLimit, w.Books(id).Settled)
}

func TestARefusedCommandCostsOthersNothing(t *testing.T) {
	// given commands that wait for the same append: one fits, one does not, one settles
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	r := commandstest.Reserve(t, keeper, id, 10_000)
	release := w.Log.Hold()
	var wait sync.WaitGroup
	wait.Go(func() { commandstest.Reserve(t, keeper, id, 1) })
	<-w.Log.Held
	wait.Go(func() { commandstest.Reserve(t, keeper, id, 4_000) })
	wait.Go(func() {
		_, err := keeper.Reserve(t.Context(), id, 14_500, commandstest.Operator())
		assert.Equal(t, domain.PaymentRequired, domain.CodeOf(err))
	})
	wait.Go(func() { commandstest.Settle(t, keeper, r, 9_000) })
	require.Eventually(t, func() bool { return keeper.Waiting(w.Stream(id)) == 3 }, commandstest.Patience,
		time.Millisecond)

	release()
	wait.Wait()
	b := w.Books(id)
	require.EqualValues(t, 9_000, b.Settled)
	require.EqualValues(t, 4_001, b.Reserved)
}

func TestACommandWhoseCallerHasGoneDoesNothing(t *testing.T) {
	// given a queued command
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	release := w.Log.Hold()
	var wait sync.WaitGroup
	wait.Go(func() { commandstest.Reserve(t, keeper, id, 1) })
	<-w.Log.Held
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := keeper.Reserve(ctx, id, 1000, commandstest.Operator())
		gone <- err
	}()
	require.Eventually(t, func() bool { return keeper.Waiting(w.Stream(id)) == 1 }, commandstest.Patience,
		time.Millisecond)

	// when its caller leaves, then the caller does not wait, and no characters are reserved
	leave()
	require.ErrorIs(t, <-gone, context.Canceled)
	release()
	wait.Wait()
	keeper.Close()
	require.EqualValues(t, 1, w.Books(id).Reserved)
}

func TestAReservationExpires(t *testing.T) {
	// given two reservations, the second one a minute later
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	r := commandstest.Reserve(t, keeper, id, 10_000)
	other := w.Ledger()
	expire(t, other, w.Stream(id))
	w.Clock.Advance(time.Minute)
	young := commandstest.Reserve(t, keeper, id, 5_000)

	// when the first one expires, then its characters are available to the next command, on another instance too
	w.Clock.Advance(commandstest.Longest - time.Minute)
	next := commandstest.Reserve(t, other, id, 10_000)

	// and a late settlement has no effect
	appends := w.Log.Appends.Load()
	position := commandstest.Settle(t, keeper, r, 10_000)
	require.Equal(t, appends, w.Log.Appends.Load())
	require.Positive(t, position.Compare(eventlog.Start()), "there is a position to wait for all the same")
	commandstest.Settle(t, keeper, young, 4_000)
	commandstest.Settle(t, keeper, next, 1)
	commandstest.Settle(t, keeper, next, 1)
	require.EqualValues(t, 4_001, w.Books(id).Settled)
}

func TestExpireEndsWhatIsDue(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	commandstest.Reserve(t, keeper, id, 10_000)
	w.Clock.Advance(commandstest.Longest - 1)
	expire(t, keeper, w.Stream(id))
	require.Len(t, w.Books(id).Open, 1)

	w.Clock.Advance(1)
	ended := expire(t, keeper, w.Stream(id))
	require.Empty(t, w.Books(id).Open)
	require.Equal(t, ended, expire(t, keeper, w.Stream(id)), "again")
	require.Len(t, w.Books(id).EndedBy, 1)
}

func TestMoreExpiresThanOneAppendTakes(t *testing.T) {
	// given a free account with many reservations of a killed instance
	const open = 1_000
	w := newWorld(t)
	id := w.Open("free")
	last := w.Ledger()
	commandstest.Reserve(t, last, id, 1)
	at := eventlog.Revision(1)
	for range open / 500 {
		events := make([]any, 500)
		for i := range events {
			events[i] = ledger.Reserved{Account: id, Reservation: uuid.NewString(), Characters: 2, At: w.Clock.Now(),
				ExpiresAt: w.Clock.Now().Add(commandstest.Longest)}
		}
		at = w.Other(w.Stream(id), at, events...)
	}

	// when they have expired, then all of the plan can be reserved
	keeper := w.Ledger()
	expire(t, keeper, w.Stream(id))
	w.Clock.Advance(commandstest.Longest)
	commandstest.Reserve(t, keeper, id, commandstest.FreeLimit)
	b := w.Books(id)
	require.Len(t, b.EndedBy, open+1)
	require.Len(t, b.Open, 1)
}

func TestASumBoundsWhatIsRead(t *testing.T) {
	// given an account with a long history
	w := newWorld(t)
	id := w.Open("enterprise")
	keeper := w.Ledger()
	held := commandstest.Reserve(t, keeper, id, 77)
	var wait sync.WaitGroup
	for range 64 {
		wait.Go(func() {
			for range 20 {
				commandstest.Settle(t, keeper, commandstest.Reserve(t, keeper, id, 10), 7)
			}
		})
	}
	wait.Wait()
	b := w.Books(id)
	require.EqualValues(t, 64*20*7, b.Settled)
	require.Positive(t, b.Snapshots)
	require.Greater(t, len(b.Events), 2*ledger.SnapshotEvery)

	// when an instance starts, then it only reads back to the last snapshot, and has the same state
	before := w.Log.Read(w.Stream(id))
	cold := w.Ledger()
	commandstest.Settle(t, cold, held, 70)
	cold.Close()
	require.LessOrEqual(t, w.Log.Read(w.Stream(id))-before, int64(b.SinceSnapshot+1))
	require.Less(t, b.SinceSnapshot, ledger.SnapshotEvery)
	b = w.Books(id)
	require.EqualValues(t, 64*20*7+70, b.Settled)
	require.Empty(t, b.Open)
	require.Equal(t, b.State, cold.State(w.Stream(id)))
}

func TestAnAccountThatDoesNotExist(t *testing.T) {
	w := newWorld(t)
	_, err := w.Ledger().Reserve(t.Context(), "nobody", 1, commandstest.Operator())
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
}

func TestTheNextPeriodStartsAnew(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	r := commandstest.Reserve(t, keeper, id, commandstest.FreeLimit)
	before := w.Stream(id)

	w.Clock.Advance(31 * 24 * time.Hour)
	require.NotEqual(t, before, w.Stream(id))
	commandstest.Reserve(t, keeper, id, commandstest.FreeLimit)
	require.EqualValues(t, commandstest.FreeLimit, w.Books(id).Reserved)

	commandstest.Settle(t, keeper, r, commandstest.FreeLimit) // its own period is over, and it has expired
	require.Zero(t, w.Books(id).Settled)
}

// An outage causes an error in bounded time, and the same ledger continues when the log is back.
func TestAnOutageOfTheLog(t *testing.T) {
	dir := nodetest.Dir(t)
	node := nodetest.Open(t, dir)
	w := &world{commandstest.NewOn(t, esdbtest.Open(t, nodetest.Socket(dir)))}
	id := w.Open("free")
	keeper := w.Ledger()
	r := commandstest.Reserve(t, keeper, id, 1_000)
	require.NoError(t, node.Close())

	for range 8 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := keeper.Settle(ctx, r, 1_000)
		cancel()
		require.True(t, errors.Is(err, eventlog.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded), "%v", err)
	}
	_, err := keeper.Settle(t.Context(), r, 1_000)
	require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)
	_, err = w.Ledger().Reserve(t.Context(), id, 1, commandstest.Operator())
	require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)

	node = nodetest.Open(t, dir)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	require.Eventually(t, func() bool {
		_, err := keeper.Settle(t.Context(), r, 1_000)
		return err == nil
	}, commandstest.Patience, time.Millisecond)
	commandstest.Reserve(t, keeper, id, 14_000)
	require.EqualValues(t, 1_000, w.Books(id).Settled)
}

func TestCloseWaitsForWhatIsUnderWay(t *testing.T) {
	// given an append under way, and a reservation that was given back
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.NewLedger()
	r := commandstest.Reserve(t, keeper, id, 500)
	release := w.Log.Hold()
	var wait sync.WaitGroup
	wait.Go(func() { commandstest.Reserve(t, keeper, id, 1000) })
	<-w.Log.Held
	keeper.GiveBack(r)

	// when the ledger is closed, then new commands are refused
	closed := make(chan struct{})
	go func() { keeper.Close(); close(closed) }()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := keeper.Reserve(ctx, id, 1, commandstest.Operator())
		return domain.CodeOf(err) == domain.Unavailable
	}, commandstest.Patience, time.Millisecond)
	select {
	case <-closed:
		require.Fail(t, "Close did not wait")
	default:
	}

	// and the appends in progress are completed
	release()
	<-closed
	wait.Wait()
	keeper.GiveBack(r)
	b := w.Books(id)
	require.EqualValues(t, 1000, b.Reserved)
	require.Zero(t, b.Settled)
}

func TestAnEventThatDoesNotBelongThereIsAnError(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	w.Other(w.Stream(id), eventlog.NoStream, account.APIKeyCreated{Account: id, Hash: "secret"})
	_, err := w.Ledger().Reserve(t.Context(), id, 1, commandstest.Operator())
	require.ErrorContains(t, err, "does not belong there")
	require.Empty(t, domain.CodeOf(err), "it is nothing that a client can do about")
	require.NotContains(t, fmt.Sprint(err), "secret")
}
