package sandbox

import (
	"time"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/form"
)

// An incomplete subscription expires after 23 hours.
const incompleteFor = 23 * time.Hour

// subscription is a product that a customer pays for again and again.
type subscription struct {
	base
	BillingCycleAnchor   unix                `json:"billing_cycle_anchor"`
	BillingMode          billingMode         `json:"billing_mode"`
	CancelAt             unix                `json:"cancel_at"`
	CancelAtPeriodEnd    bool                `json:"cancel_at_period_end"`
	CanceledAt           unix                `json:"canceled_at"`
	CancellationDetails  cancellationDetails `json:"cancellation_details"`
	CollectionMethod     string              `json:"collection_method"`
	Currency             string              `json:"currency"`
	Customer             text                `json:"customer"`
	DefaultPaymentMethod text                `json:"default_payment_method"`
	Description          text                `json:"description"`
	Discounts            []string            `json:"discounts"`
	EndedAt              unix                `json:"ended_at"`
	Items                items               `json:"items"`
	LatestInvoice        text                `json:"latest_invoice"`
	PaymentSettings      paymentSettings     `json:"payment_settings"`
	PendingSetupIntent   text                `json:"pending_setup_intent"`
	Schedule             text                `json:"schedule"`
	StartDate            unix                `json:"start_date"`
	Status               string              `json:"status"`
	TrialEnd             unix                `json:"trial_end"`
	TrialStart           unix                `json:"trial_start"`
	Charged              int64               `json:"sandbox_charged"` // for the whole period, by the prices of now
}

type billingMode struct {
	Type string `json:"type"`
}

type cancellationDetails struct {
	Comment  text `json:"comment"`
	Feedback text `json:"feedback"`
	Reason   text `json:"reason"`
}

type paymentSettings struct {
	SaveDefaultPaymentMethod string   `json:"save_default_payment_method"`
	PaymentMethodTypes       []string `json:"payment_method_types"`
}

// items is the list of a subscription's items. The sandbox has one for each.
type items struct {
	Object     string  `json:"object"`
	URL        string  `json:"url"`
	HasMore    bool    `json:"has_more"`
	TotalCount int     `json:"total_count"`
	Data       []*item `json:"data"`
}

type item struct {
	ID                 string            `json:"id"`
	Object             string            `json:"object"`
	Created            unix              `json:"created"`
	CurrentPeriodStart unix              `json:"current_period_start"`
	CurrentPeriodEnd   unix              `json:"current_period_end"`
	Discounts          []string          `json:"discounts"`
	Metadata           map[string]string `json:"metadata"`
	Price              text              `json:"price"` // shown as an object
	Quantity           int64             `json:"quantity"`
	Subscription       string            `json:"subscription"`
}

func (*subscription) kind() string { return "sub" }

// Owner implements store.Object.
func (s *subscription) Owner() string { return string(s.Customer) }

// Due implements store.Object.
func (s *subscription) Due() time.Time {
	switch {
	case s.over():
		return time.Time{}
	case s.Status == "incomplete":
		return s.Created.time().Add(incompleteFor)
	case s.CancelAt != 0 && s.CancelAt < s.item().CurrentPeriodEnd:
		return s.CancelAt.time()
	}
	return s.item().CurrentPeriodEnd.time()
}

// over reports whether the subscription has ended.
func (s *subscription) over() bool { return s.Status == canceled || s.Status == "incomplete_expired" }

func (s *subscription) item() *item { return s.Items.Data[0] }

func (s *subscription) period() period {
	return period{Start: s.item().CurrentPeriodStart, End: s.item().CurrentPeriodEnd}
}

// next returns the end of a period of a price that begins at a time, where the periods count from an anchor.
func (r *recurring) next(anchor, begin time.Time) time.Time {
	count := int(r.IntervalCount)
	for n := count; ; n += count {
		if end := r.after(anchor, n); end.After(begin) {
			return end
		}
	}
}

func (r *recurring) after(t time.Time, n int) time.Time {
	switch r.Interval {
	case "year":
		return addMonths(t, 12*n)
	case "month":
		return addMonths(t, n)
	case "week":
		return t.AddDate(0, 0, 7*n)
	}
	return t.AddDate(0, 0, n)
}

// recurringPrice returns a price that a subscription can have.
func (w *work) recurringPrice(id string) (*price, error) {
	p, err := find[price](w, id)
	switch {
	case err != nil:
		return nil, err
	case !p.Active:
		return nil, invalid("", "items[0][price]", "The price specified is inactive. This field only accepts active prices.")
	case p.Recurring == nil:
		return nil, invalid("", "items[0][price]", "The price specified is set to `type=one_time` but this field only accepts prices with `type=recurring`.")
	}
	return p, nil
}

// oneItem returns the only item of a list; the sandbox knows no others.
func oneItem(of *form.Form) (*form.Form, error) {
	all := of.List("items")
	if len(all) != 1 {
		return nil, invalid("parameter_missing", "items", "The sandbox knows subscriptions with one item only.")
	}
	return all[0], nil
}

// setDetails sets what a request says of a subscription apart from its item.
func (w *work) setDetails(s *subscription) error {
	if w.form.Has("payment_settings") {
		settings := w.form.Sub("payment_settings")
		s.PaymentSettings.SaveDefaultPaymentMethod = settings.Enum("save_default_payment_method", "off", "on_subscription")
		settings.Strings("payment_method_types")
	}
	if w.form.Has("description") {
		s.Description = text(w.form.String("description"))
	}
	if id := w.form.String("default_payment_method"); id != "" {
		m, err := w.attached(id, string(s.Customer))
		if err != nil {
			return err
		}
		s.DefaultPaymentMethod = text(m.ID)
	}
	for _, d := range w.form.List("discounts") {
		given, err := w.redeem(d.Required("coupon"), s)
		if err != nil {
			return err
		}
		s.Discounts = []string{given.ID}
	}
	return nil
}

func listSubscriptions(w *work) (any, error) {
	status, created, priceID := w.form.String("status"), w.created(), w.form.String("price")
	return page(w, w.form.String("customer"), func(s *subscription) bool {
		return s.isIn(status) && created(s.Created) && (priceID == "" || string(s.item().Price) == priceID)
	})
}

// isIn reports whether the subscription is in a list by status: "" is all that have not ended.
func (s *subscription) isIn(status string) bool {
	switch status {
	case "":
		return s.Status != canceled
	case "all":
		return true
	case "ended":
		return s.over()
	}
	return s.Status == status
}
