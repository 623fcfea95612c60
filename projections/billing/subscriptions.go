package billing

import (
	"time"

	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

type subscriptionRow struct {
	Subscription   string     `col:"subscription_id,key"`
	Account        string     `col:"account_id"`
	Number         int64      `col:"number"`
	Price          string     `col:"price_id"`
	Plan           string     `col:"plan"`
	Status         string     `col:"status"`
	PeriodStart    time.Time  `col:"period_start"`
	PeriodEnd      time.Time  `col:"period_end"`
	CancelAt       *time.Time `col:"cancel_at"`
	ScheduledPrice *string    `col:"scheduled_price"`
	ScheduledPlan  *string    `col:"scheduled_plan"`
	ScheduledFrom  *time.Time `col:"scheduled_from"`
	EndedAt        *time.Time `col:"ended_at"`
}

type subscriptions struct {
	table.Typed[subscriptionRow]
	price, plan, status           table.Field[subscriptionRow, string]
	periodStart, periodEnd        table.Field[subscriptionRow, time.Time]
	cancelAt, endedAt             table.Field[subscriptionRow, *time.Time]
	scheduledPrice, scheduledPlan table.Field[subscriptionRow, *string]
	scheduledFrom                 table.Field[subscriptionRow, *time.Time]
}

func newSubscriptions() subscriptions {
	t := table.Of[subscriptionRow]("subscriptions").Index("subscriptions_of_account", "account_id").Index("subscriptions_period_end", "period_end")
	return subscriptions{
		Typed:          t,
		price:          table.FieldOf(t, func(r *subscriptionRow) *string { return &r.Price }),
		plan:           table.FieldOf(t, func(r *subscriptionRow) *string { return &r.Plan }),
		status:         table.FieldOf(t, func(r *subscriptionRow) *string { return &r.Status }),
		periodStart:    table.FieldOf(t, func(r *subscriptionRow) *time.Time { return &r.PeriodStart }),
		periodEnd:      table.FieldOf(t, func(r *subscriptionRow) *time.Time { return &r.PeriodEnd }),
		cancelAt:       table.FieldOf(t, func(r *subscriptionRow) **time.Time { return &r.CancelAt }),
		endedAt:        table.FieldOf(t, func(r *subscriptionRow) **time.Time { return &r.EndedAt }),
		scheduledPrice: table.FieldOf(t, func(r *subscriptionRow) **string { return &r.ScheduledPrice }),
		scheduledPlan:  table.FieldOf(t, func(r *subscriptionRow) **string { return &r.ScheduledPlan }),
		scheduledFrom:  table.FieldOf(t, func(r *subscriptionRow) **time.Time { return &r.ScheduledFrom }),
	}
}

func (s subscriptions) created(rows *table.Rows, event eventlog.Decoded, e subscription.Created) {
	s.Put(rows, subscriptionRow{
		Subscription: e.Subscription, Account: e.Account, Number: int64(event.Revision), Price: e.Price, Plan: string(e.Plan), Status: e.Status,
		PeriodStart: e.PeriodStart, PeriodEnd: e.PeriodEnd,
	})
}

// is gives a subscription new terms.
func (s subscriptions) is(rows *table.Rows, terms subscription.Terms) {
	row := subscriptionRow{Subscription: terms.Subscription}
	s.price.Set(rows, row, terms.Price)
	s.plan.Set(rows, row, string(terms.Plan))
	s.status.Set(rows, row, terms.Status)
	s.periodStart.Set(rows, row, terms.PeriodStart)
	s.periodEnd.Set(rows, row, terms.PeriodEnd)
}

func (s subscriptions) scheduled(rows *table.Rows, e subscription.ChangeScheduled) {
	row := subscriptionRow{Subscription: e.Subscription}
	s.scheduledPrice.Set(rows, row, &e.Price)
	s.scheduledPlan.Set(rows, row, new(string(e.Plan)))
	s.scheduledFrom.Set(rows, row, &e.EffectiveAt)
}

func (s subscriptions) dropped(rows *table.Rows, id string) {
	row := subscriptionRow{Subscription: id}
	s.scheduledPrice.Set(rows, row, nil)
	s.scheduledPlan.Set(rows, row, nil)
	s.scheduledFrom.Set(rows, row, nil)
}

// ended leaves nothing that is still to come.
func (s subscriptions) ended(rows *table.Rows, e subscription.Ended) {
	row := subscriptionRow{Subscription: e.Subscription}
	s.is(rows, e.Terms)
	s.dropped(rows, e.Subscription)
	s.cancelAt.Set(rows, row, nil)
	s.endedAt.Set(rows, row, &e.EndedAt)
}
