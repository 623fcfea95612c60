package sandbox

import (
	"fmt"
	"net/http"
)

// problem is an error of the API. As an error it undoes what the request did; as an answer it leaves it.
type problem struct {
	status int

	Type          string         `json:"type"`
	Code          string         `json:"code,omitempty"`
	DeclineCode   string         `json:"decline_code,omitempty"`
	Message       string         `json:"message"`
	Param         string         `json:"param,omitempty"`
	Charge        string         `json:"charge,omitempty"`
	PaymentIntent *paymentIntent `json:"payment_intent,omitempty"`
	SetupIntent   *setupIntent   `json:"setup_intent,omitempty"`
}

func (p *problem) Error() string { return p.Message }

func invalid(code, param, format string, args ...any) *problem {
	return &problem{
		status: http.StatusBadRequest, Type: "invalid_request_error",
		Code: code, Param: param, Message: fmt.Sprintf(format, args...),
	}
}

// missing is an object that does not exist: 404 if it is the one of the path, and 400 if a parameter names it.
func (w *work) missing(kind, id string) *problem {
	p := invalid("resource_missing", "id", "No such %s: '%s'", nameOf(kind), id)
	if id == w.id {
		p.status = http.StatusNotFound
	}
	return p
}

// nameOf returns what Stripe calls objects of a kind.
func nameOf(kind string) string {
	return map[string]string{
		"cus": "customer", "prod": "product", "price": "price", couponKind: "coupon", "sub": "subscription",
		"si": "subscription_item", scheduleKind: "subscription_schedule", "in": "invoice", "ii": "invoiceitem",
		"inpay": "invoice_payment", "pi": "payment_intent", "seti": "setup_intent", "pm": "payment_method", "ch": "charge",
		"re": "refund", "du": "dispute", "evt": "event", "di": "discount",
	}[kind]
}
