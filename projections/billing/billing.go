// Package billing holds the read models of subscriptions, of the catalogue of prices, and of the payment provider's notices.
package billing

import (
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	return []feed.Projection{newBilling().model(), cataloguesModel(), noticesModel()}
}

// billing is the read model of subscriptions.
type billing struct {
	subscriptions subscriptions
	customers     table.Typed[customerRow]
	cards         table.Typed[cardRow]
	invoices      table.Typed[invoiceRow]
	requests      table.Typed[requestRow]
	arrears       table.Typed[arrearsRow]
}

func newBilling() billing {
	return billing{
		subscriptions: newSubscriptions(),
		customers:     table.Of[customerRow]("customers").Index("customers_of_account", "account_id"),
		cards:         table.Of[cardRow]("cards"),
		invoices:      table.Of[invoiceRow]("invoices").Index("invoices_of_account", "account_id", "created_at"),
		requests:      table.Of[requestRow]("requests").Index("requests_due", "due_at"),
		arrears:       table.Of[arrearsRow]("arrears").Index("arrears_due", "due_at"),
	}
}

func (b billing) model() feed.Projection {
	return feed.Projection{
		Model:   readmodel.Billing,
		Streams: eventlog.Streams{subscription.StreamPrefix},
		Tables:  []*table.Table{b.subscriptions.Table, b.customers.Table, b.cards.Table, b.invoices.Table, b.requests.Table, b.arrears.Table},
		Views: []feed.View{
			{View: readmodel.SubscriptionsView, Select: `select subscription_id, account_id, number, price_id, plan, status, period_start, period_end, cancel_at,
				scheduled_price, scheduled_plan, scheduled_from, ended_at from subscriptions`},
			{View: readmodel.CustomersView, Select: `select customer_id, account_id from customers`},
			{View: readmodel.CardsView, Select: `select account_id, payment_method, brand, last4 from cards`},
			{View: readmodel.InvoicesView, Select: `select invoice_id, account_id, number, status, amount_due, amount_paid, currency, page, pdf, created_at from invoices`},
			{View: readmodel.ToDoCompleteRequestView, Select: `select request_id as item, stream, due_at, cause from requests`},
			{View: readmodel.ToDoDunningView, Select: `select subscription_id as item, stream, due_at, cause from arrears`},
		},
		Handle: b.handle,
	}
}

func (b billing) handle(event eventlog.Decoded, rows *table.Rows) error {
	switch e := event.Event.(type) {
	case subscription.Requested:
		b.requests.Put(rows, requestRow{Request: e.Request, Stream: event.Stream, Due: e.At.Add(patience), Cause: event.ID.String()})
	case subscription.Agreed:
		b.requests.Delete(rows, requestRow{Request: e.Request})
	case subscription.Refused:
		b.requests.Delete(rows, requestRow{Request: e.Request})
	case subscription.CustomerCreated:
		b.customers.Put(rows, customerRow{Customer: e.Customer, Account: e.Account})
	case subscription.CardChanged:
		b.cardChanged(rows, e)
	case subscription.InvoiceRecorded:
		b.invoices.Put(rows, recordedRow(e))
	default:
		b.subscribed(event, rows)
	}
	return nil
}

// subscribed handles what happens to a subscription.
func (b billing) subscribed(event eventlog.Decoded, rows *table.Rows) {
	switch e := event.Event.(type) {
	case subscription.Created:
		b.subscriptions.created(rows, event, e)
	case subscription.Activated:
		b.runs(rows, e.Terms)
	case subscription.Renewed:
		b.runs(rows, e.Terms)
	case subscription.PlanChanged:
		b.subscriptions.is(rows, e.Terms)
	case subscription.ChangeScheduled:
		b.subscriptions.scheduled(rows, e)
	case subscription.ScheduledChangeDropped:
		b.subscriptions.dropped(rows, e.Subscription)
	case subscription.CancellationScheduled:
		b.subscriptions.cancelAt.Set(rows, subscriptionRow{Subscription: e.Subscription}, &e.CancelAt)
	case subscription.CancellationWithdrawn:
		b.subscriptions.cancelAt.Set(rows, subscriptionRow{Subscription: e.Subscription}, nil)
	case subscription.FellDue:
		b.subscriptions.is(rows, e.Terms)
		b.arrears.Put(rows, arrearsRow{Subscription: e.Subscription, Stream: event.Stream, Due: e.GraceEnds, Cause: event.ID.String()})
	case subscription.Lapsed:
		b.arrears.Delete(rows, arrearsRow{Subscription: e.Subscription})
	case subscription.Ended:
		b.subscriptions.ended(rows, e)
		b.arrears.Delete(rows, arrearsRow{Subscription: e.Subscription})
	}
}

// runs handles that a subscription is paid, for the first time or again.
func (b billing) runs(rows *table.Rows, terms subscription.Terms) {
	b.subscriptions.is(rows, terms)
	b.subscriptions.endedAt.Set(rows, subscriptionRow{Subscription: terms.Subscription}, nil)
	if terms.Status != "past_due" {
		b.arrears.Delete(rows, arrearsRow{Subscription: terms.Subscription})
	}
}
