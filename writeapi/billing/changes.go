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

func (a *API) subscribe(call *web.Call, in priceRequest) (web.Reply, error) {
	r, err := web.RepetitionOf(call, in)
	if err != nil {
		return web.Reply{}, err
	}
	made, err := a.Billing.Subscribe(call, call.Principal.Account, in.PriceID, r, writeapi.Origin(call.Caller))
	response := subscribeResponse{SubscriptionID: made.Subscription, ClientSecret: made.ClientSecret, Amount: made.Amount,
		Currency: made.Currency}
	if made.Discount != nil {
		response.AppliedDiscount = &appliedDiscount{Name: made.Discount.Name, Description: made.Discount.Description}
	}
	return a.answer(call, web.JSON(response), made.Position, err)
}

func (a *API) changePlan(call *web.Call, in changePlanRequest) (web.Reply, error) {
	if in.Preview {
		return a.previewChange(call, in.PriceID)
	}
	r, err := web.RepetitionOf(call, in)
	if err != nil {
		return web.Reply{}, err
	}
	changed, err := a.Billing.ChangePlan(call, call.Principal.Account, in.PriceID, r, writeapi.Origin(call.Caller))
	return a.answer(call, web.JSON(responseOf(changed)), changed.Position, err)
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

func (a *API) dropScheduledChange(call *web.Call, in plainRequest) (web.Reply, error) {
	r, err := web.RepetitionOf(call, in)
	if err != nil {
		return web.Reply{}, err
	}
	position, err := a.Billing.DropScheduledChange(call, call.Principal.Account, r, writeapi.Origin(call.Caller))
	return a.answer(call, web.JSON(uncancelResponse{Success: true}), position, err)
}

func (a *API) cancel(call *web.Call, in plainRequest) (web.Reply, error) {
	r, err := web.RepetitionOf(call, in)
	if err != nil {
		return web.Reply{}, err
	}
	cancelled, err := a.Billing.Cancel(call, call.Principal.Account, r, writeapi.Origin(call.Caller))
	return a.answer(call, web.JSON(cancelResponse{SubscriptionID: cancelled.Subscription,
		CancelAt: cancelled.At.Unix()}), cancelled.Position, err)
}

func (a *API) uncancel(call *web.Call, in plainRequest) (web.Reply, error) {
	r, err := web.RepetitionOf(call, in)
	if err != nil {
		return web.Reply{}, err
	}
	position, err := a.Billing.Uncancel(call, call.Principal.Account, r, writeapi.Origin(call.Caller))
	return a.answer(call, web.JSON(uncancelResponse{Success: true}), position, err)
}

func (a *API) createSetup(call *web.Call, in plainRequest) (web.Reply, error) {
	r, err := web.RepetitionOf(call, in)
	if err != nil {
		return web.Reply{}, err
	}
	begun, err := a.Billing.CreateSetup(call, call.Principal.Account, r, writeapi.Origin(call.Caller))
	return a.answer(call, web.JSON(setupIntentResponse{ClientSecret: begun.ClientSecret}), begun.Position, err)
}

func (a *API) replaceCard(call *web.Call, in cardRequest) (web.Reply, error) {
	r, err := web.RepetitionOf(call, in)
	if err != nil {
		return web.Reply{}, err
	}
	card, err := a.Billing.ReplaceCard(call, call.Principal.Account, in.PaymentMethodID, r, writeapi.Origin(call.Caller))
	return a.answer(call, web.JSON(paymentMethodResponse{Brand: card.Brand, Last4: card.Last4}), card.Position, err)
}

// answer replies once the read models show the change.
func (a *API) answer(call *web.Call, reply web.Reply, position eventlog.Position, err error) (web.Reply, error) {
	if errors.Is(err, domain.ErrKeyReused) {
		return web.Reply{}, call.Invalid("idempotency-key", "the key was used for a request with other content")
	}
	var declined *billing.DeclinedError
	if errors.As(err, &declined) {
		if declined.Position != (eventlog.Position{}) {
			writeapi.AwaitVisible(call, a.ReadModels, declined.Position)
		}
		return web.Reply{}, &web.Error{
			Status: http.StatusPaymentRequired, Message: declined.Error(), Code: declined.Code,
			ClientSecret: declined.ClientSecret,
		}
	}
	if err != nil {
		return web.Reply{}, err
	}
	writeapi.AwaitVisible(call, a.ReadModels, position)
	return reply.WithHeader("Cache-Control", "no-store"), nil
}
