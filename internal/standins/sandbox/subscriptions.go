package sandbox

import (
	"fmt"
	"math"
	"time"

	"github.com/recital-tts/recital/domain/money"
	"github.com/recital-tts/recital/internal/standins/sandbox/form"
)

// unpaidFor is the time that Stripe keeps an incomplete subscription, and a pending update.
const unpaidFor = 23 * time.Hour

// subscription is a monthly product of a customer.
type subscription struct {
	base
	BillingCycleAnchor   unix                `json:"billing_cycle_anchor"`
	CancelAt             unix                `json:"cancel_at"`
	CancelAtPeriodEnd    bool                `json:"cancel_at_period_end"`
	CancellationDetails  cancellationDetails `json:"cancellation_details"`
	Currency             string              `json:"currency"`
	Customer             text                `json:"customer"`
	DefaultPaymentMethod text                `json:"default_payment_method"`
	Discounts            []string            `json:"discounts"`
	EndedAt              unix                `json:"ended_at"`
	Items                inner[*item]        `json:"items"` // always one
	LatestInvoice        text                `json:"latest_invoice"`
	PendingUpdate        *pendingUpdate      `json:"pending_update"`
	Schedule             text                `json:"schedule"`
	Status               string              `json:"status"`
	Charged              int64               `json:"sandbox_charged"` // for the whole period at the current price
}

type cancellationDetails struct {
	Reason text `json:"reason"`
}

type item struct {
	ID                 string `json:"id"`
	Object             string `json:"object"`
	CurrentPeriodStart unix   `json:"current_period_start"`
	CurrentPeriodEnd   unix   `json:"current_period_end"`
	Price              text   `json:"price"` // an object in responses
}

func (*subscription) kind() string    { return "sub" }
func (s *subscription) owner() string { return string(s.Customer) }

func (s *subscription) dueAt() time.Time {
	switch {
	case s.ended():
		return time.Time{}
	case s.Status == "incomplete":
		return s.Created.time().Add(unpaidFor)
	case s.PendingUpdate != nil:
		return s.PendingUpdate.ExpiresAt.time()
	}
	return s.item().CurrentPeriodEnd.time()
}

// ended reports whether the subscription has ended.
func (s *subscription) ended() bool { return s.Status == canceled || s.Status == "incomplete_expired" }

func (s *subscription) item() *item { return s.Items.Data[0] }

func (s *subscription) period() period {
	return period{s.item().CurrentPeriodStart, s.item().CurrentPeriodEnd}
}

// nextEnd returns the end of the period that starts at begin.
func (s *subscription) nextEnd(begin unix) unix {
	for n := 1; ; n++ {
		if end := at(addMonths(s.BillingCycleAnchor.time(), n)); end > begin {
			return end
		}
	}
}

// oneItem returns the item of a list. The sandbox supports one item only.
func oneItem(of *form.Form) (*form.Form, error) {
	all := of.List("items")
	if len(all) != 1 {
		return nil, invalid("parameter_missing", "items", "The sandbox supports subscriptions with one item only.")
	}
	return all[0], nil
}

// subscriptionsByStatus returns the filter for a list of subscriptions.
func subscriptionsByStatus(w *work) func(*subscription) bool {
	all := w.form.Enum("status", "", "all") == "all"
	return func(s *subscription) bool { return all || s.Status != canceled }
}

func createSubscription(w *work, c *customer) (any, error) {
	w.form.Enum("payment_behavior", "default_incomplete")
	s, err := w.newSubscription(c)
	if err != nil {
		return nil, err
	}
	i := w.newInvoice(string(s.Customer), s.Currency, reasonCreate, s)
	w.billPeriod(s, i)
	w.emit("customer.subscription.created", s)
	w.emit("invoice.created", i)
	w.finalize(i)
	return get[subscription](w, s.ID), nil
}

// newSubscription creates an incomplete subscription from a request.
func (w *work) newSubscription(c *customer) (*subscription, error) {
	wanted, err := oneItem(w.form)
	if err != nil {
		return nil, err
	}
	p, err := w.priceForSale(wanted.Required("price"))
	if err != nil {
		return nil, err
	}
	if c.Currency != "" && string(c.Currency) != p.Currency {
		return nil, invalid("", "items[0][price]",
			"You cannot combine currencies on a single customer. This customer has %s.", c.Currency)
	}
	c.Currency = text(p.Currency)
	settings := w.form.Sub("payment_settings")
	settings.Enum("save_default_payment_method", "on_subscription")
	settings.Strings("payment_method_types")
	s := &subscription{
		base: w.newBase("sub", "subscription"), BillingCycleAnchor: at(w.now), Currency: p.Currency, Customer: text(c.ID),
		Discounts: []string{}, Status: "incomplete",
	}
	s.Items = inner[*item]{"list", []*item{{
		ID: w.tx.nextID("si"), Object: "subscription_item", Price: text(p.ID), CurrentPeriodStart: at(w.now),
		CurrentPeriodEnd: s.nextEnd(at(w.now)),
	}}}
	for _, d := range w.form.List("discounts") {
		if err := w.redeem(d.Required("coupon"), s); err != nil {
			return nil, err
		}
	}
	w.save(c, s)
	return s, nil
}

// billPeriod adds the price of a subscription's period, and pending items, to a draft.
func (w *work) billPeriod(s *subscription, i *invoice) {
	p := get[price](w, s.item().Price)
	description := fmt.Sprintf("1 × %s (at %s / month)", get[product](w, p.Product).Name,
		money.Format(p.UnitAmount, p.Currency))
	w.addLine(i, p.UnitAmount, description, s.period())
	i.Discount = w.off(s, p.UnitAmount)
	w.addPending(i)
	s.LatestInvoice, s.Charged = text(i.ID), p.UnitAmount-i.Discount
	w.sum(i)
	w.save(s, i)
}

// subscriptionPaid updates a subscription after an invoice is paid. The first card becomes the default payment method.
func (w *work) subscriptionPaid(i *invoice, m *paymentMethod) {
	s := get[subscription](w, i.subscription())
	if s.ended() {
		return
	}
	before := *s
	if i.Pending {
		w.applyPending(s)
		return
	}
	if m != nil && i.BillingReason == reasonCreate {
		s.DefaultPaymentMethod = text(m.ID)
	}
	if s.Status == "incomplete" || string(s.LatestInvoice) == i.ID {
		s.Status = "active"
	}
	if s.Status != before.Status || s.DefaultPaymentMethod != before.DefaultPaymentMethod {
		w.update(s, "customer.subscription.updated")
	}
}

// subscriptionDue expires, ends or renews a subscription, or voids its pending update.
func (w *work) subscriptionDue(id string) {
	s := get[subscription](w, id)
	switch {
	case s.Status == "incomplete":
		w.expire(s)
	case s.PendingUpdate != nil:
		w.void(get[invoice](w, s.LatestInvoice))
	case s.CancelAt != 0:
		w.end(s, "cancellation_requested")
	default:
		w.renew(s)
	}
}

// renew starts the next period of a subscription and drafts its invoice.
func (w *work) renew(s *subscription) {
	begin := s.item().CurrentPeriodEnd
	s.item().CurrentPeriodStart, s.item().CurrentPeriodEnd = begin, s.nextEnd(begin)
	i := w.newInvoice(string(s.Customer), s.Currency, reasonCycle, s)
	i.AutomaticallyFinalizesAt = at(w.now.Add(draftFor))
	w.billPeriod(s, i)
	w.emit("invoice.created", i)
	w.emit("customer.subscription.updated", s)
}

// expire ends a subscription whose first invoice was not paid in time.
func (w *work) expire(s *subscription) {
	if i := get[invoice](w, s.LatestInvoice); i.Status == "open" {
		w.void(i)
	}
	s.Status, s.EndedAt = "incomplete_expired", at(w.now)
	w.update(s, "customer.subscription.updated")
}

// end ends a subscription. Its open invoices are no longer collected. The first invoice, if unpaid, and the invoice of
// a pending update are voided.
func (w *work) end(s *subscription, reason text) {
	for _, i := range list[invoice](w, string(s.Customer)) {
		open := i.Status == "open"
		switch {
		case i.subscription() != s.ID || !open && i.Status != "draft":
		case open && (i.Pending || s.Status == "incomplete"):
			w.void(i)
		default:
			i.AutoAdvance, i.NextPaymentAttempt, i.AutomaticallyFinalizesAt = false, 0, 0
			w.update(i, "invoice.updated")
		}
	}
	if s.Schedule != "" {
		plan := get[schedule](w, s.Schedule)
		plan.Status, plan.CurrentPhase, s.Schedule = canceled, nil, ""
		w.update(plan, "subscription_schedule.canceled")
	}
	s.PendingUpdate = nil
	s.Status, s.EndedAt, s.CancellationDetails.Reason = canceled, at(w.now), reason
	w.update(s, "customer.subscription.deleted")
}

func cancelSubscription(w *work, s *subscription) (any, error) {
	if s.ended() {
		return nil, w.missing("sub", w.id)
	}
	w.end(s, "cancellation_requested")
	return s, nil
}

func updateSubscription(w *work, s *subscription) (any, error) {
	if s.ended() {
		return nil, invalid("", "", "A canceled subscription can only update its cancellation_details and metadata.")
	}
	if w.form.Has("metadata") && w.form.String("payment_behavior") == pendingIfIncomplete {
		return nil, invalid("", "", "When `payment_behavior` is set to `pending_if_incomplete`, you can only pass "+
			"supported params. `metadata` is not supported.")
	}
	w.mergeMetadata(&s.base)
	if err := w.setMethod(w.form, string(s.Customer), &s.DefaultPaymentMethod); err != nil {
		return nil, err
	}
	if err := w.setCancellation(s); err != nil {
		return nil, err
	}
	if w.form.Has("items") {
		return w.changePrice(s)
	}
	return w.saved(s, "customer.subscription.updated"), nil
}

// setCancellation sets whether a subscription ends with its period, if the request has that parameter.
func (w *work) setCancellation(s *subscription) error {
	if !w.form.Has("cancel_at_period_end") {
		return nil
	}
	if s.Schedule != "" {
		return invalid("", "cancel_at_period_end",
			"The subscription is managed by the subscription schedule `%s`, and updating any "+
				"cancelation behavior directly is not allowed. Please update the schedule instead.", s.Schedule)
	}
	s.CancelAtPeriodEnd, s.CancelAt = w.form.Bool("cancel_at_period_end", false), 0
	if s.CancelAtPeriodEnd {
		s.CancelAt = s.item().CurrentPeriodEnd
	}
	return nil
}

// nextPrice returns the price that a form sets for a subscription.
func (w *work) nextPrice(s *subscription, in *form.Form) (*price, error) {
	wanted, err := oneItem(in)
	if err != nil {
		return nil, err
	}
	if wanted.Required("id") != s.item().ID {
		return nil, invalid("resource_missing", "items[0][id]", "No such subscription_item: '%s'", wanted.String("id"))
	}
	in.Enum("proration_behavior", "always_invoice")
	p, err := w.priceForSale(wanted.Required("price"))
	switch {
	case err != nil:
		return nil, err
	case s.Status == "incomplete":
		return nil, invalid("", "items",
			"The subscription is incomplete: its items cannot change before its first invoice is paid.")
	case s.Currency != p.Currency:
		return nil, invalid("", "items[0][price]", "The sandbox supports changes to prices of the same currency only.")
	}
	return p, nil
}

// previewInvoice returns the invoice of a change of price without making the change.
func previewInvoice(w *work) (any, error) {
	s, err := find[subscription](w, w.form.Required("subscription"))
	if err != nil {
		return nil, err
	}
	p, err := w.nextPrice(s, w.form.Sub("subscription_details"))
	if err != nil {
		return nil, err
	}
	w.prorate(s, get[price](w, s.item().Price), p)
	i := w.newInvoice(string(s.Customer), s.Currency, reasonUpdate, s)
	w.addPending(i)
	w.sum(i)
	w.tx.undo()
	return i, nil
}

// changePrice changes the price of a subscription, and immediately bills the difference for the rest of the period.
func (w *work) changePrice(s *subscription) (any, error) {
	pending := w.form.Enum("payment_behavior", "error_if_incomplete", pendingIfIncomplete) == pendingIfIncomplete
	p, err := w.nextPrice(s, w.form)
	if err != nil {
		return nil, err
	}
	before := get[price](w, s.item().Price)
	if p.ID == before.ID {
		return w.saved(s, "customer.subscription.updated"), nil
	}
	if s.PendingUpdate != nil {
		w.void(get[invoice](w, s.LatestInvoice))
		s.PendingUpdate = nil
	}
	former := reprice{before.ID, s.Charged}
	w.prorate(s, before, p)
	refusal, err := w.billNow(s, pending)
	if err != nil {
		return nil, err
	}
	s = get[subscription](w, s.ID)
	switch paid := get[invoice](w, s.LatestInvoice).Status == "paid"; {
	case !paid && pending:
		w.setPending(s, former)
	case refusal != nil && refusal.Code == authenticationRequired:
		return nil, declined("subscription_payment_intent_requires_action", "", "Payment for this subscription requires "+
			"additional user action before it can be completed successfully.")
	case refusal != nil:
		return nil, refusal
	}
	w.emit("customer.subscription.updated", s)
	return s, nil
}

// prorate changes the price of a subscription, and adds the difference for the rest of its period, to the second, to
// the pending items.
func (w *work) prorate(s *subscription, before, p *price) {
	during := period{at(w.now), s.item().CurrentPeriodEnd}
	rest := float64(during.End-during.Start) / float64(during.End-s.item().CurrentPeriodStart)
	share := func(amount int64) int64 { return int64(math.Round(float64(amount) * min(1, max(0, rest)))) }
	unused := -share(s.Charged)
	w.reprice(s, reprice{p.ID, p.UnitAmount - w.off(s, p.UnitAmount)})
	w.addProration(s, unused, "Unused time on "+get[product](w, before.Product).Name, during)
	w.addProration(s, share(s.Charged), "Remaining time on "+get[product](w, p.Product).Name, during)
}

func (w *work) addProration(s *subscription, amount int64, description string, during period) {
	b := w.newBase("ii", "invoiceitem")
	b.Metadata = map[string]string{}
	w.update(&invoiceItem{
		base: b, Amount: amount, Currency: s.Currency, Customer: s.Customer, Subscription: s.ID, Period: during,
		Description: description + " after " + w.now.Format("02 Jan 2006"),
	}, "invoiceitem.created")
}

// reprice is a price of a subscription, and the amount charged for a period at that price.
type reprice struct {
	Price   string
	Charged int64
}

// reprice changes the price of a subscription, and of the current phase of its schedule.
func (w *work) reprice(s *subscription, to reprice) {
	s.item().Price, s.Charged = text(to.Price), to.Charged
	w.save(s)
	if s.Schedule != "" {
		plan := get[schedule](w, s.Schedule)
		plan.phase().Items[0].Price = text(to.Price)
		w.update(plan, "subscription_schedule.updated")
	}
}

const pendingIfIncomplete = "pending_if_incomplete"

// pendingUpdate is a change of a subscription that waits for the payment of the latest invoice.
type pendingUpdate struct {
	ExpiresAt         unix          `json:"expires_at"`
	SubscriptionItems []pendingItem `json:"subscription_items"`
	Charged           int64         `json:"sandbox_charged"`
}

type pendingItem struct {
	ID     string `json:"id"`
	Object string `json:"object"`
	Price  text   `json:"price"` // an object in responses
}

// setPending makes a change of price pending, and restores the former price.
func (w *work) setPending(s *subscription, former reprice) {
	s.PendingUpdate = &pendingUpdate{
		ExpiresAt:         min(s.item().CurrentPeriodEnd, at(w.now.Add(unpaidFor))),
		SubscriptionItems: []pendingItem{{s.item().ID, "subscription_item", s.item().Price}}, Charged: s.Charged,
	}
	w.reprice(s, former)
}

// applyPending applies a pending update after its invoice is paid.
func (w *work) applyPending(s *subscription) {
	if p := s.PendingUpdate; p != nil { // nil if it was paid immediately
		s.PendingUpdate = nil
		w.reprice(s, reprice{string(p.SubscriptionItems[0].Price), p.Charged})
		w.emit("customer.subscription.pending_update_applied", s)
		w.emit("customer.subscription.updated", s)
	}
}

// dropPending drops a pending update after its invoice is voided.
func (w *work) dropPending(s *subscription) {
	s.PendingUpdate = nil
	w.update(s, "customer.subscription.pending_update_expired")
}

// billNow bills the pending items of a subscription. The problem is the decline, if any. If pending is set, the card's
// owner may confirm the payment, and a decline does not affect the subscription.
func (w *work) billNow(s *subscription, pending bool) (*problem, error) {
	i := w.newInvoice(string(s.Customer), s.Currency, reasonUpdate, s)
	i.Pending = pending
	w.addPending(i)
	w.sum(i)
	s.LatestInvoice = text(i.ID)
	w.save(s)
	w.update(i, "invoice.created")
	return w.finalizeAndCollect(i.ID)
}
