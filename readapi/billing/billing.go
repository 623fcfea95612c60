// Package billing serves the routes that read subscriptions, invoices and products, without requests to the payment
// provider.
package billing

import (
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// API serves billing from its read models.
type API struct {
	Models   readapi.Models
	Keys     keyring.Opener
	CardForm CardForm
}

// CardForm tells pages how to enter cards. Without a publishable key and a page they cannot.
type CardForm struct {
	PublishableKey *string `json:"publishable_key" doc:"The publishable key of Stripe, for Stripe.js; null if Stripe takes no cards."`
	Page           *string `json:"page" doc:"The page of the payment sandbox (in mode dev only), with {client_secret} as a placeholder for the secret. With ?opener=ORIGIN it posts its result to the window that opened it. Null if there is none."`
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	tag := web.Tag("Payments")
	return []web.Route{
		web.Get("/payments/products", a.products, web.Public(), web.Reads(readmodel.PricesView.View), tag,
			web.Summary("The plans and their prices"),
			web.Description("Ordered by currency and amount. A plan without a `price_id` is free and cannot be "+
				"subscribed to."), web.Returns[[]product]()),
		web.Get("/payments/card-form", a.cardForm, web.Public(), tag, web.Summary("The form for entering cards"),
			web.Description("A page that has a `client_secret` takes the card with Stripe.js and the publishable key, or in "+
				"mode dev by opening the page of the payment sandbox."), web.Returns[CardForm]()),
		web.Get("/payments/billing", a.overview, tag,
			web.Reads(readmodel.SubscriptionsView.View, readmodel.CardsView.View, readmodel.InvoicesView.View,
				readmodel.RefundsView.View, readmodel.DisputesView.View,
				readmodel.PricesView.View),
			web.Summary("The subscription, the card that pays, and the invoices"),
			web.Description("The latest 100 invoices, newest first. Amounts are integers in "+
				"minor units of the currency. An invoice with the status `open` is unpaid: a new card pays "+
				"it, if it is for characters past the plan or for a subscription that continues."),
			web.Returns[billingOverviewResponse](web.Sends("cache-control"))),
	}
}

func (a *API) cardForm(*web.Call, struct{}) (web.Reply, error) { return web.JSON(a.CardForm), nil }
