package billing

import (
	"errors"
	"fmt"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// refused reports whether the provider has refused a request, which has ended with that.
func refused(err error) bool {
	code := domain.CodeOf(err)
	return code == domain.PaymentRequired || code == domain.NotFound || code == domain.Rejected
}

// reasonOf returns why the provider has refused something, "" for an error after which it may still have been done.
func reasonOf(err error) subscription.Reason {
	switch {
	case errors.Is(err, payments.ErrDeclined):
		return subscription.Declined
	case errors.Is(err, payments.ErrNotFound):
		return subscription.NotThere
	case errors.Is(err, payments.ErrRejected):
		return subscription.Forbidden
	}
	return ""
}

// Refusals of the provider.
var (
	errDeclined = domain.Refuse(domain.PaymentRequired, "The payment was declined")
	errNotThere = domain.Refuse(domain.NotFound, "The payment provider does not know the object")
	errRejected = domain.Refuse(domain.Rejected, "The payment provider does not permit it")
	errAway     = domain.Refuse(domain.Unavailable, "The payment provider does not answer")
)

func refusalOf(reason subscription.Reason) error {
	switch reason {
	case "":
		return nil
	case subscription.Declined:
		return errDeclined
	case subscription.NotThere:
		return errNotThere
	}
	return errRejected
}

// refusal returns what a client gets for an error of the gateway.
func refusal(err error) error {
	if reason := reasonOf(err); reason != "" {
		return refusalOf(reason)
	}
	if errors.Is(err, payments.ErrUnavailable) {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	return err
}
