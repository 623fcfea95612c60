package billing

import (
	"errors"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/writeapi"
)

type noticeRequest struct {
	Body      []byte `raw:"body" example:"{\"id\": \"evt_1\", \"type\": \"invoice.paid\"}"`
	Signature string `header:"stripe-signature" doc:"The signature of the notice, in the form of Stripe: t=…,v1=…." example:"t=1732000000,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd"`
}

// record returns a handler that replies when a notice is in the log. The content is not read before it is verified.
func (a *API) record(by payments.Notice, analytics bool) func(*web.Call, noticeRequest) (web.Reply, error) {
	return func(call *web.Call, in noticeRequest) (web.Reply, error) {
		event, err := by.Verify(in.Body, in.Signature, time.Now())
		if errors.Is(err, payments.ErrForged) {
			return web.Reply{}, domain.Refuse(domain.Invalid, "The notice is not signed by the payment provider, or not now")
		}
		if errors.Is(err, payments.ErrMalformed) {
			a.Billing.Logger.WarnContext(call, "a signed notice of the payment provider cannot be read", "error", err)
			return web.Reply{}, domain.Refuse(domain.Invalid, "The notice is signed, but does not contain an event")
		}
		if err != nil {
			return web.Reply{}, err
		}
		position, err := a.Billing.RecordNotice(call, event, analytics)
		return writeapi.Recorded(call, writeapi.SuccessResponse{Success: true}, position, err)
	}
}
