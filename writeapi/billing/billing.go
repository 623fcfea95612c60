// Package billing serves the routes that change subscriptions and cards, and the routes for the payment provider's
// notices.
package billing

import (
	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/writeapi"
)

// API changes subscriptions and cards, and receives notices.
type API struct {
	Billing    *billing.Billing
	Notices    payments.Notice // verifies the provider's notices
	Analytics  payments.Notice // verifies the notices of its analytics
	ReadModels writeapi.ReadModels
}

// maxNotice is the maximum size of a notice in bytes, far above the usual one.
const maxNotice = 256 << 10

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	tag, shown := web.Tag("Payments"), web.ReadModels(readmodel.Billing, readmodel.Account)
	noStore := web.Sends("cache-control")
	done := web.Returns[uncancelResponse](noStore)
	notice := []web.Option{tag, web.Signed(), web.MaxBody(maxNotice), web.RawBody("application/json"), web.Refuses(400),
		web.Returns[writeapi.SuccessResponse](web.MaySend("x-recital-position"))}
	return []web.Route{
		web.Post("/payments/subscribe", repeatable(a, a.subscribe), shown, tag, web.Summary("Subscribe to a plan"),
			web.Description("The subscription is incomplete until its first invoice is paid with the `client_secret`. Until "+
				"then a repetition returns the same subscription."),
			web.Returns[subscribeResponse](noStore), web.Refuses(400, 402, 404)),
		web.Post("/payments/change-plan", a.changePlan, shown, tag, web.Summary("Change the plan"),
			web.Description("A more expensive plan is charged proportionately and begins now; a cheaper one begins with "+
				"the next period. If the card is declined, the plan is unchanged, and the error has the reason in `code`. With the code "+
				"`authentication_required` the bank asks the owner of the card: the plan changes once the payment is confirmed "+
				"with the `client_secret` of the error. Until then the billing overview shows it as `pending_change`, another "+
				"more expensive plan replaces it, and after 23 hours, or with the period, it lapses. With `preview=true` the "+
				"plan is unchanged: the reply describes the change, with its immediate charge as `preview`."),
			web.Returns[changePlanResponse](noStore), web.Refuses(400, 402, 404)),
		web.Post("/payments/cancel-scheduled-change", repeatable(a, a.dropScheduledChange), shown, tag, done,
			web.Summary("Keep the plan, instead of a scheduled change"),
			web.Description("Drops the change of plan that the billing overview shows as `scheduled_change`."),
			web.Refuses(400)),
		web.Post("/payments/cancel", repeatable(a, a.cancel), shown, tag, web.Summary("End the subscription with its period"),
			web.Description("The plan stays until the end of the paid period, and "+
				"`uncancel` reverses it until then."), web.Returns[cancelResponse](noStore), web.Refuses(400)),
		web.Post("/payments/uncancel", repeatable(a, a.uncancel), shown, tag, done,
			web.Summary("Resume a cancelled subscription"),
			web.Description("Reverses a cancellation that has not taken effect yet."), web.Refuses(400)),
		web.Post("/payments/setup-intent", repeatable(a, a.createSetup), shown, tag, web.Summary("Begin to register a card"),
			web.Description("The `client_secret` goes to the payment provider's form, which takes the card and returns "+
				"its `payment_method_id`."), web.Returns[setupIntentResponse](noStore), web.Refuses(400)),
		web.Post("/payments/payment-method/replace", repeatable(a, a.replaceCard), shown, tag,
			web.Summary("Pay with another card from now on"),
			web.Description("The card must have been registered with a setup intent. Subscriptions are "+
				"charged to it from then on."),
			web.Returns[paymentMethodResponse](noStore), web.Refuses(400, 402, 404)),
		web.Post("/payments/webhook", a.record(a.Notices, false), append(notice,
			web.Summary("Notices of the payment provider"),
			web.Description("The payment provider sends its events here, signed. A repeated event has no further effect, and "+
				"an event of another kind is acknowledged and ignored."))...),
		web.Post("/payments/webhook/analytics", a.record(a.Analytics, true),
			append(notice, web.Summary("Notices of the payment provider's analytics"),
				web.Description("The payment provider's analytics sends its events here, signed. They are recorded and "+
					"have no effect on accounts."))...),
	}
}

type priceRequest struct {
	web.IdempotencyKey
	PriceID string `body:"price_id" required:"true" minlen:"1" maxlen:"255" doc:"The price of the plan, as GET /payments/products lists it." example:"price_indie"`
}

type changePlanRequest struct {
	priceRequest
	Preview bool `query:"preview" default:"false" doc:"Returns the immediate charge without a change. The idempotency key is ignored then."`
}

type plainRequest struct{ web.IdempotencyKey }

type cardRequest struct {
	web.IdempotencyKey
	PaymentMethodID string `body:"payment_method_id" required:"true" minlen:"1" maxlen:"255" doc:"The id of the card at the payment provider, which its form returns." example:"pm_1234567890"`
}

type subscribeResponse struct {
	SubscriptionID  string           `json:"subscription_id" doc:"The id of the subscription at the payment provider."`
	ClientSecret    string           `json:"client_secret" doc:"Confirms the first payment in the form of the payment provider. Empty if no payment is due."`
	Amount          int64            `json:"amount" doc:"of the first invoice, in minor units of the currency"`
	Currency        string           `json:"currency" doc:"The currency, in the three letters of ISO 4217, in lower case."`
	AppliedDiscount *appliedDiscount `json:"applied_discount" doc:"The discount on the first payment, or null."`
}

type appliedDiscount struct {
	Name        string `json:"name" doc:"The name of the discount."`
	Description string `json:"description" doc:"The discount in words."`
}

type changePlanResponse struct {
	Kind        string `json:"kind" literal:"upgraded,downgrade_scheduled" doc:"upgraded immediately, or downgrade_scheduled for the end of the period."`
	EffectiveAt int64  `json:"effective_at" doc:"When the plan changes, in Unix seconds."`

	Preview *changePreview `json:"preview,omitempty" doc:"Only with preview=true: the immediate charge."`
}

type changePreview struct {
	AmountDue int64         `json:"amount_due" doc:"The immediate charge, in minor units of the currency: 0 for a cheaper plan."`
	Currency  string        `json:"currency" doc:"The currency, in the three letters of ISO 4217, in lower case."`
	Lines     []previewLine `json:"lines" doc:"The items of the amount, such as the remaining time at either price, and characters past the plan that wait for an invoice."`
}

type previewLine struct {
	Description string `json:"description" doc:"The item, in the words of the payment provider."`
	Amount      int64  `json:"amount" doc:"in minor units of the currency; negative for a credit"`
}

type cancelResponse struct {
	SubscriptionID string `json:"subscription_id" doc:"The id of the subscription that ends, at the payment provider."`
	CancelAt       int64  `json:"cancel_at" doc:"When the subscription ends, in Unix seconds."`
}

type uncancelResponse struct {
	Success bool `json:"success" doc:"Always true."`
}

type setupIntentResponse struct {
	ClientSecret string `json:"client_secret" doc:"Registers a card in the form of the payment provider."`
}

type paymentMethodResponse struct {
	Brand string `json:"brand" doc:"The brand of the card, such as visa."`
	Last4 string `json:"last4" doc:"The last four digits of the card."`
}
