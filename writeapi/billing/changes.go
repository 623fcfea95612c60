package billing

import (
	"errors"
	"net/http"

	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

// repeatable returns the handler of a change that a client may repeat with an Idempotency-Key. It replies once the read
// models show the change.
func repeatable[In web.Repeatable](
	a *API, change func(*web.Call, In, domain.Repetition) (response any, at eventlog.Position, err error),
) func(*web.Call, In) (web.Reply, error) {
	return func(call *web.Call, in In) (web.Reply, error) {
		r, err := web.RepetitionOf(call, in)
		if err != nil {
			return web.Reply{}, err
		}
		response, position, err := change(call, in, r)
		if err != nil {
			return web.Reply{}, a.refusal(call, err)
		}
		writeapi.AwaitVisible(call, a.ReadModels, position)
		return web.JSON(response).WithHeader("Cache-Control", "no-store"), nil
	}
}

// refusal returns a client's error. A declined payment may have changed the read models, too.
func (a *API) refusal(call *web.Call, err error) error {
	var declined *billing.DeclinedError
	switch {
	case errors.Is(err, domain.ErrKeyReused):
		return call.Invalid("idempotency-key", "the key was used for a request with other content")
	case !errors.As(err, &declined):
		return err
	case declined.Position != (eventlog.Position{}):
		writeapi.AwaitVisible(call, a.ReadModels, declined.Position)
	}
	return &web.Error{
		Status: http.StatusPaymentRequired, Message: declined.Error(), Code: declined.Code,
		ClientSecret: declined.ClientSecret,
	}
}

func (a *API) subscribe(call *web.Call, in priceRequest, r domain.Repetition) (any, eventlog.Position, error) {
	made, err := a.Billing.Subscribe(call, call.Principal.Account, in.PriceID, r, writeapi.Origin(call.Caller))
	response := subscribeResponse{SubscriptionID: made.Subscription, ClientSecret: made.ClientSecret, Amount: made.Amount,
		Currency: made.Currency}
	if made.Discount != nil {
		response.AppliedDiscount = &appliedDiscount{Name: made.Discount.Name, Description: made.Discount.Description}
	}
	return response, made.Position, err
}

// changePlan changes the plan, or only previews the change.
func (a *API) changePlan(call *web.Call, in changePlanRequest) (web.Reply, error) {
	if in.Preview {
		return a.previewChange(call, in.PriceID)
	}
	return repeatable(a, func(
		call *web.Call, in changePlanRequest, r domain.Repetition,
	) (any, eventlog.Position, error) {
		changed, err := a.Billing.ChangePlan(call, call.Principal.Account, in.PriceID, r, writeapi.Origin(call.Caller))
		return responseOf(changed), changed.Position, err
	})(call, in)
}

func responseOf(changed billing.PlanChange) changePlanResponse {
	response := changePlanResponse{Kind: "upgraded", EffectiveAt: changed.EffectiveAt.Unix()}
	if changed.Downgrade {
		response.Kind = "downgrade_scheduled"
	}
	return response
}

func (a *API) previewChange(call *web.Call, price string) (web.Reply, error) {
	preview, err := a.Billing.PreviewChange(call, call.Principal.Account, price)
	if err != nil {
		return web.Reply{}, err
	}
	response := responseOf(preview.PlanChange)
	response.Preview = &changePreview{
		AmountDue: preview.Charge.AmountDue, Currency: preview.Charge.Currency, Lines: []previewLine{},
	}
	for _, line := range preview.Charge.Lines {
		response.Preview.Lines = append(response.Preview.Lines, previewLine(line))
	}
	return web.JSON(response).WithHeader("Cache-Control", "no-store"), nil
}

func (a *API) dropScheduledChange(
	call *web.Call, _ plainRequest, r domain.Repetition,
) (any, eventlog.Position, error) {
	position, err := a.Billing.DropScheduledChange(call, call.Principal.Account, r, writeapi.Origin(call.Caller))
	return uncancelResponse{Success: true}, position, err
}

func (a *API) cancel(call *web.Call, _ plainRequest, r domain.Repetition) (any, eventlog.Position, error) {
	done, err := a.Billing.Cancel(call, call.Principal.Account, r, writeapi.Origin(call.Caller))
	return cancelResponse{SubscriptionID: done.Subscription, CancelAt: done.At.Unix()}, done.Position, err
}

func (a *API) uncancel(call *web.Call, _ plainRequest, r domain.Repetition) (any, eventlog.Position, error) {
	position, err := a.Billing.Uncancel(call, call.Principal.Account, r, writeapi.Origin(call.Caller))
	return uncancelResponse{Success: true}, position, err
}

func (a *API) createSetup(call *web.Call, _ plainRequest, r domain.Repetition) (any, eventlog.Position, error) {
	begun, err := a.Billing.CreateSetup(call, call.Principal.Account, r, writeapi.Origin(call.Caller))
	return setupIntentResponse{ClientSecret: begun.ClientSecret}, begun.Position, err
}

func (a *API) replaceCard(call *web.Call, in cardRequest, r domain.Repetition) (any, eventlog.Position, error) {
	card, err := a.Billing.ReplaceCard(call, call.Principal.Account, in.PaymentMethodID, r, writeapi.Origin(call.Caller))
	return paymentMethodResponse{Brand: card.Brand, Last4: card.Last4}, card.Position, err
}
