package readmodel

import (
	"time"

	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

// Billing is the read model of subscriptions: the payment provider's state of an account, and the work that follows
// from it.
var Billing = Model{Name: "billing", Version: 1}

// SubscriptionRow is a subscription, including ended ones.
type SubscriptionRow struct {
	Subscription   string     `col:"subscription_id,key"`
	Account        string     `col:"account_id"`
	Number         int64      `col:"number"` // later ones of the account have higher ones
	Price          string     `col:"price_id"`
	Plan           string     `col:"plan"`
	Status         string     `col:"status"` // the provider's
	PeriodStart    time.Time  `col:"period_start"`
	PeriodEnd      time.Time  `col:"period_end"`
	CancelAt       *time.Time `col:"cancel_at"`       // NULL: it continues
	ScheduledPrice *string    `col:"scheduled_price"` // of a change that takes effect later; NULL: none
	ScheduledPlan  *string    `col:"scheduled_plan"`
	ScheduledFrom  *time.Time `col:"scheduled_from"`
	PendingPrice   *string    `col:"pending_price"` // of an unconfirmed change; NULL: none
	PendingPlan    *string    `col:"pending_plan"`
	PendingUntil   *time.Time `col:"pending_until"`
	EndedAt        *time.Time `col:"ended_at"` // NULL: it has not ended
}

// SubscriptionsView shows all subscriptions.
var SubscriptionsView = Show(Billing, table.Of[SubscriptionRow]("subscriptions").
	Index("subscriptions_of_account", "account_id").
	Index("subscriptions_period_end", "period_end"))

// CustomerRow is a customer at the payment provider.
type CustomerRow struct {
	Customer string `col:"customer_id,key"`
	Account  string `col:"account_id"`
}

// CustomersView shows all customers.
var CustomersView = Show(Billing, table.Of[CustomerRow]("customers").Index("customers_of_account", "account_id"))

// CardRow is the card that pays for an account. Brand and Last4 are sealed for CardUse.
type CardRow struct {
	Account       string `col:"account_id,key"`
	PaymentMethod string `col:"payment_method"`
	Brand         []byte `col:"brand"`
	Last4         []byte `col:"last4"`
}

// CardsView shows all cards.
var CardsView = Show(Billing, table.Of[CardRow]("cards"))

// InvoiceRow is an invoice. Amounts are in minor units of the currency. Page and PDF are sealed for InvoiceUse.
type InvoiceRow struct {
	Invoice    string    `col:"invoice_id,key"`
	Account    string    `col:"account_id"`
	Number     *string   `col:"number"` // NULL: none yet
	Status     string    `col:"status"`
	AmountDue  int64     `col:"amount_due"`
	AmountPaid int64     `col:"amount_paid"`
	Currency   string    `col:"currency"`
	Page       []byte    `col:"page,null"`
	PDF        []byte    `col:"pdf,null"`
	CreatedAt  time.Time `col:"created_at"`
}

// InvoicesView shows all invoices.
var InvoicesView = Show(Billing,
	table.Of[InvoiceRow]("invoices").Index("invoices_of_account", "account_id", "created_at"))

// RefundRow is the total refund of an invoice.
type RefundRow struct {
	Invoice string `col:"invoice_id,key"`
	Account string `col:"account_id"`
	Amount  int64  `col:"amount"` // in minor units of the invoice's currency
}

// RefundsView shows all refunds.
var RefundsView = Show(Billing, table.Of[RefundRow]("refunds").Index("refunds_of_account", "account_id"))

// DisputeRow is the dispute over the payment of an invoice.
type DisputeRow struct {
	Invoice string `col:"invoice_id,key"`
	Account string `col:"account_id"`
	Status  string `col:"status"` // open, won or lost
	Amount  int64  `col:"amount"` // in minor units of the invoice's currency
}

// DisputesView shows all disputes.
var DisputesView = Show(Billing, table.Of[DisputeRow]("disputes").Index("disputes_of_account", "account_id"))

// CardUse and InvoiceUse are the purposes for which columns are sealed.
const (
	CardUse    = subscription.SealedForCard
	InvoiceUse = subscription.SealedForInvoice
)

// ToDoCompleteRequestView lists the requests to the provider without an outcome. The cause is the event that recorded
// the request.
var ToDoCompleteRequestView = NewToDo(Billing, "todo_complete_request")

// ToDoDunningView lists the subscriptions with a missing payment, due when the grace ends. The cause is the event that
// recorded that.
var ToDoDunningView = NewToDo(Billing, "todo_dunning")

// ToDoCollectView lists the payments and ends of subscriptions after which other debts have not been collected. An item
// is the id of the event that recorded the payment, or the end.
var ToDoCollectView = NewToDo(Billing, "todo_collect")

// ToDoEndDisputedView lists the lost disputes that end subscriptions that are still running. An item is the id of the
// event that recorded the loss.
var ToDoEndDisputedView = NewToDo(Billing, "todo_end_disputed")

// Notices is the read model of the payment provider's notices.
var Notices = Model{Name: "notices", Version: 1}

// ToDoPaymentView lists the unhandled notices. An item is the provider's id of the event; its cause is our event that
// recorded it.
var ToDoPaymentView = NewToDo(Notices, "todo_payment")

// Catalogue is the read model of prices.
var Catalogue = Model{Name: "catalogue", Version: 1}

// PriceRow is a price that was ever on sale. Subscriptions keep withdrawn prices. Amounts are in minor units of the
// currency.
type PriceRow struct {
	Price         string `col:"price_id,key"`
	Name          string `col:"name"` // of the product
	Plan          string `col:"plan"`
	Amount        int64  `col:"amount"` // by the month
	Currency      string `col:"currency"`
	OverageMillis int64  `col:"overage_millis"` // thousandths of a minor unit, for overage_unit characters
	OverageUnit   int64  `col:"overage_unit"`
	OnSale        bool   `col:"on_sale"`
}

// PricesView shows all prices.
var PricesView = Show(Catalogue, table.Of[PriceRow]("prices"))
