package billing

import (
	"errors"
	"fmt"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// refused reports whether the provider has refused, and thereby ended, a request.
func refused(err error) bool {
	code := domain.CodeOf(err)
	return code == domain.PaymentRequired || code == domain.NotFound || code == domain.Rejected
}

// unconfirmedError means that the card's owner has to confirm the payment of an invoice.
type unconfirmedError struct{ invoice string }

func (e *unconfirmedError) Error() string {
	return "the payment of invoice " + e.invoice + " has to be confirmed"
}

// refuse returns the refusal of a request by the provider. Its Reason is "" for an error after which the request may
// still have been executed.
func refuse(request string, err error) subscription.Refuse {
	r := subscription.Refuse{Request: request}
	var unconfirmed *unconfirmedError
	switch {
	case errors.As(err, &unconfirmed):
		r.Reason, r.Decline, r.Invoice = subscription.Unconfirmed, authenticationRequired, unconfirmed.invoice
	case errors.Is(err, payments.ErrDeclined):
		r.Reason, r.Decline = subscription.Declined, declineCode(payments.DeclineCode(err))
	case errors.Is(err, payments.ErrNotFound):
		r.Reason = subscription.NotThere
	case errors.Is(err, payments.ErrRejected):
		r.Reason = subscription.Forbidden
	}
	return r
}

// Codes of declined payments.
const (
	genericDecline         = "generic_decline"
	authenticationRequired = "authentication_required"
)

// declines are the messages for the codes on which the card's owner can act (https://docs.stripe.com/declines/codes).
// The user must not learn that a card was reported as lost or stolen.
var declines = map[string]string{
	authenticationRequired: "The bank asks the owner of the card to confirm the payment: confirm it, or use another card",
	genericDecline:         "The payment was declined: use another card, or ask the bank",
	"resource_missing":     "The payment was declined: there is no card, so register one",

	"insufficient_funds":              "The payment was declined: the card has insufficient funds",
	"card_velocity_exceeded":          "The payment was declined: the card is over its limit",
	"withdrawal_count_limit_exceeded": "The payment was declined: the card is over its limit",
	"expired_card":                    "The payment was declined: the card has expired, so register another one",
	"incorrect_number":                "The payment was declined: the number of the card is wrong, so register it again",
	"incorrect_cvc":                   "The payment was declined: the security code is wrong, so register the card again",
	"card_not_supported":              "The payment was declined: the card does not permit such payments",
	"currency_not_supported":          "The payment was declined: the card does not pay in this currency",
	"processing_error":                "The payment was declined: the bank could not process it, so try again later",
	"try_again_later":                 "The payment was declined: the bank could not process it, so try again later",
}

// declineCode returns a code that has a message.
func declineCode(code string) string {
	if _, known := declines[code]; known {
		return code
	}
	return genericDecline
}

// DeclinedError refuses a request whose payment was declined, as domain.PaymentRequired.
type DeclinedError struct {
	Code         string // of the card's issuer, such as "insufficient_funds"
	ClientSecret string // with which the card's owner confirms the payment; "" if that does not help
	Position     eventlog.Position
}

// Error returns a message for the card's owner.
func (e *DeclinedError) Error() string { return declines[e.Code] }

// Unwrap returns the refusal of the domain.
func (e *DeclinedError) Unwrap() error { return domain.Refuse(domain.PaymentRequired, e.Error()) }

// Refusals of the provider.
var (
	errNotThere = domain.Refuse(domain.NotFound, "The payment provider does not know the object")
	errRejected = domain.Refuse(domain.Rejected, "The payment provider does not permit it")
	errAway     = domain.Refuse(domain.Unavailable, "The payment provider does not answer")
)

func refusalOf(reason subscription.Reason, decline string, position eventlog.Position) error {
	switch reason {
	case "":
		return nil
	case subscription.Declined, subscription.Unconfirmed:
		return &DeclinedError{Code: declineCode(decline), Position: position}
	case subscription.NotThere:
		return errNotThere
	}
	return errRejected
}

// refusal returns the client's error for an error of the gateway.
func refusal(err error) error {
	if r := refuse("", err); r.Reason != "" {
		return refusalOf(r.Reason, r.Decline, eventlog.Position{})
	}
	if errors.Is(err, payments.ErrUnavailable) {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	return err
}
