package billing

import (
	"cmp"
	"slices"

	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

type billingOverviewResponse struct {
	Subscription subscriptionResponse `json:"subscription" doc:"The subscription, with empty fields if there is none."`
	// never nil, so the field is always present
	Others        []otherSubscription    `json:"other_subscriptions,omitzero" doc:"Further running subscriptions, which are also charged. They can only be created at the payment provider."`
	PaymentMethod *paymentMethodResponse `json:"payment_method" doc:"The card that is charged; null if there is none."`
	// never nil, so the field is always present
	Invoices []invoiceItem `json:"invoices,omitzero" doc:"The invoices, newest first."`
}

type subscriptionResponse struct {
	SubscriptionID    *string          `json:"subscription_id" doc:"The id of the subscription at the payment provider. Changes of plan and cancellations apply to it."`
	PriceID           *string          `json:"price_id" doc:"The price of the current plan."`
	Amount            *int64           `json:"amount" doc:"The monthly price, in minor units of the currency."`
	Currency          *string          `json:"currency" doc:"The currency, in the three letters of ISO 4217, in lower case."`
	Status            *string          `json:"status" doc:"The status at the payment provider, such as active or past_due."`
	CurrentPeriodEnd  *int64           `json:"current_period_end" doc:"The end of the paid period, in Unix seconds."`
	CancelAtPeriodEnd bool             `json:"cancel_at_period_end" default:"false" doc:"Whether the subscription ends with its period."`
	ScheduledChange   *scheduledChange `json:"scheduled_change" doc:"The scheduled change of plan; null if there is none."`
	PendingChange     *pendingChange   `json:"pending_change" doc:"The change of plan that waits for the card owner to confirm its payment; null if there is none."`
}

type otherSubscription struct {
	SubscriptionID    string  `json:"subscription_id" doc:"The id of the subscription at the payment provider."`
	PriceID           string  `json:"price_id" doc:"The price of its plan."`
	Amount            *int64  `json:"amount" doc:"The monthly price, in minor units of the currency."`
	Currency          *string `json:"currency" doc:"The currency, in the three letters of ISO 4217, in lower case."`
	Status            string  `json:"status" doc:"The status at the payment provider, such as active or past_due."`
	CurrentPeriodEnd  int64   `json:"current_period_end" doc:"The end of the paid period, in Unix seconds."`
	CancelAtPeriodEnd bool    `json:"cancel_at_period_end" doc:"Whether the subscription ends with its period."`
}

type scheduledChange struct {
	PriceID     string  `json:"price_id" doc:"The price of the next plan."`
	PlanName    *string `json:"plan_name" doc:"The name of the next plan, for people."`
	Amount      *int64  `json:"amount" doc:"Its monthly price, in minor units of the currency."`
	Currency    *string `json:"currency" doc:"The currency, in the three letters of ISO 4217, in lower case."`
	EffectiveAt int64   `json:"effective_at" doc:"The time of the change, in Unix seconds."`
}

type pendingChange struct {
	PriceID   string  `json:"price_id" doc:"The price of the plan."`
	PlanName  *string `json:"plan_name" doc:"The name of the plan, for people."`
	Amount    *int64  `json:"amount" doc:"Its monthly price, in minor units of the currency."`
	Currency  *string `json:"currency" doc:"The currency, in the three letters of ISO 4217, in lower case."`
	ExpiresAt int64   `json:"expires_at" doc:"The time when the change lapses unless its payment is confirmed, in Unix seconds."`
}

type paymentMethodResponse struct {
	Brand string `json:"brand" doc:"The brand of the card, such as visa."`
	Last4 string `json:"last4" doc:"The last four digits of the card."`
}

type invoiceItem struct {
	ID               string          `json:"id" doc:"The id of the invoice at the payment provider."`
	Number           *string         `json:"number" doc:"The number on the invoice."`
	Status           *string         `json:"status" doc:"The status at the payment provider, such as paid or open."`
	AmountDue        int64           `json:"amount_due" doc:"The amount to pay, in minor units of the currency."`
	AmountPaid       int64           `json:"amount_paid" doc:"in minor units of the currency"`
	AmountRefunded   int64           `json:"amount_refunded" doc:"The refunded amount, in minor units of the currency."`
	Dispute          *invoiceDispute `json:"dispute" doc:"The dispute over its payment; null if there is none."`
	Currency         string          `json:"currency" doc:"The currency, in the three letters of ISO 4217, in lower case."`
	Created          int64           `json:"created" doc:"The time of creation, in Unix seconds."`
	HostedInvoiceURL *string         `json:"hosted_invoice_url" doc:"The page of the invoice at the payment provider."`
	InvoicePDF       *string         `json:"invoice_pdf" doc:"The address of the invoice as PDF."`
}

type invoiceDispute struct {
	Status string `json:"status" doc:"open, won (the service keeps the money) or lost (it was paid back)"`
	Amount int64  `json:"amount" doc:"The disputed amount, in minor units of the currency of the invoice."`
}

// overview has the billing rows of an account.
type overview struct {
	Subscriptions []readmodel.SubscriptionRow // first the main one: the newest that runs, or else the newest
	Prices        []readmodel.PriceRow        // of the account's subscriptions and their planned changes
	Cards         []readmodel.CardRow
	Invoices      []readmodel.InvoiceRow // the newest
	Refunds       []readmodel.RefundRow
	Disputes      []readmodel.DisputeRow
}

var overviewQuery = readapi.Rows[overview]{Doing: "reading the billing of an account", SQL: `
	select ` + readmodel.SubscriptionsView.Array("s", `where s.account_id = $1
			order by s.status in ('active', 'trialing', 'past_due') desc, s.number desc limit 20`) + `,
		` + readmodel.PricesView.Array("p", `where exists (
			select from `+readmodel.SubscriptionsView.SQL()+` s
			where s.account_id = $1 and p.price_id in (s.price_id, s.scheduled_price, s.pending_price))`) + `,
		` + readmodel.CardsView.Array("c", `where c.account_id = $1`) + `,
		` + readmodel.InvoicesView.Array("i", `where i.account_id = $1 order by i.created_at desc, i.invoice_id limit 100`) + `,
		` + readmodel.RefundsView.Array("r", `where r.account_id = $1`) + `,
		` + readmodel.DisputesView.Array("d", `where d.account_id = $1`)}

func (a *API) overview(call *web.Call, _ struct{}) (web.Reply, error) {
	found, err := overviewQuery.One(call, a.Models, nil, call.Principal.Account)
	if err != nil {
		return web.Reply{}, err
	}
	response := billingOverviewResponse{Subscription: found.subscription(), Others: found.others()}
	if response.PaymentMethod, err = a.card(call, found.Cards); err != nil {
		return web.Reply{}, err
	}
	if response.Invoices, err = a.invoices(call, found); err != nil {
		return web.Reply{}, err
	}
	return web.JSON(response).WithHeader("Cache-Control", "no-store"), nil
}

func (r overview) subscription() subscriptionResponse {
	if len(r.Subscriptions) == 0 {
		return subscriptionResponse{}
	}
	s := r.Subscriptions[0]
	shown := subscriptionResponse{
		SubscriptionID: &s.Subscription, PriceID: &s.Price, Status: &s.Status, CurrentPeriodEnd: new(s.PeriodEnd.Unix()),
		CancelAtPeriodEnd: s.CancelAt != nil,
	}
	_, shown.Amount, shown.Currency = r.price(s.Price)
	if s.ScheduledPrice != nil && s.ScheduledFrom != nil {
		shown.ScheduledChange = r.scheduled(s)
	}
	if s.PendingPrice != nil && s.PendingUntil != nil {
		shown.PendingChange = r.pending(s)
	}
	return shown
}

// others returns the running subscriptions in addition to the main one.
func (r overview) others() []otherSubscription {
	others := []otherSubscription{}
	for _, s := range r.Subscriptions[min(1, len(r.Subscriptions)):] {
		if !slices.Contains([]string{"active", "trialing", "past_due"}, s.Status) {
			continue
		}
		shown := otherSubscription{SubscriptionID: s.Subscription, PriceID: s.Price, Status: s.Status,
			CurrentPeriodEnd: s.PeriodEnd.Unix(), CancelAtPeriodEnd: s.CancelAt != nil}
		_, shown.Amount, shown.Currency = r.price(s.Price)
		others = append(others, shown)
	}
	return others
}

func (r overview) scheduled(s readmodel.SubscriptionRow) *scheduledChange {
	name, amount, currency := r.price(*s.ScheduledPrice)
	return &scheduledChange{PriceID: *s.ScheduledPrice, PlanName: cmp.Or(name, s.ScheduledPlan), Amount: amount,
		Currency: currency, EffectiveAt: s.ScheduledFrom.Unix()}
}

func (r overview) pending(s readmodel.SubscriptionRow) *pendingChange {
	name, amount, currency := r.price(*s.PendingPrice)
	return &pendingChange{PriceID: *s.PendingPrice, PlanName: cmp.Or(name, s.PendingPlan), Amount: amount,
		Currency: currency, ExpiresAt: s.PendingUntil.Unix()}
}

// price returns the name of the plan, the amount and the currency of a price of the account's subscriptions. They are
// nil if it was never on sale.
func (r overview) price(id string) (name *string, amount *int64, currency *string) {
	for _, p := range r.Prices {
		if p.Price == id {
			return &p.Name, &p.Amount, &p.Currency
		}
	}
	return nil, nil, nil
}

// card returns nil if there is no card, or its key is gone.
func (a *API) card(call *web.Call, rows []readmodel.CardRow) (*paymentMethodResponse, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	brand, err := a.open(call, rows[0].Brand, readmodel.CardUse)
	if err != nil {
		return nil, err
	}
	last4, err := a.open(call, rows[0].Last4, readmodel.CardUse)
	if err != nil || brand == nil || last4 == nil {
		return nil, err
	}
	return &paymentMethodResponse{Brand: *brand, Last4: *last4}, nil
}

func (a *API) invoices(call *web.Call, found overview) ([]invoiceItem, error) {
	items := make([]invoiceItem, len(found.Invoices))
	for i, row := range found.Invoices {
		page, err := a.open(call, row.Page, readmodel.InvoiceUse)
		if err != nil {
			return nil, err
		}
		pdf, err := a.open(call, row.PDF, readmodel.InvoiceUse)
		if err != nil {
			return nil, err
		}
		items[i] = invoiceItem{
			ID: row.Invoice, Number: row.Number, Status: &row.Status, AmountDue: row.AmountDue, AmountPaid: row.AmountPaid,
			AmountRefunded: found.refunded(row.Invoice), Dispute: found.dispute(row.Invoice), Currency: row.Currency,
			Created: row.CreatedAt.Unix(), HostedInvoiceURL: page, InvoicePDF: pdf,
		}
	}
	return items, nil
}

func (r overview) refunded(invoice string) int64 {
	for _, row := range r.Refunds {
		if row.Invoice == invoice {
			return row.Amount
		}
	}
	return 0
}

func (r overview) dispute(invoice string) *invoiceDispute {
	for _, row := range r.Disputes {
		if row.Invoice == invoice {
			return &invoiceDispute{Status: row.Status, Amount: row.Amount}
		}
	}
	return nil
}

// open decrypts data of the caller's account. It returns nil for nil, and if the key is gone.
func (a *API) open(call *web.Call, sealed []byte, use string) (*string, error) {
	return keyring.OpenText(call, a.Keys, call.Principal.Account, sealed, use)
}
