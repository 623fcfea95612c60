package sandbox

import (
	"math"
	"time"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/form"
)

func updateSubscription(w *work) (any, error) {
	s, err := find[subscription](w, w.id)
	if err != nil {
		return nil, err
	}
	if s.over() {
		return nil, invalid("", "", "A canceled subscription can only update its cancellation_details and metadata.")
	}
	w.mergeMetadata(&s.base)
	if err := w.setDetails(s); err != nil {
		return nil, err
	}
	if err := w.setCancellation(s); err != nil {
		return nil, err
	}
	wanted, err := w.wantedItem(s)
	if err != nil {
		return nil, err
	}
	return w.change(s, wanted)
}

// wantedItem returns what a request says of a subscription's item.
func (w *work) wantedItem(s *subscription) (*form.Form, error) {
	if !w.form.Has("items") {
		return w.form.Sub("items"), nil
	}
	wanted, err := oneItem(w.form)
	if err == nil && wanted.Required("id") != s.item().ID {
		return nil, invalid("resource_missing", "items[0][id]", "No such subscription_item: '%s'", wanted.String("id"))
	}
	return wanted, err
}

// change changes a subscription's item, and bills that now if the request wants it.
func (w *work) change(s *subscription, wanted *form.Form) (any, error) {
	change, err := w.readChange(s, wanted)
	if err != nil {
		return nil, err
	}
	bill, err := w.changeItem(s, change)
	switch {
	case err != nil:
		return nil, err
	case !bill:
		return w.saved(s, "customer.subscription.updated")
	}
	refusal, err := w.billNow(s)
	switch {
	case err != nil:
		return nil, err
	case refusal != nil && change.payment == errorIfIncomplete:
		return nil, refusal
	}
	if s, err = find[subscription](w, s.ID); err != nil {
		return nil, err
	}
	return s, w.emit("customer.subscription.updated", s)
}

// setCancellation sets when a subscription is to end, if the request says so.
func (w *work) setCancellation(s *subscription) error {
	if !w.form.Has("cancel_at_period_end") && !w.form.Has("cancel_at") {
		return nil
	}
	if s.Schedule != "" {
		return invalid("", "cancel_at_period_end", "The subscription is managed by the subscription schedule `%s`, and updating any "+
			"cancelation behavior directly is not allowed. Please update the schedule instead.", s.Schedule)
	}
	s.CancelAtPeriodEnd = w.form.Bool("cancel_at_period_end", false)
	s.CancelAt, s.CanceledAt, s.CancellationDetails = at(w.form.Time("cancel_at")), 0, cancellationDetails{}
	if s.CancelAtPeriodEnd {
		s.CancelAt = s.item().CurrentPeriodEnd
	}
	if s.CancelAt != 0 {
		s.CanceledAt, s.CancellationDetails.Reason = at(w.now), "cancellation_requested"
	}
	return nil
}

// itemChange is how a subscription's item is to change.
type itemChange struct {
	price     *price
	quantity  int64
	proration string
	payment   string
	when      time.Time // from which the change counts
}

const (
	createProrations = "create_prorations"
	alwaysInvoice    = "always_invoice"
	noProration      = "none"
)

func (w *work) readChange(s *subscription, wanted *form.Form) (itemChange, error) {
	c := itemChange{
		quantity:  wanted.Int("quantity", s.item().Quantity),
		proration: w.form.Enum("proration_behavior", createProrations, alwaysInvoice, noProration),
		payment:   w.form.Enum("payment_behavior", allowIncomplete, errorIfIncomplete, defaultIncomplete),
		when:      w.form.Time("proration_date"),
	}
	w.form.Enum("billing_cycle_anchor", "unchanged")
	w.form.Bool("off_session", false)
	id := string(s.item().Price)
	if p := wanted.String("price"); p != "" && p != id {
		if _, err := w.recurringPrice(p); err != nil {
			return c, err
		}
		id = p
	}
	if c.when.IsZero() {
		c.when = w.now
	}
	var err error
	c.price, err = find[price](w, id)
	return c, err
}

// changeItem changes a subscription's item and prorates the rest of the period to the second. It reports whether the
// prorations are to be billed now.
func (w *work) changeItem(s *subscription, c itemChange) (bill bool, err error) {
	item := s.item()
	if c.price.ID == string(item.Price) && c.quantity == item.Quantity {
		return false, nil
	}
	before, err := find[price](w, string(item.Price))
	if err != nil {
		return false, err
	}
	switch {
	case s.Status == "incomplete":
		return false, invalid("", "items", "The subscription is incomplete: its items cannot change before its first invoice is paid.")
	case *before.Recurring != *c.price.Recurring || before.Currency != c.price.Currency:
		return false, invalid("", "items[0][price]", "The sandbox knows changes to prices of the same interval and currency only.")
	}
	charged, rest := s.Charged, s.rest(c.when)
	item.Price, item.Quantity = text(c.price.ID), c.quantity
	full := c.price.UnitAmount * c.quantity
	discounted, _, err := w.off(s, full, false)
	if err != nil {
		return false, err
	}
	s.Charged = full - discounted
	if err := w.save(s); err != nil {
		return false, err
	}
	if err := w.phaseHasItem(s); err != nil || c.proration == noProration {
		return false, err
	}
	if err := w.prorate(s, before, c.when, -share(charged, rest), "Unused time on "); err != nil {
		return false, err
	}
	return c.proration == alwaysInvoice, w.prorate(s, c.price, c.when, share(s.Charged, rest), "Remaining time on ")
}

// rest returns how much of the subscription's period is left at a time.
func (s *subscription) rest(when time.Time) float64 {
	begin, end := s.item().CurrentPeriodStart.time(), s.item().CurrentPeriodEnd.time()
	left := float64(end.Sub(when)) / float64(end.Sub(begin))
	return min(1, max(0, left))
}

func share(amount int64, of float64) int64 { return int64(math.Round(float64(amount) * of)) }

// prorate adds what the rest of a period costs, or what is given back for it, to what waits for the next invoice. Discounts
// are in the amount already.
func (w *work) prorate(s *subscription, p *price, from time.Time, amount int64, what string) error {
	of, err := find[product](w, string(p.Product))
	if err != nil {
		return err
	}
	b, err := w.newBase("ii", "invoiceitem")
	if err != nil {
		return err
	}
	b.Metadata = map[string]string{}
	item := &invoiceItem{
		base: b, Amount: amount, Currency: s.Currency, Customer: s.Customer, Date: at(w.now), Discounts: []string{},
		Description: text(what + of.Name + " after " + from.Format("02 Jan 2006")), NetAmount: amount,
		Parent: subscriptionParent(s), Period: period{Start: at(from), End: s.item().CurrentPeriodEnd},
		Pricing: p.pricing(), Proration: true, Quantity: s.item().Quantity,
	}
	return w.update(item, "invoiceitem.created")
}

// billNow bills what waits for a subscription's next invoice, and returns why the payment was declined.
func (w *work) billNow(s *subscription) (*problem, error) {
	i, err := w.newInvoice(string(s.Customer), s.Currency, reasonUpdate, s)
	if err != nil {
		return nil, err
	}
	if err := w.addPending(i); err != nil || len(i.Lines.Data) == 0 {
		return nil, err
	}
	if err := w.sum(i); err != nil {
		return nil, err
	}
	s.LatestInvoice = text(i.ID)
	if err := w.save(s); err != nil {
		return nil, err
	}
	if err := w.update(i, "invoice.created"); err != nil {
		return nil, err
	}
	return w.finalizeAndCollect(i.ID)
}
