package accounts_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

func TestAnAccountFollowsItsSubscription(t *testing.T) {
	// given a subscription that gives the account a plan, and then another one
	w := newWorld(t)
	id := w.Open("free")
	now := w.Clock.Now()
	entitled := func(on plan.Type) subscription.Entitled {
		return subscription.Entitled{Account: id, At: now, Entitlement: plan.Entitlement{Plan: on, Start: now,
			End: now.AddDate(0, 1, 0), Next: on}}
	}
	follow := func() eventlog.Position {
		t.Helper()
		position, err := w.Accounts.FollowSubscription(t.Context(), account.Stream(id))
		require.NoError(t, err)
		return position
	}
	require.Zero(t, follow(), "without a subscription there is nothing to follow")
	first := w.Other(subscription.Stream(id), eventlog.NoStream,
		subscription.CustomerCreated{Account: id, Customer: "cus_1", At: now}, entitled(plan.Indie))
	follow()
	require.Equal(t, entitled(plan.Indie).Entitlement, w.Account(id).Entitlement)
	w.Other(subscription.Stream(id), first, entitled(plan.Pro), subscription.CardChanged{Account: id, At: now},
		entitled(plan.Premium),
		subscription.PaymentFailed{Account: id, At: now})

	// when the account follows, repeatedly, then it is on the last plan, by one event
	position := follow()
	require.Equal(t, position, follow())
	state := w.Account(id)
	require.Equal(t, entitled(plan.Premium).Entitlement, state.Entitlement)
	require.EqualValues(t, 2, state.Version)
	require.EqualValues(t, 4, state.Followed)

	// and an earlier entitlement has no effect
	again, err := w.Accounts.Entitle(t.Context(), id, entitled(plan.Indie).Entitlement, 1, uuid.New())
	require.NoError(t, err)
	require.Equal(t, position, again)
	require.Equal(t, state.Entitlement, w.Account(id).Entitlement)
	events := commandstest.Fold[account.Event](w.World, account.Stream(id))
	require.Len(t, events, 4)

	_, err = w.Accounts.Entitle(t.Context(), "nobody", entitled(plan.Indie).Entitlement, 1, uuid.New())
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
}
