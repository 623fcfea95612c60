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

// refusal is an error of package payments with the details for an operator's look-up. It contains no sentence of the
// provider's, which may quote the request.
type refusal struct {
	kind       error
	status     int    // 0: there was no answer
	code       string // the provider's, such as "resource_missing"
	decline    string // the card issuer's, such as "insufficient_funds"; "" where it says none
	permission string // that a restricted key lacks, such as "rak_customer_write"
	request    string // the id under which the provider has logged it
	replayed   bool   // the provider has given this answer before
	because    error  // where there was no answer
	after      time.Duration
}

// RetryAfter returns after which time it is worth to ask again, 0 if that is not known.
func (r *refusal) RetryAfter() time.Duration { return r.after }

// Error names the kind, and the rest in brackets.
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
	if r.code != "" {
		more = append(more, "code "+r.code)
	}
	if r.permission != "" {
		more = append(more, "the key lacks the permission "+r.permission)
	}
	if r.request != "" {
		more = append(more, "request "+r.request)
	}
	if len(more) == 0 {
		return what
	}
	return what + " (" + strings.Join(more, ", ") + ")"
}

// ErrKey means that the provider does not accept the key, or not for this request.
var ErrKey = errors.New("the payment provider does not accept the key")

func (r *refusal) isOfKey() bool {
	return r.status == http.StatusUnauthorized || r.status == http.StatusForbidden
}

// DeclineCode returns the most exact code of a payment that was declined.
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

// errNotRead means that an answer was not the API's. The library's error quotes it.
var errNotRead = errors.New("its answer could not be read")

// understand returns the error of package payments for one of the library.
func understand(ctx context.Context, err error) error {
	var known *refusal
	var answer *stripe.Error
	var transport *url.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
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

// permission is in the provider's sentence about a restricted key, and nowhere else.
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

// kindOf follows https://docs.stripe.com/error-handling. A key that is not accepted is no fault of the request: it may
// succeed once an operator has changed it.
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

// isLimited reports whether too many requests came.
func isLimited(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.status == http.StatusTooManyRequests
}

// isDoubtful reports whether a change may have been made although the provider has refused it, or has failed, and
// whether it would only fail again for the same key.
func isDoubtful(err error) (doubtful, replayed bool) {
	var r *refusal
	if !errors.As(err, &r) {
		return false, false
	}
	failed := r.status >= http.StatusInternalServerError
	return failed || errors.Is(err, payments.ErrNotFound) || errors.Is(err, payments.ErrRejected), failed && r.replayed
}
