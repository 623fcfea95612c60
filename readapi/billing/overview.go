package billing

import (
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

type billingOverviewResponse struct {
	Subscription  subscriptionResponse   `json:"subscription" doc:"The subscription, with empty fields where there is none."`
	PaymentMethod *paymentMethodResponse `json:"payment_method" doc:"The card that is charged; null where there is none."`
	Invoices      []invoiceItem          `json:"invoices,omitzero" doc:"The invoices, the newest first."` // never nil: it is always there
}

type subscriptionResponse struct {
	PriceID           *string          `json:"price_id" doc:"The price of the current plan."`
	Status            *string          `json:"status" doc:"The status at the payment provider, such as active or past_due."`
	CurrentPeriodEnd  *int64           `json:"current_period_end" doc:"When the period that is paid for ends, in Unix seconds."`
	CancelAtPeriodEnd bool             `json:"cancel_at_period_end" default:"false" doc:"Whether the subscription ends with its period."`
	ScheduledChange   *scheduledChange `json:"scheduled_change" doc:"The change of plan that is due; null where there is none."`
}

type scheduledChange struct {
	PriceID     string  `json:"price_id" doc:"The price of the next plan."`
	PlanName    *string `json:"plan_name" doc:"The name of the next plan, for people."`
	EffectiveAt int64   `json:"effective_at" doc:"When the plan changes, in Unix seconds."`
}

type paymentMethodResponse struct {
	Brand string `json:"brand" doc:"The brand of the card, such as visa."`
	Last4 string `json:"last4" doc:"The last four digits of the card."`
}

type invoiceItem struct {
	ID               string  `json:"id" doc:"The id of the invoice at the payment provider."`
	Number           *string `json:"number" doc:"The number on the invoice."`
	Status           *string `json:"status" doc:"The status at the payment provider, such as paid or open."`
	AmountPaid       int64   `json:"amount_paid" doc:"in minor units of the currency"`
	Currency         string  `json:"currency" doc:"The currency, in the three letters of ISO 4217, in lower case."`
	Created          int64   `json:"created" doc:"When the invoice was made, in Unix seconds."`
	HostedInvoiceURL *string `json:"hosted_invoice_url" doc:"The page of the invoice at the payment provider."`
	InvoicePDF       *string `json:"invoice_pdf" doc:"The address of the invoice as PDF."`
}

type subscriptionRow struct {
	Price          string     `col:"price_id"`
	Status         string     `col:"status"`
	PeriodEnd      time.Time  `col:"period_end"`
	CancelAt       *time.Time `col:"cancel_at"`
	ScheduledPrice *string    `col:"scheduled_price"`
	ScheduledPlan  *string    `col:"scheduled_plan"`
	ScheduledFrom  *time.Time `col:"scheduled_from"`
}

type nameRow struct {
	Price string `col:"price_id"`
	Name  string `col:"name"`
}

type cardRow struct {
	Brand []byte `col:"brand"`
	Last4 []byte `col:"last4"`
}

type invoiceRow struct {
	ID         string    `col:"invoice_id"`
	Number     *string   `col:"number"`
	Status     string    `col:"status"`
	AmountPaid int64     `col:"amount_paid"`
	Currency   string    `col:"currency"`
	Page       []byte    `col:"page"`
	PDF        []byte    `col:"pdf"`
	CreatedAt  time.Time `col:"created_at"`
}

// overviewQuery selects what there is of an account ($1): the subscription that counts, which is the newest that runs, or else
// the newest; the name of the product that it changes to; the card; the newest invoices.
var overviewQuery = `
select array(select row(` + readmodel.Columns[subscriptionRow](readmodel.SubscriptionsView, "s") + `)
             from ` + readmodel.SubscriptionsView.SQL() + ` s where s.account_id = $1
             order by s.status in ('active', 'trialing', 'past_due') desc, s.number desc limit 1),
       array(select row(` + readmodel.Columns[nameRow](readmodel.PricesView, "p") + `)
             from ` + readmodel.PricesView.SQL() + ` p, ` + readmodel.SubscriptionsView.SQL() + ` s where s.account_id = $1 and p.price_id = s.scheduled_price),
       array(select row(` + readmodel.Columns[cardRow](readmodel.CardsView, "c") + `)
             from ` + readmodel.CardsView.SQL() + ` c where c.account_id = $1),
       array(select row(` + readmodel.Columns[invoiceRow](readmodel.InvoicesView, "i") + `)
             from ` + readmodel.InvoicesView.SQL() + ` i where i.account_id = $1 order by i.created_at desc, i.invoice_id limit 100)`

// overviewRows are what the query selects.
type overviewRows struct {
	subscriptions []subscriptionRow
	names         []nameRow
	cards         []cardRow
	invoices      []invoiceRow
}

func (a *API) overview(call *web.Call, _ struct{}) (web.Reply, error) {
	var found overviewRows
	query := readapi.Query{SQL: overviewQuery, Arguments: []any{call.Principal.Account}, Doing: "reading the billing of an account"}
	err := readapi.Read(call, a.Models, query, func(row pgx.CollectableRow) error {
		return row.Scan(&found.subscriptions, &found.names, &found.cards, &found.invoices)
	})
	if err != nil {
		return web.Reply{}, err
	}
	response := billingOverviewResponse{Subscription: found.subscription()}
	if response.PaymentMethod, err = a.card(call, found.cards); err != nil {
		return web.Reply{}, err
	}
	if response.Invoices, err = a.invoices(call, found.invoices); err != nil {
		return web.Reply{}, err
	}
	return web.JSON(response).WithHeader("Cache-Control", "no-store"), nil
}

func (r overviewRows) subscription() subscriptionResponse {
	if len(r.subscriptions) == 0 {
		return subscriptionResponse{}
	}
	s := r.subscriptions[0]
	shown := subscriptionResponse{PriceID: &s.Price, Status: &s.Status, CurrentPeriodEnd: new(s.PeriodEnd.Unix()), CancelAtPeriodEnd: s.CancelAt != nil}
	if s.ScheduledPrice != nil && s.ScheduledFrom != nil {
		shown.ScheduledChange = &scheduledChange{PriceID: *s.ScheduledPrice, PlanName: r.nameOf(s), EffectiveAt: s.ScheduledFrom.Unix()}
	}
	return shown
}

// nameOf returns the name of the product that a subscription changes to.
func (r overviewRows) nameOf(s subscriptionRow) *string {
	i := slices.IndexFunc(r.names, func(n nameRow) bool { return n.Price == *s.ScheduledPrice })
	if i < 0 {
		return s.ScheduledPlan
	}
	return &r.names[i].Name
}

// card returns nil where there is none, or its key is gone.
func (a *API) card(call *web.Call, rows []cardRow) (*paymentMethodResponse, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	brand, err := a.open(call, rows[0].Brand, a.SealedFor.Card)
	if err != nil {
		return nil, err
	}
	last4, err := a.open(call, rows[0].Last4, a.SealedFor.Card)
	if err != nil || brand == nil || last4 == nil {
		return nil, err
	}
	return &paymentMethodResponse{Brand: *brand, Last4: *last4}, nil
}

func (a *API) invoices(call *web.Call, rows []invoiceRow) ([]invoiceItem, error) {
	items := make([]invoiceItem, len(rows))
	for i, row := range rows {
		page, err := a.open(call, row.Page, a.SealedFor.Invoice)
		if err != nil {
			return nil, err
		}
		pdf, err := a.open(call, row.PDF, a.SealedFor.Invoice)
		if err != nil {
			return nil, err
		}
		items[i] = invoiceItem{
			ID: row.ID, Number: row.Number, Status: &row.Status, AmountPaid: row.AmountPaid, Currency: row.Currency, Created: row.CreatedAt.Unix(),
			HostedInvoiceURL: page, InvoicePDF: pdf,
		}
	}
	return items, nil
}

// open returns what was sealed for the caller's account, nil for nothing and for what nobody can open any more.
func (a *API) open(call *web.Call, sealed []byte, use string) (*string, error) {
	if sealed == nil {
		return nil, nil
	}
	plain, err := a.Keys.Open(call, call.Principal.Account, sealed, use)
	switch {
	case keyring.Gone(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("opening what is sealed of billing: %w", err)
	}
	return new(string(plain)), nil
}
