// Package billing serves the routes that change subscriptions and cards, and those by which the payment provider gives
// notice.
package billing

import (
	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/internal/payments"
	"github.com/recital-tts/recital/internal/readmodel"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/writeapi"
)

// API changes subscriptions and cards, and takes notices.
type API struct {
	Billing    *billing.Billing
	Notices    payments.Notice // verifies those of the provider
	Analytics  payments.Notice // verifies those of its analytics
	ReadModels writeapi.ReadModels
}

// maxNotice is far above what the provider sends, in bytes.
const maxNotice = 256 << 10

// Routes are the rows for the public route table.
func (a *API) Routes() []web.Route {
	tag, shown := web.Tag("Payments"), web.ReadModels(readmodel.Billing, readmodel.Account)
	noStore := web.Sends("cache-control")
	done := web.Returns[uncancelResponse](noStore)
	notice := []web.Option{tag, web.Signed(), web.MaxBody(maxNotice), web.RawBody("application/json"), web.Refuses(400), web.Returns[writeapi.SuccessResponse](web.MaySend("x-recital-position"))}
	return []web.Route{
		web.Post("/payments/subscribe", a.subscribe, shown, tag, web.Summary("Subscribe to a plan"),
			web.Description("The subscription is incomplete until its first invoice is paid with the `client_secret`. Until then a repetition answers with the same."),
			web.Returns[subscribeResponse](noStore), web.Refuses(400, 402, 404)),
		web.Post("/payments/change-plan", a.changePlan, shown, tag, web.Summary("Change the plan"),
			web.Description("A dearer plan is charged proportionately and begins now; a cheaper one begins with the next period."),
			web.Returns[changePlanResponse](noStore), web.Refuses(400, 402, 404)),
		web.Post("/payments/cancel-scheduled-change", a.dropScheduledChange, shown, tag, done, web.Summary("Keep the plan, in place of a change that is scheduled"), web.Refuses(400)),
		web.Post("/payments/cancel", a.cancel, shown, tag, web.Summary("End the subscription with its period"), web.Returns[cancelResponse](noStore), web.Refuses(400)),
		web.Post("/payments/uncancel", a.uncancel, shown, tag, done, web.Summary("Go on with a subscription that was to end"), web.Refuses(400)),
		web.Post("/payments/setup-intent", a.createSetup, shown, tag, web.Summary("Begin to register a card"), web.Returns[setupIntentResponse](noStore), web.Refuses(400)),
		web.Post("/payments/payment-method/replace", a.replaceCard, shown, tag, web.Summary("Pay with another card from now on"),
			web.Returns[paymentMethodResponse](noStore), web.Refuses(400, 402, 404)),
		web.Post("/payments/webhook", a.notice, append(notice, web.Summary("Notices of the payment provider"))...),
		web.Post("/payments/webhook/analytics", a.analytics, append(notice, web.Summary("Notices of the payment provider's analytics"))...),
	}
}

type priceRequest struct {
	web.IdempotencyKey
	PriceID string `body:"price_id" required:"true" minlen:"1" maxlen:"255"`
}

type plainRequest struct{ web.IdempotencyKey }

type cardRequest struct {
	web.IdempotencyKey
	PaymentMethodID string `body:"payment_method_id" required:"true" minlen:"1" maxlen:"255"`
}

type subscribeResponse struct {
	SubscriptionID  string           `json:"subscription_id"`
	ClientSecret    string           `json:"client_secret"`
	Amount          int64            `json:"amount" doc:"of the first invoice, in minor units of the currency"`
	Currency        string           `json:"currency"`
	AppliedDiscount *appliedDiscount `json:"applied_discount"`
}

type appliedDiscount struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type changePlanResponse struct {
	Kind        string `json:"kind" literal:"upgraded,downgrade_scheduled"`
	EffectiveAt int64  `json:"effective_at"` // Unix seconds
}

type cancelResponse struct {
	CancelAt int64 `json:"cancel_at"` // Unix seconds
}

type uncancelResponse struct {
	Success bool `json:"success"`
}

type setupIntentResponse struct {
	ClientSecret string `json:"client_secret"`
}

type paymentMethodResponse struct {
	Brand string `json:"brand"`
	Last4 string `json:"last4"`
}
