package sandbox

import (
	"math"
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

// How the payment of a change may turn out.
const (
	allowIncomplete   = "allow_incomplete"
	defaultIncomplete = "default_incomplete"
	errorIfIncomplete = "error_if_incomplete"
)

func createSubscription(w *work) (any, error) {
	c, err := w.livingCustomer(w.form.Required("customer"))
	if err != nil {
		return nil, err
	}
	behavior := w.form.Enum("payment_behavior", allowIncomplete, defaultIncomplete, errorIfIncomplete)
	w.form.Enum("collection_method", "charge_automatically")
	w.form.Bool("off_session", false)
	s, err := w.newSubscription(c)
	if err != nil {
		return nil, err
	}
	i, err := w.firstInvoice(s)
	if err != nil {
		return nil, err
	}
	if err := w.emit("customer.subscription.created", s); err != nil {
		return nil, err
	}
	if err := w.update(i, "invoice.created"); err != nil {
		return nil, err
	}
	if err := w.finalize(i); err != nil {
		return nil, err
	}
	if i.AmountRemaining > 0 && behavior != defaultIncomplete {
		refusal, err := w.collect(i, "")
		if err != nil {
			return nil, err
		}
		if refusal != nil && (behavior == errorIfIncomplete || refusal.Type != "card_error") {
			return nil, refusal
		}
	}
	return find[subscription](w, s.ID)
}

// newSubscription makes an incomplete subscription as a request says.
func (w *work) newSubscription(c *customer) (*subscription, error) {
	wanted, err := oneItem(w.form)
	if err != nil {
		return nil, err
	}
	p, err := w.recurringPrice(wanted.Required("price"))
	if err != nil {
		return nil, err
	}
	if err := w.setCurrency(c, p.Currency); err != nil {
		return nil, err
	}
	b, err := w.newBase("sub", "subscription")
	if err != nil {
		return nil, err
	}
	itemID, err := w.tx.NextID("si")
	if err != nil {
		return nil, err
	}
	s := &subscription{
		base: b, BillingCycleAnchor: at(w.now), BillingMode: billingMode{Type: "flexible"},
		CollectionMethod: "charge_automatically", Currency: p.Currency, Customer: text(c.ID), Discounts: []string{},
		PaymentSettings: paymentSettings{SaveDefaultPaymentMethod: "off", PaymentMethodTypes: []string{"card"}},
		StartDate:       at(w.now), Status: "incomplete",
		Items: items{Object: "list", URL: "/v1/subscription_items?subscription=" + b.ID, TotalCount: 1, Data: []*item{{
			ID: itemID, Object: "subscription_item", Created: at(w.now), Discounts: []string{},
			CurrentPeriodStart: at(w.now), CurrentPeriodEnd: at(p.Recurring.next(w.now, w.now)),
			Metadata: wanted.Metadata(), Price: text(p.ID), Quantity: wanted.Int("quantity", 1), Subscription: b.ID,
		}}},
	}
	if err := w.setDetails(s); err != nil {
		return nil, err
	}
	return s, w.save(s)
}

// setCurrency sets in what a customer pays, which is one currency.
func (w *work) setCurrency(c *customer, currency string) error {
	if c.Currency == text(currency) {
		return nil
	}
	if c.Currency != "" {
		return invalid("", "items[0][price]", "You cannot combine currencies on a single customer. This customer has %s.", c.Currency)
	}
	c.Currency = text(currency)
	return w.save(c)
}

// firstInvoice drafts the first invoice of a subscription.
func (w *work) firstInvoice(s *subscription) (*invoice, error) {
	i, err := w.newInvoice(string(s.Customer), s.Currency, reasonCreate, s)
	if err != nil {
		return nil, err
	}
	return i, w.billPeriod(s, i)
}

// billPeriod adds to a draft what a subscription costs in its period, and what waits for its next invoice.
func (w *work) billPeriod(s *subscription, i *invoice) error {
	l, err := w.priceLine(s, s.period())
	if err != nil {
		return err
	}
	if err := w.addLine(i, l); err != nil {
		return err
	}
	discounted, by, err := w.off(s, l.Amount, true)
	if err != nil {
		return err
	}
	if err := w.addPending(i); err != nil {
		return err
	}
	s.LatestInvoice, s.Charged = text(i.ID), l.Amount-discounted
	i.discount(discounted, by)
	if err := w.sum(i); err != nil {
		return err
	}
	return w.save(s, i)
}

// subscriptionPaid makes a subscription go on whose invoice was paid.
func (w *work) subscriptionPaid(i *invoice, m *paymentMethod) error {
	s, err := find[subscription](w, i.subscription())
	if err != nil || s.over() {
		return err
	}
	before := *s
	if m != nil && s.PaymentSettings.SaveDefaultPaymentMethod == "on_subscription" && i.BillingReason == reasonCreate {
		s.DefaultPaymentMethod = text(m.ID)
	}
	if s.Status == "incomplete" || string(s.LatestInvoice) == i.ID {
		s.Status = "active"
	}
	if s.Status == before.Status && s.DefaultPaymentMethod == before.DefaultPaymentMethod {
		return nil
	}
	return w.update(s, "customer.subscription.updated")
}

// subscriptionUnpaid notes that the payment of an invoice has failed.
func (w *work) subscriptionUnpaid(i *invoice) error {
	if i.subscription() == "" {
		return nil
	}
	s, err := find[subscription](w, i.subscription())
	if err != nil || s.Status != "active" {
		return err
	}
	s.Status = "past_due"
	return w.update(s, "customer.subscription.updated")
}

// subscriptionDue does what a subscription's time demands.
func (w *work) subscriptionDue(id string) error {
	s, err := find[subscription](w, id)
	switch {
	case err != nil:
		return err
	case s.over():
		return nil
	case s.Status == "incomplete":
		return w.expire(s)
	case s.CancelAt != 0 && !w.now.Before(s.CancelAt.time()):
		return w.end(s, "cancellation_requested")
	}
	return w.renew(s)
}

// renew begins the next period of a subscription and drafts its invoice.
func (w *work) renew(s *subscription) error {
	p, err := find[price](w, string(s.item().Price))
	if err != nil {
		return err
	}
	previous := s.period()
	begin := previous.End.time()
	s.item().CurrentPeriodStart = previous.End
	s.item().CurrentPeriodEnd = at(p.Recurring.next(s.BillingCycleAnchor.time(), begin))
	i, err := w.newInvoice(string(s.Customer), s.Currency, reasonCycle, s)
	if err != nil {
		return err
	}
	i.PeriodStart, i.PeriodEnd = previous.Start, previous.End
	i.AutomaticallyFinalizesAt = at(w.now.Add(draftFor))
	if err := w.billPeriod(s, i); err != nil {
		return err
	}
	if err := w.emit("invoice.created", i); err != nil {
		return err
	}
	return w.emit("customer.subscription.updated", s)
}

// expire ends a subscription whose first invoice was not paid in time.
func (w *work) expire(s *subscription) error {
	i, err := find[invoice](w, string(s.LatestInvoice))
	if err != nil {
		return err
	}
	if i.Status == "open" {
		if err := w.void(i); err != nil {
			return err
		}
	}
	s.Status, s.EndedAt = "incomplete_expired", at(w.now)
	return w.update(s, "customer.subscription.updated")
}

// firstInvoiceVoided ends an incomplete subscription whose invoice was voided.
func (w *work) firstInvoiceVoided(i *invoice) error {
	if i.subscription() == "" {
		return nil
	}
	s, err := find[subscription](w, i.subscription())
	if err != nil || s.Status != "incomplete" {
		return err
	}
	return w.expire(s)
}

// end ends a subscription now. Its invoices are no longer collected; the first one is voided.
func (w *work) end(s *subscription, reason string) error {
	invoices, err := list[invoice](w, string(s.Customer))
	if err != nil {
		return err
	}
	for _, i := range invoices {
		if i.subscription() != s.ID {
			continue
		}
		if err := w.letGo(i, s.Status == "incomplete"); err != nil {
			return err
		}
	}
	if s.Schedule != "" {
		if err := w.scheduleEnds(s); err != nil {
			return err
		}
		s.Schedule = ""
	}
	s.Status, s.EndedAt, s.CancellationDetails.Reason = canceled, at(w.now), text(reason)
	if s.CanceledAt == 0 {
		s.CanceledAt = at(w.now)
	}
	return w.update(s, "customer.subscription.deleted")
}

// letGo stops the collection of an invoice.
func (w *work) letGo(i *invoice, first bool) error {
	switch {
	case i.Status != "open" && i.Status != "draft":
		return nil
	case first && i.Status == "open":
		return w.void(i)
	}
	i.AutoAdvance, i.NextPaymentAttempt, i.AutomaticallyFinalizesAt = false, 0, 0
	return w.update(i, "invoice.updated")
}

func cancelSubscription(w *work) (any, error) {
	s, err := find[subscription](w, w.id)
	if err != nil {
		return nil, err
	}
	if s.over() {
		return nil, w.missing("sub", w.id)
	}
	details := w.form.Sub("cancellation_details")
	s.CancellationDetails.Comment = text(details.String("comment"))
	s.CancellationDetails.Feedback = text(details.String("feedback"))
	if w.form.Bool("invoice_now", false) {
		if _, err := w.billNow(s); err != nil {
			return nil, err
		}
	}
	w.form.Bool("prorate", false)
	if err := w.end(s, "cancellation_requested"); err != nil {
		return nil, err
	}
	return s, nil
}

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

// subscriptionOf returns the subscription that has an item.
func (w *work) subscriptionOf(itemID string) (*subscription, error) {
	all, err := list[subscription](w, "")
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.item().ID == itemID {
			return s, nil
		}
	}
	return nil, w.missing("si", itemID)
}

func getItem(w *work) (any, error) {
	s, err := w.subscriptionOf(w.id)
	if err != nil {
		return nil, err
	}
	return s.item(), nil
}

func listItems(w *work) (any, error) {
	s, err := find[subscription](w, w.form.Required("subscription"))
	if err != nil {
		return nil, err
	}
	w.form.Int("limit", usualPage)
	return s.Items, nil
}

func updateItem(w *work) (any, error) {
	s, err := w.subscriptionOf(w.id)
	if err != nil {
		return nil, err
	}
	if s.over() {
		return nil, invalid("", "", "The subscription of the item has ended.")
	}
	if _, err := w.change(s, w.form); err != nil {
		return nil, err
	}
	return getItem(w)
}
