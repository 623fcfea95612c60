package accounts_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/todo"
)

// erasures records erased accounts, and fails with its errors.
type erasures struct {
	of         []string
	ends, fail error
}

func (e *erasures) with() accounts.Closing {
	ends := func(context.Context, string) error { return e.ends }
	return accounts.Closing{Longest: time.Hour, End: ends, Patience: time.Hour,
		Erase: func(_ context.Context, id string) error {
			e.of = append(e.of, id)
			return e.fail
		}}
}

func TestClosingAnAccount(t *testing.T) {
	w := newWorld(t)
	opened, err := w.Accounts.Open(t.Context(), "free", commandstest.Operator())
	require.NoError(t, err)
	id, stream := opened.Account, "account-"+opened.Account
	var erased erasures

	// given an open account, then its data is never erased
	_, err = w.Accounts.GoOn(t.Context(), id, uuid.New(), w.Clock.Now(), erased.with())
	require.Equal(t, domain.Rejected, domain.CodeOf(err))
	require.Empty(t, erased.of)

	// when it is closed, twice
	for range 2 {
		w.Must(w.Accounts.Close(t.Context(), id, commandstest.Operator()))
	}
	state := w.Account(id)
	require.True(t, state.Closed())
	require.Empty(t, state.Keys)
	closed := w.Last(stream).ID

	// then commands on it are refused
	_, err = w.Accounts.CreateKey(t.Context(), id, "", commandstest.Operator())
	require.ErrorIs(t, err, account.ErrClosed)
	_, err = w.Accounts.Ensure(t.Context(), id, string(plan.Free), opened.Key.Key)
	require.ErrorIs(t, err, account.ErrClosed)

	// and a failed erasure is not recorded
	erased.fail = errors.New("the blobs are away")
	_, err = w.Accounts.GoOn(t.Context(), id, closed, w.Clock.Now(), erased.with())
	require.ErrorIs(t, err, erased.fail)
	require.Equal(t, account.Ending, w.Account(id).Closing)

	// and after a crash before the record it is erased again
	erased = erasures{}
	broken := &journal.Journal{Log: &crashing{Log: w.Log}, Registry: w.Journal.Registry}
	_, err = accounts.New(broken, w.Clock.Now).GoOn(t.Context(), id, closed, w.Clock.Now(), erased.with())
	require.ErrorIs(t, err, errCrash)
	require.Equal(t, []string{id}, erased.of)

	// and without a failure it is recorded once
	erased = erasures{}
	for range 2 {
		w.Must(w.Accounts.GoOn(t.Context(), id, closed, w.Clock.Now(), erased.with()))
		require.Equal(t, []string{id}, erased.of, "an item that is carried out again before its time does nothing")
	}
	require.Equal(t, account.ErasedOnce, w.Account(id).Closing)
	again := w.Last(stream).ID

	// and erased again after the end of all requests
	w.Clock.Advance(time.Hour)
	for range 2 {
		w.Must(w.Accounts.GoOn(t.Context(), id, again, w.Clock.Now(), erased.with()))
	}
	require.Equal(t, []string{id, id}, erased.of)
	require.Equal(t, account.ErasedForAll, w.Account(id).Closing)
	require.Len(t, commandstest.Fold[account.Event](w.World, stream), 6)

	_, err = w.Accounts.Close(t.Context(), "nobody", commandstest.Operator())
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
}

func TestAnErasureDoesNotWaitForOthersForEver(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	w.Must(w.Accounts.Close(t.Context(), id, commandstest.Operator()))
	closed := w.Last("account-" + id)
	erased := erasures{ends: &todo.NotYetError{After: time.Second}}
	goOn := func() error {
		_, err := w.Accounts.GoOn(t.Context(), id, closed.ID, closed.Meta.Time, erased.with())
		return err
	}
	var notYet *todo.NotYetError
	require.ErrorAs(t, goOn(), &notYet)
	require.Empty(t, erased.of)

	// when it has waited for long, then its data is erased, and the closing continues
	w.Clock.Advance(time.Hour)
	require.ErrorAs(t, goOn(), &notYet)
	require.Equal(t, []string{id}, erased.of)
	require.Equal(t, account.Ending, w.Account(id).Closing)
	erased.ends = nil
	require.NoError(t, goOn())
	require.Equal(t, account.ErasedOnce, w.Account(id).Closing)
}

func TestTheLastCommandOfAFullAccountIsItsClosing(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	for range account.MaxKeys - 1 {
		w.Must(w.Accounts.CreateKey(t.Context(), id, "", commandstest.Operator()))
	}
	_, err := w.Accounts.CreateKey(t.Context(), id, "", commandstest.Operator())
	require.Equal(t, domain.Denied, domain.CodeOf(err))
	w.Must(w.Accounts.Close(t.Context(), id, commandstest.Operator()))
	state, _, err := w.Accounts.State(t.Context(), id)
	require.NoError(t, err)
	require.Empty(t, state.Keys)
	require.True(t, state.Closed(), "also for who reads from the snapshot on")
}
