package accounts

import (
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/projections"
)

var (
	entitlements  = readmodel.EntitlementsView
	due           = readmodel.DueEntitlements
	subscriptions = readmodel.AccountSubscriptionsView

	entitled   = accounts.Fields("plan", "entitled_from", "entitled_until", "next_plan", "anchor", "followed")
	subscribed = accounts.Fields("subscribed")
	status     = subscriptions.Fields("status")
	cancel     = subscriptions.Fields("cancel_at_period_end")
	ended      = subscriptions.Fields("status", "cancel_at_period_end")
)

// handleSubscription handles the events of subscriptions, and what accounts follow of them.
func handleSubscription(event eventlog.Decoded, rows *table.Rows) {
	switch e := event.Event.(type) {
	case subscription.Entitled:
		due.Put(rows, readmodel.DueEntitlementRow{
			Account: e.Account, Revision: int64(event.Revision), Cause: event.ID.String(), Since: e.At,
		})
	case account.Entitled:
		follow(rows, e)
	case subscription.Created: // the first event of each subscription
		row := subscriptionRow(e.Account, e.Terms)
		row.CreatedAt = e.At
		subscriptions.Put(rows, row)
		subscribed.Set(rows, readmodel.AccountRow{Account: e.Account, Subscribed: true})
	case subscription.Activated:
		status.Set(rows, subscriptionRow(e.Account, e.Terms))
	case subscription.Renewed:
		status.Set(rows, subscriptionRow(e.Account, e.Terms))
	case subscription.PlanChanged:
		status.Set(rows, subscriptionRow(e.Account, e.Terms))
	case subscription.FellDue:
		status.Set(rows, subscriptionRow(e.Account, e.Terms))
	case subscription.Ended:
		ended.Set(rows, subscriptionRow(e.Account, e.Terms))
	case subscription.CancellationScheduled:
		cancel.Set(rows, readmodel.AccountSubscriptionRow{
			Account: e.Account, Subscription: e.Subscription, CancelAtPeriodEnd: true,
		})
	case subscription.CancellationWithdrawn:
		cancel.Set(rows, readmodel.AccountSubscriptionRow{Account: e.Account, Subscription: e.Subscription})
	}
}

func subscriptionRow(account string, t subscription.Terms) readmodel.AccountSubscriptionRow {
	return readmodel.AccountSubscriptionRow{Account: account, Subscription: t.Subscription, Status: t.Status}
}

// follow records that an account has followed its subscription's entitlement.
func follow(rows *table.Rows, e account.Entitled) {
	row := readmodel.AccountRow{
		Account: e.Account, Plan: e.Plan, EntitledFrom: e.Start, EntitledUntil: projections.OrNull(e.End),
		NextPlan: projections.OrNull(e.Next), Anchor: projections.OrNull(e.Anchor), Followed: e.Revision,
	}
	entitled.Set(rows, row)
	entitlements.Put(rows, readmodel.EntitlementRow{
		Account: e.Account, From: e.Start, Plan: e.Plan, Until: row.EntitledUntil, Next: row.NextPlan, Anchor: row.Anchor,
	})
	due.Delete(rows, readmodel.DueEntitlementRow{Account: e.Account, Revision: e.Revision})
}
