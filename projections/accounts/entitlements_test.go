package accounts_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

func TestWhatASubscriptionGivesIsDueUntilTheAccountFollowsIt(t *testing.T) {
	w := suite.World(t)
	listed := func() (due []time.Time) {
		t.Helper()
		for _, row := range feedtest.Shown(t, w, readmodel.ToDoEntitleView, `where stream = 'account-a1' order by due_at`) {
			require.Equal(t, row.Item, row.Cause)
			due = append(due, row.Due)
		}
		return due
	}
	given := func(at time.Time) subscription.Entitled {
		return subscription.Entitled{
			Account:     "a1",
			Entitlement: plan.Entitlement{Plan: plan.Pro, Start: now, End: now.AddDate(0, 1, 0), Next: plan.Pro, Anchor: now},
			At:          at,
		}
	}
	followed := func(revision, version int64) account.Entitled {
		return account.Entitled{
			Account: "a1", Entitlement: given(now).Entitlement, Revision: revision, Version: version, At: now,
		}
	}
	one, two, three := now.Add(time.Second), now.Add(2*time.Second), now.Add(3*time.Second)
	of := w.Append(t, "subscription-a1", eventlog.NoStream,
		subscription.CustomerCreated{Account: "a1", Customer: "cus_1", At: now}, given(one))
	require.Empty(t, listed(), "there is no such account")
	own := w.Append(t, "account-a1", eventlog.NoStream, account.Opened{Account: "a1", Plan: plan.Free, At: now})
	require.Equal(t, []time.Time{one}, listed())

	// when the subscription changes the entitlement meanwhile, then the new one is due after the first was followed
	of = w.Append(t, "subscription-a1", of, given(two))
	own = w.Append(t, "account-a1", own, followed(1, 1))
	require.Equal(t, []time.Time{two}, listed())

	// and skipped ones are not due any more
	of = w.Append(t, "subscription-a1", of, given(three))
	own = w.Append(t, "account-a1", own, followed(3, 2))
	require.Empty(t, listed())

	// nor are the entitlements of a closed account
	w.Append(t, "subscription-a1", of, given(three))
	require.Equal(t, []time.Time{three}, listed())
	w.Append(t, "account-a1", own, account.Closed{Account: "a1", At: now})
	require.Empty(t, listed())
}

func TestEntitlementsOfAnAccount(t *testing.T) {
	w := suite.World(t)
	end, next := now.AddDate(0, 1, 0), plan.Indie
	w.Write(t, "account-a1", account.Opened{Account: "a1", Plan: plan.Free, At: now},
		account.Entitled{
			Account: "a1", Entitlement: plan.Entitlement{Plan: plan.Pro, Start: now.Add(time.Hour), End: end, Next: plan.Pro},
			Revision: 1, Version: 1, At: now,
		},
		account.Entitled{
			Account:     "a1",
			Entitlement: plan.Entitlement{Plan: plan.Pro, Start: now.Add(time.Hour), End: end, Next: plan.Indie, Anchor: now},
			Revision:    2, Version: 2, At: now,
		},
		account.Entitled{Account: "a1", Entitlement: plan.Entitlement{Plan: plan.Free, Start: end}, Revision: 3, Version: 3,
			At: end})
	require.Equal(t, []readmodel.EntitlementRow{
		{Account: "a1", From: now.Add(time.Hour), Plan: plan.Pro, Until: &end, Next: &next, Anchor: &now},
		{Account: "a1", From: end, Plan: plan.Free},
	}, feedtest.Shown(t, w, readmodel.EntitlementsView, `where account_id = 'a1' order by entitled_from`))
	row := plain("a1", plan.Free)
	row.EntitledFrom, row.Followed = end, 3
	require.Equal(t, []readmodel.AccountRow{row}, accountsOf(t, w, "a1"))
}

func TestSubscriptionsOfAnAccount(t *testing.T) {
	w := suite.World(t)
	terms := func(id, status string) subscription.Terms {
		return subscription.Terms{Subscription: id, Status: status}
	}
	shown := func() []readmodel.AccountSubscriptionRow {
		return feedtest.Shown(t, w, readmodel.AccountSubscriptionsView, `where account_id = 'a1' order by created_at`)
	}
	then := now.Add(time.Second)
	w.Write(t, "account-a1", account.Opened{Account: "a1", Plan: plan.Free, At: now})
	require.False(t, accountsOf(t, w, "a1")[0].Subscribed)
	at := w.Append(t, "subscription-a1", eventlog.NoStream,
		subscription.Created{Account: "a1", Terms: terms("s1", "incomplete"), At: now},
		subscription.Ended{Account: "a1", Terms: terms("s1", "incomplete_expired"), At: now},
		subscription.Created{Account: "a1", Terms: terms("s2", "incomplete"), At: then},
		subscription.Activated{Account: "a1", Terms: terms("s2", "active"), At: then},
		subscription.CancellationScheduled{Account: "a1", Subscription: "s2", At: then},
		subscription.Renewed{Account: "a1", Terms: terms("s2", "trialing"), At: then})
	require.True(t, accountsOf(t, w, "a1")[0].Subscribed)
	first := readmodel.AccountSubscriptionRow{
		Account: "a1", Subscription: "s1", Status: "incomplete_expired", CreatedAt: now,
	}
	require.Equal(t, []readmodel.AccountSubscriptionRow{first,
		{Account: "a1", Subscription: "s2", Status: "trialing", CancelAtPeriodEnd: true, CreatedAt: then}}, shown())
	at = w.Append(t, "subscription-a1", at,
		subscription.CancellationWithdrawn{Account: "a1", Subscription: "s2", At: then},
		subscription.FellDue{Account: "a1", Terms: terms("s2", "past_due"), At: then})
	require.Equal(t, []readmodel.AccountSubscriptionRow{first,
		{Account: "a1", Subscription: "s2", Status: "past_due", CreatedAt: then}}, shown())
	at = w.Append(t, "subscription-a1", at,
		subscription.PlanChanged{Account: "a1", Terms: terms("s2", "active"), At: then},
		subscription.CancellationScheduled{Account: "a1", Subscription: "s2", At: then})
	require.Equal(t, []readmodel.AccountSubscriptionRow{first,
		{Account: "a1", Subscription: "s2", Status: "active", CancelAtPeriodEnd: true, CreatedAt: then}}, shown())
	w.Append(t, "subscription-a1", at, subscription.Ended{Account: "a1", Terms: terms("s2", "canceled"), At: then})
	require.Equal(t, []readmodel.AccountSubscriptionRow{first,
		{Account: "a1", Subscription: "s2", Status: "canceled", CreatedAt: then}}, shown())
}
