package ledger_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	commands "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/todo"
)

func TestAClosingClosesTheRunningPeriod(t *testing.T) {
	// given an account that speaks past its plan, on two instances
	w := newWorld(t)
	id := w.Open("free")
	keeper, other := w.Ledger(), w.Ledger()
	w.entitle(id, w.bought(plan.Indie))
	w.follow(keeper, id)
	spend(t, keeper, id, 210_000)
	running := commandstest.Reserve(t, other, id, 1_000)

	// when it is closed, then reservations are refused, and the closing waits for the open ones
	w.close(id)
	var notYet *todo.NotYetError
	for range 2 {
		_, err := keeper.EndFor(t.Context(), id)
		require.ErrorAs(t, err, &notYet)
	}
	for _, l := range []*commands.Ledger{keeper, other} {
		_, err := l.Reserve(t.Context(), id, 1, journal.Origin{Actor: commandstest.Operator().Actor})
		require.ErrorIs(t, err, account.ErrNoAccount)
	}
	commandstest.Settle(t, other, running, 500)

	// and after their settlement, the overage is due until it is billed
	var due []todo.Item
	for range 2 {
		var err error
		due, err = keeper.EndFor(t.Context(), id)
		require.NoError(t, err)
		require.Len(t, due, 1)
		require.Equal(t, w.Stream(id), due[0].Stream)
		over, _, err := keeper.OverageOn(t.Context(), due[0].Stream, versionOf(due[0]))
		require.NoError(t, err)
		require.EqualValues(t, 10_500, over.Characters)
	}
	require.Equal(t, due[0].Cause, w.closedBy(due[0].Stream))
	w.Must(keeper.OverageBilled(t.Context(), due[0].Stream, versionOf(due[0]), ledger.Bill{Units: 10}, due[0].Cause))
	due, err := keeper.EndFor(t.Context(), id)
	require.NoError(t, err)
	require.Empty(t, due)
	w.Books(id)
}

// closedBy returns the id of the event that closed a period.
func (w *world) closedBy(stream string) (id uuid.UUID) {
	for _, event := range w.Decoded(stream) {
		if _, is := event.Event.(ledger.Closed); is {
			id = event.ID
		}
	}
	return id
}

func TestAClosingBillsWhatItsToDosHaveNotBilledYet(t *testing.T) {
	// given an upgrade, and a period that has ended without an event
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	indie := w.bought(plan.Indie)
	w.entitle(id, indie)
	w.follow(keeper, id)
	spend(t, keeper, id, 203_000)
	pro := indie
	pro.Plan, pro.Next = plan.Pro, plan.Pro
	w.entitle(id, pro)
	w.follow(keeper, id)
	spend(t, keeper, id, 1_054_000)
	first := w.Stream(id)
	w.Clock.Advance(pro.End.Sub(w.Clock.Now()) + time.Minute)
	spend(t, keeper, id, 1_251_000)

	// when it is closed, then each overage is to be billed
	w.close(id)
	due, err := keeper.EndFor(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, due, 3)
	require.Equal(t, []string{first, first, w.Stream(id)}, []string{due[0].Stream, due[1].Stream, due[2].Stream})
	var characters []int64
	for _, u := range due {
		over, _, err := keeper.OverageOn(t.Context(), u.Stream, versionOf(u))
		require.NoError(t, err)
		characters = append(characters, over.Characters)
	}
	require.Equal(t, []int64{3_000, 4_000, 1_000}, characters)
}

func TestAClosingBillsWhatAPlanThatHadEndedWasUsedFor(t *testing.T) {
	for name, again := range map[string]bool{"and stays free": false, "and buys a plan again": true} {
		t.Run(name, func(t *testing.T) {
			// given a plan that continues here, because its end is not followed yet
			w := newWorld(t)
			id := w.Open("free")
			keeper := w.Ledger()
			indie := w.bought(plan.Indie)
			w.entitle(id, indie)
			w.follow(keeper, id)
			w.Clock.Advance(indie.End.Sub(w.Clock.Now()) + time.Minute)
			spend(t, keeper, id, 203_000)
			over := w.Stream(id)

			// when it ends with the month before, and the account is closed after another free month
			w.entitle(id, plan.Entitlement{Plan: plan.Free, Start: indie.End})
			w.follow(keeper, id)
			w.Clock.Advance(32 * 24 * time.Hour)
			if again {
				w.entitle(id, w.bought(plan.Pro))
				w.follow(keeper, id)
			}
			w.close(id)

			// then the usage past the plan is billed once
			due, err := keeper.EndFor(t.Context(), id)
			require.NoError(t, err)
			require.Len(t, due, 1)
			require.Equal(t, over, due[0].Stream)
			billed, _, err := keeper.OverageOn(t.Context(), due[0].Stream, versionOf(due[0]))
			require.NoError(t, err)
			require.EqualValues(t, 3_000, billed.Characters)
		})
	}
}

func TestAClosedFreePeriodStaysAsItIs(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	spend(t, keeper, id, 1_000)
	before := w.Decoded(w.Stream(id))
	w.close(id)
	due, err := keeper.EndFor(t.Context(), id)
	require.NoError(t, err)
	require.Empty(t, due)
	require.Len(t, w.Decoded(w.Stream(id)), len(before))
	free, err := keeper.FreePeriodOf(t.Context(), id)
	require.NoError(t, err)
	require.EqualValues(t, 1_000, free.Used)
}

// versionOf returns the version of the terms of an overage to be billed.
func versionOf(item todo.Item) (version int64) {
	_, _ = fmt.Sscanf(strings.TrimPrefix(item.ID, item.Stream), "/%d", &version)
	return version
}
