package stripe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// refusal is an error of package payments with the details for an operator's look-up. It contains no text of the
// provider, which may quote the request.
type refusal struct {
	kind       error
	status     int    // 0: no answer
	code       string // the provider's code, such as "resource_missing"
	decline    string // the card issuer's code, such as "insufficient_funds"; "" for none
	permission string // missing from a restricted key, such as "rak_customer_write"
	request    string // the id in the provider's log
	replayed   bool   // the provider has given this answer before
	because    error  // if there was no answer
	after      time.Duration
}

// RetryAfter returns the time after which to retry, or 0 if that is unknown.
func (r *refusal) RetryAfter() time.Duration { return r.after }

// Error returns the kind, followed by the details in brackets.
func (r *refusal) Error() string {
	what := r.kind.Error()
	if r.isOfKey() {
		what = ErrKey.Error()
	}
	if r.because != nil {
		return what + ": " + r.because.Error()
	}
	var more []string
	if r.status != 0 {
		more = append(more, fmt.Sprint("status ", r.status))
	}
	for _, detail := range []struct{ name, value string }{
		{"code ", r.code}, {"the key lacks the permission ", r.permission}, {"request ", r.request},
	} {
		if detail.value != "" {
			more = append(more, detail.name+detail.value)
		}
	}
	if len(more) == 0 {
		return what
	}
	return what + " (" + strings.Join(more, ", ") + ")"
}

// ErrKey means that the provider does not accept the key in general or for this request.
var ErrKey = errors.New("the payment provider does not accept the key")

func (r *refusal) isOfKey() bool {
	return r.status == http.StatusUnauthorized || r.status == http.StatusForbidden
}

// DeclineCode returns the most specific code of a declined payment.
func (r *refusal) DeclineCode() string { return cmp.Or(r.decline, r.code) }

// Unwrap returns the kind, and the cause.
func (r *refusal) Unwrap() []error {
	if r.isOfKey() {
		return []error{r.kind, ErrKey}
	}
	if r.because != nil {
		return []error{r.kind, r.because}
	}
	return []error{r.kind}
}

// errNotRead means that an answer did not come from the API. It replaces the library's error, which quotes the answer.
var errNotRead = errors.New("its answer could not be read")

// understand returns the error of package payments for one of the library.
func understand(ctx context.Context, err error) error {
	var answer *stripe.Error
	var transport *url.Error
	switch {
	case err == nil, errors.As(err, new(*refusal)):
		return err
	case errors.As(err, &answer):
		return refused(answer)
	case ctx.Err() != nil:
		return &refusal{kind: payments.ErrUnavailable, because: ctx.Err()}
	case errors.As(err, &transport):
		return &refusal{kind: payments.ErrUnavailable, because: transport.Err} // without the URL
	}
	return &refusal{kind: payments.ErrUnavailable, because: errNotRead}
}

// permission matches a permission in the provider's error text, the only place with that information.
var permission = regexp.MustCompile(`\brak_[a-z_]+\b`)

func refused(answer *stripe.Error) error {
	r := &refusal{
		kind: kindOf(answer), status: answer.HTTPStatusCode, code: string(answer.Code),
		decline: string(answer.DeclineCode), request: answer.RequestID,
	}
	if answer.HTTPStatusCode == http.StatusForbidden {
		r.permission = permission.FindString(answer.Msg)
	}
	if answer.LastResponse != nil {
		r.replayed = isReplayed(answer.LastResponse)
		r.after = retryAfter(answer.LastResponse.Header)
	}
	return r
}

// kindOf returns the kind of an error by https://docs.stripe.com/error-handling. A refused key is not a fault of the
// request, which may succeed once an operator has changed the key.
func kindOf(answer *stripe.Error) error {
	switch status := answer.HTTPStatusCode; {
	case status == http.StatusPaymentRequired || answer.Type == stripe.ErrorTypeCard:
		return payments.ErrDeclined
	case answer.Code == stripe.ErrorCodeResourceMissing && status == http.StatusBadRequest && answer.Param == "":
		return payments.ErrDeclined // the customer has no payment method
	case answer.Code == stripe.ErrorCodeResourceMissing || status == http.StatusNotFound:
		return payments.ErrNotFound
	case answer.Type == stripe.ErrorTypeIdempotency && status == http.StatusBadRequest:
		return payments.ErrRejected
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusConflict,
		status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		return payments.ErrUnavailable
	}
	return payments.ErrRejected
}

// isLimited reports whether the provider refused a request because of too many.
func isLimited(err error) bool {
	r, found := errors.AsType[*refusal](err)
	return found && r.status == http.StatusTooManyRequests
}

// isDoubtful reports whether a change may have been made although the provider refused it or failed, and whether a
// repetition with the same key would only return the same failure.
func isDoubtful(err error) (doubtful, replayed bool) {
	r, found := errors.AsType[*refusal](err)
	if !found {
		return false, false
	}
	failed := r.status >= http.StatusInternalServerError
	return failed || errors.Is(err, payments.ErrNotFound) || errors.Is(err, payments.ErrRejected), failed && r.replayed
}
