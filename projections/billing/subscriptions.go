package billing

import (
	"time"

	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/projections"
)

// Fields of a subscription that change together.
var (
	terms     = subscriptions.Fields("price_id", "plan", "status", "period_start", "period_end")
	scheduled = subscriptions.Fields("scheduled_price", "scheduled_plan", "scheduled_from")
	pending   = subscriptions.Fields("pending_price", "pending_plan", "pending_until")
	cancelAt  = subscriptions.Fields("cancel_at")
	endedAt   = subscriptions.Fields("ended_at")
)

// lastBills is the time for the bills of a subscription's last period, which can also include amounts too small for an
// invoice of their own.
const lastBills = time.Hour

func handleSubscription(event eventlog.Decoded, rows *table.Rows) {
	switch e := event.Event.(type) {
	case subscription.Created:
		row := rowOf(e.Terms)
		row.Account, row.Number = e.Account, int64(event.Revision)
		subscriptions.Put(rows, row)
	case subscription.Activated:
		paid(rows, e.Terms)
		debts.Put(rows, projections.ToDo(event, event.ID.String(), e.At))
	case subscription.Collected:
		debts.Delete(rows, readmodel.ToDoRow{Item: e.Event})
	case subscription.Renewed:
		paid(rows, e.Terms)
	case subscription.PlanChanged:
		terms.Set(rows, rowOf(e.Terms))
	case subscription.ChangeScheduled:
		scheduled.Set(rows, readmodel.SubscriptionRow{
			Subscription: e.Subscription, ScheduledPrice: &e.Price, ScheduledPlan: new(string(e.Plan)),
			ScheduledFrom: &e.EffectiveAt,
		})
	case subscription.ScheduledChangeDropped:
		scheduled.Set(rows, readmodel.SubscriptionRow{Subscription: e.Subscription})
	case subscription.ChangePending:
		pending.Set(rows, readmodel.SubscriptionRow{
			Subscription: e.Subscription, PendingPrice: &e.Price, PendingPlan: new(string(e.Plan)), PendingUntil: &e.ExpiresAt,
		})
	case subscription.PendingChangeEnded:
		pending.Set(rows, readmodel.SubscriptionRow{Subscription: e.Subscription})
	case subscription.CancellationScheduled:
		cancelAt.Set(rows, readmodel.SubscriptionRow{Subscription: e.Subscription, CancelAt: &e.CancelAt})
	case subscription.CancellationWithdrawn:
		cancelAt.Set(rows, readmodel.SubscriptionRow{Subscription: e.Subscription})
	case subscription.FellDue:
		terms.Set(rows, rowOf(e.Terms))
		arrears.Put(rows, projections.ToDo(event, e.Subscription, e.GraceEnds))
	case subscription.Lapsed:
		arrears.Delete(rows, readmodel.ToDoRow{Item: e.Subscription})
	case subscription.Ended:
		ended(rows, e)
		debts.Put(rows, projections.ToDo(event, event.ID.String(), e.At.Add(lastBills)))
	}
}

func rowOf(t subscription.Terms) readmodel.SubscriptionRow {
	return readmodel.SubscriptionRow{
		Subscription: t.Subscription, Price: t.Price, Plan: string(t.Plan), Status: t.Status, PeriodStart: t.PeriodStart,
		PeriodEnd: t.PeriodEnd,
	}
}

// paid handles the payment of a subscription, the first one or a later one.
func paid(rows *table.Rows, t subscription.Terms) {
	terms.Set(rows, rowOf(t))
	endedAt.Set(rows, rowOf(t))
	if t.Status != "past_due" {
		arrears.Delete(rows, readmodel.ToDoRow{Item: t.Subscription})
	}
}

// ended removes all changes that are still to come.
func ended(rows *table.Rows, e subscription.Ended) {
	row := rowOf(e.Terms)
	row.EndedAt = &e.EndedAt
	terms.Set(rows, row)
	scheduled.Set(rows, row)
	pending.Set(rows, row)
	cancelAt.Set(rows, row)
	endedAt.Set(rows, row)
	arrears.Delete(rows, readmodel.ToDoRow{Item: e.Subscription})
}
