// Package billing holds the read models of subscriptions, of the catalogue of prices, and of the payment provider's
// notices.
package billing

import (
	"time"

	"github.com/recital-tts/recital/domain/catalogue"
	"github.com/recital-tts/recital/domain/payment"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/projections"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	return []feed.Projection{
		{
			Model:   readmodel.Billing,
			Streams: eventlog.Streams{subscription.StreamPrefix},
			Tables: []*table.Table{
				subscriptions.Table, customers.Table, cards.Table, invoices.Table, refunds.Table, disputes.Table,
				requests.Table, arrears.Table, debts.Table, losses.Table,
			},
			Views: []readmodel.View{
				subscriptions.View, customers.View, cards.View, invoices.View, refunds.View, disputes.View,
				requests.View, arrears.View, debts.View, losses.View,
			},
			Handle: handle,
		},
		{
			Model:   readmodel.Catalogue,
			Streams: eventlog.Streams{catalogue.Stream},
			Tables:  []*table.Table{readmodel.PricesView.Table},
			Views:   []readmodel.View{readmodel.PricesView.View},
			Handle:  handlePrices,
		},
		{
			Model:   readmodel.Notices,
			Streams: eventlog.Streams{payment.StreamPrefix},
			Tables:  []*table.Table{readmodel.ToDoPaymentView.Table},
			Views:   []readmodel.View{readmodel.ToDoPaymentView.View},
			Handle:  handleNotices,
		},
	}
}

var (
	subscriptions = readmodel.SubscriptionsView
	customers     = readmodel.CustomersView
	cards         = readmodel.CardsView
	invoices      = readmodel.InvoicesView
	refunds       = readmodel.RefundsView
	disputes      = readmodel.DisputesView
	requests      = readmodel.ToDoCompleteRequestView
	arrears       = readmodel.ToDoDunningView
	debts         = readmodel.ToDoCollectView
	losses        = readmodel.ToDoEndDisputedView
)

// patience is the time after which the to-do worker completes a request that is still under way.
const patience = 30 * time.Second

func handle(event eventlog.Decoded, rows *table.Rows) error {
	switch e := event.Event.(type) {
	case subscription.Requested:
		requests.Put(rows, projections.ToDo(event, e.Request, e.At.Add(patience)))
	case subscription.Agreed:
		answered(rows, e.Request)
	case subscription.Refused:
		answered(rows, e.Request)
	case subscription.CustomerCreated:
		customers.Put(rows, readmodel.CustomerRow{Customer: e.Customer, Account: e.Account})
	case subscription.CardChanged:
		if e.PaymentMethod == "" {
			cards.Delete(rows, readmodel.CardRow{Account: e.Account})
		} else {
			cards.Put(rows, readmodel.CardRow{
				Account: e.Account, PaymentMethod: e.PaymentMethod, Brand: e.Brand, Last4: e.Last4,
			})
		}
	case subscription.InvoiceRecorded:
		invoices.Put(rows, recordedRow(e))
	case subscription.InvoiceRefunded:
		refunds.Put(rows, readmodel.RefundRow{Invoice: e.Invoice, Account: e.Account, Amount: e.Refunded})
	case subscription.InvoiceDisputed:
		disputed(event, e, rows)
	default:
		handleSubscription(event, rows)
	}
	return nil
}

// answered removes a request from the lists. The id of a request after a lost dispute is the id of the event that
// recorded the loss.
func answered(rows *table.Rows, request string) {
	requests.Delete(rows, readmodel.ToDoRow{Item: request})
	losses.Delete(rows, readmodel.ToDoRow{Item: request})
}

func disputed(event eventlog.Decoded, e subscription.InvoiceDisputed, rows *table.Rows) {
	if e.EndsPlan {
		losses.Put(rows, projections.ToDo(event, event.ID.String(), e.At))
	}
	if e.Dispute == "" {
		disputes.Delete(rows, readmodel.DisputeRow{Invoice: e.Invoice})
		return
	}
	disputes.Put(rows, readmodel.DisputeRow{Invoice: e.Invoice, Account: e.Account, Status: e.Dispute, Amount: e.Amount})
}

func recordedRow(e subscription.InvoiceRecorded) readmodel.InvoiceRow {
	row := readmodel.InvoiceRow{
		Invoice: e.Invoice, Account: e.Account, Number: projections.OrNull(e.Number), Status: e.Status,
		AmountDue: e.AmountDue, AmountPaid: e.AmountPaid, Currency: e.Currency, CreatedAt: e.CreatedAt,
	}
	if len(e.Page) > 0 {
		row.Page = e.Page
	}
	if len(e.PDF) > 0 {
		row.PDF = e.PDF
	}
	return row
}

func handlePrices(event eventlog.Decoded, rows *table.Rows) error {
	switch e := event.Event.(type) {
	case catalogue.PriceListed:
		readmodel.PricesView.Put(rows, readmodel.PriceRow{
			Price: e.ID, Name: e.Name, Plan: string(e.Plan), Amount: e.Amount, Currency: e.Currency,
			OverageMillis: e.OverageMillis, OverageUnit: e.OverageUnit, OnSale: true,
		})
	case catalogue.PriceWithdrawn:
		onSale.Set(rows, readmodel.PriceRow{Price: e.ID, OnSale: false})
	}
	return nil
}

var onSale = readmodel.PricesView.Fields("on_sale")

// handleNotices ignores the notices about analytics, which have no consequences.
func handleNotices(event eventlog.Decoded, rows *table.Rows) error {
	switch e := event.Event.(type) {
	case payment.Received:
		if !e.Analytics {
			readmodel.ToDoPaymentView.Put(rows, projections.ToDo(event, e.ID, e.At))
		}
	case payment.Handled:
		readmodel.ToDoPaymentView.Delete(rows, readmodel.ToDoRow{Item: e.ID})
	}
	return nil
}
