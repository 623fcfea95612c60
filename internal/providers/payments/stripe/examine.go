package stripe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// followed lists the types of events that change billing. All others are ignored.
var followed = kinds(
	stripe.EventTypeCustomerUpdated, stripe.EventTypeCustomerDeleted, stripe.EventTypeCustomerSubscriptionCreated,
	stripe.EventTypeCustomerSubscriptionUpdated, stripe.EventTypeCustomerSubscriptionDeleted,
	stripe.EventTypeCustomerSubscriptionPaused, stripe.EventTypeCustomerSubscriptionResumed,
	stripe.EventTypeCustomerSubscriptionPendingUpdateApplied, stripe.EventTypeCustomerSubscriptionPendingUpdateExpired,
	stripe.EventTypeSubscriptionScheduleCreated, stripe.EventTypeSubscriptionScheduleUpdated,
	stripe.EventTypeSubscriptionScheduleReleased, stripe.EventTypeSubscriptionScheduleCanceled,
	stripe.EventTypeSubscriptionScheduleCompleted, stripe.EventTypeSubscriptionScheduleAborted,
	stripe.EventTypeInvoiceCreated, stripe.EventTypeInvoiceFinalized, stripe.EventTypeInvoicePaid,
	stripe.EventTypeInvoicePaymentFailed, stripe.EventTypeInvoicePaymentActionRequired, stripe.EventTypeInvoiceUpdated,
	stripe.EventTypeInvoiceVoided, stripe.EventTypeInvoiceMarkedUncollectible,
	stripe.EventTypePaymentMethodAttached, stripe.EventTypePaymentMethodDetached, stripe.EventTypePaymentMethodUpdated,
	stripe.EventTypePaymentMethodAutomaticallyUpdated, stripe.EventTypeSetupIntentSucceeded,
	stripe.EventTypeChargeRefunded, stripe.EventTypeRefundCreated, stripe.EventTypeRefundUpdated,
	stripe.EventTypeRefundFailed, stripe.EventTypeChargeDisputeCreated, stripe.EventTypeChargeDisputeUpdated,
	stripe.EventTypeChargeDisputeClosed, stripe.EventTypeChargeDisputeFundsWithdrawn,
	stripe.EventTypeChargeDisputeFundsReinstated,
	stripe.EventTypePriceCreated, stripe.EventTypePriceUpdated, stripe.EventTypePriceDeleted,
	stripe.EventTypeProductCreated, stripe.EventTypeProductUpdated, stripe.EventTypeProductDeleted,
)

func kinds(of ...stripe.EventType) (names []string) {
	for _, kind := range of {
		names = append(names, string(kind))
	}
	return names
}

// readable has the lists that billing reads, or reads objects of. A list that a stand-in lacks is not a flaw.
var readable = []string{
	"customers", "products", "prices", "subscriptions", "subscription_schedules", "invoices", "invoiceitems", "charges",
	"disputes", "refunds", "setup_intents", "payment_intents", "events",
}

// Examine checks the account and returns the results. url is the address for notices; "" skips the endpoints.
func (g *Gateway) Examine(ctx context.Context, url string) ([]health.Result, error) {
	lacks, err := g.lackingPermissions(ctx, readable...)
	if err != nil {
		return nil, err
	}
	results := []health.Result{{Check: "the key may read what billing needs", State: health.OK, Found: g.mode()}}
	if len(lacks) > 0 {
		results[0].State = health.Fault
		results[0].Found = "it lacks " + strings.Join(lacks, ", ")
		results[0].Advice = "give the restricted key these permissions, at the payment provider"
	}
	if url != "" {
		results = append(results, g.examineEndpoint(ctx, url))
	}
	return append(results, g.examinePrices(ctx)), nil
}

// mode returns whether the key moves money.
func (g *Gateway) mode() string {
	if strings.Contains(g.key, "_test_") {
		return "a key of test mode"
	}
	return "a live key"
}

// lackingPermissions returns the missing permissions for lists, by the provider's names. It does not report to the
// circuit breaker, because a missing permission is not an outage.
func (g *Gateway) lackingPermissions(ctx context.Context, lists ...string) (lacks []string, err error) {
	for _, name := range lists {
		var r *refusal
		err := understand(ctx, g.probe(ctx, "/v1/"+name))
		switch {
		case !errors.As(err, &r):
		case r.permission != "":
			lacks = append(lacks, r.permission)
		case r.status == http.StatusForbidden:
			lacks = append(lacks, "read "+name)
		case errors.Is(err, ErrKey), r.status == 0, r.status >= http.StatusInternalServerError:
			return nil, err
		}
	}
	slices.Sort(lacks)
	return slices.Compact(lacks), nil
}

// firstOf has the parameters for a list with one element.
type firstOf struct {
	stripe.Params `form:"*"`
	Limit         *int64 `form:"limit"`
}

// probe reads the first object of a list.
func (g *Gateway) probe(ctx context.Context, path string) error {
	var ignored struct{ stripe.APIResource }
	params := &firstOf{Params: stripe.Params{Context: ctx}, Limit: stripe.Int64(1)}
	return g.backend.Call(http.MethodGet, path, g.key, params, &ignored)
}

func (g *Gateway) examineEndpoint(ctx context.Context, url string) health.Result {
	r := health.Result{Check: "notices are sent to " + url, State: health.Warning}
	const setup = "run recitalctl payments setup"
	lacks, err := g.lackingPermissions(ctx, "webhook_endpoints")
	if err == nil && len(lacks) > 0 {
		r.Found = "it cannot be seen: the key lacks " + strings.Join(lacks, ", ")
		r.Advice = "look at the provider's dashboard, or check with another key"
		return r
	}
	there, err := g.endpoints(ctx, url)
	switch {
	case err != nil:
		r.Found, r.Advice = err.Error(), "try again later"
	case len(there) == 0:
		r.Found, r.Advice = "there is no endpoint, so that changes are only seen within the hour", setup
	case lacking(there[0]) != "":
		r.Found, r.Advice = lacking(there[0]), setup
	default:
		r.State, r.Found = health.OK, there[0].ID
	}
	return r
}

func (g *Gateway) examinePrices(ctx context.Context) health.Result {
	r := health.Result{Check: "plans are on sale", State: health.Warning}
	onSale, err := g.Prices(ctx)
	n := 0
	for _, p := range onSale {
		if p.Metadata[payments.MetadataPlan] != "" {
			n++
		}
	}
	switch {
	case err != nil:
		r.Found, r.Advice = err.Error(), "try again later"
	case n == 0:
		r.Found, r.Advice = "no monthly price names a plan in its metadata", "run recitalctl payments setup --catalogue FILE"
	default:
		r.State, r.Found = health.OK, fmt.Sprintf("%d prices", n)
	}
	return r
}
