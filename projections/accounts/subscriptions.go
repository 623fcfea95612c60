package accounts

import (
	"time"

	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

type subscriptionRow struct {
	Account           string    `col:"account_id,key"`
	Subscription      string    `col:"subscription_id,key"`
	Status            string    `col:"status"`
	CancelAtPeriodEnd bool      `col:"cancel_at_period_end"`
	CreatedAt         time.Time `col:"created_at"`
}

// subscriptions is the table of the states of subscriptions.
type subscriptions struct {
	table.Typed[subscriptionRow]
	status table.Field[subscriptionRow, string]
	cancel table.Field[subscriptionRow, bool]
	of     table.Field[accountRow, bool] // whether there are any
}

func newSubscriptions(accounts table.Typed[accountRow]) subscriptions {
	t := table.Of[subscriptionRow]("subscriptions")
	return subscriptions{
		Typed:  t,
		status: table.FieldOf(t, func(r *subscriptionRow) *string { return &r.Status }),
		cancel: table.FieldOf(t, func(r *subscriptionRow) *bool { return &r.CancelAtPeriodEnd }),
		of:     table.FieldOf(accounts, func(r *accountRow) *bool { return &r.Subscribed }),
	}
}

func (t subscriptions) handle(rows *table.Rows, event any) {
	switch e := event.(type) {
	case subscription.Created: // the first event of each
		t.Put(rows, subscriptionRow{Account: e.Account, Subscription: e.Subscription, Status: e.Status, CreatedAt: e.At})
		t.of.Set(rows, accountRow{Account: e.Account}, true)
	case subscription.Activated:
		t.status.Set(rows, subscriptionRow{Account: e.Account, Subscription: e.Subscription}, e.Status)
	case subscription.Renewed:
		t.status.Set(rows, subscriptionRow{Account: e.Account, Subscription: e.Subscription}, e.Status)
	case subscription.PlanChanged:
		t.status.Set(rows, subscriptionRow{Account: e.Account, Subscription: e.Subscription}, e.Status)
	case subscription.FellDue:
		t.status.Set(rows, subscriptionRow{Account: e.Account, Subscription: e.Subscription}, e.Status)
	case subscription.Ended:
		t.status.Set(rows, subscriptionRow{Account: e.Account, Subscription: e.Subscription}, e.Status)
		t.cancel.Set(rows, subscriptionRow{Account: e.Account, Subscription: e.Subscription}, false)
	case subscription.CancellationScheduled:
		t.cancel.Set(rows, subscriptionRow{Account: e.Account, Subscription: e.Subscription}, true)
	case subscription.CancellationWithdrawn:
		t.cancel.Set(rows, subscriptionRow{Account: e.Account, Subscription: e.Subscription}, false)
	}
}
