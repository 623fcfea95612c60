package sandbox

import (
	"time"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/form"
)

// schedule is what is to become of a subscription.
type schedule struct {
	base
	CanceledAt           unix            `json:"canceled_at"`
	CompletedAt          unix            `json:"completed_at"`
	CurrentPhase         *phasePeriod    `json:"current_phase"`
	Customer             text            `json:"customer"`
	DefaultSettings      defaultSettings `json:"default_settings"`
	EndBehavior          string          `json:"end_behavior"` // release or cancel
	Phases               []*phase        `json:"phases"`
	ReleasedAt           unix            `json:"released_at"`
	ReleasedSubscription text            `json:"released_subscription"`
	Status               string          `json:"status"` // active, released or canceled
	Subscription         text            `json:"subscription"`
}

// defaultSettings are what a subscription has from the beginning of a schedule's next phase on.
type defaultSettings struct {
	DefaultPaymentMethod text `json:"default_payment_method"` // "": that of the customer
}

type phasePeriod struct {
	StartDate unix `json:"start_date"`
	EndDate   unix `json:"end_date"`
}

// phase is a time in which a subscription has an item.
type phase struct {
	phasePeriod
	Currency          string            `json:"currency"`
	Discounts         []phaseDiscount   `json:"discounts"`
	Items             []phaseItem       `json:"items"`
	Metadata          map[string]string `json:"metadata"`
	ProrationBehavior string            `json:"proration_behavior"`
}

type phaseItem struct {
	Metadata map[string]string `json:"metadata"`
	Price    text              `json:"price"`
	Quantity int64             `json:"quantity"`
}

type phaseDiscount struct {
	Coupon   text `json:"coupon"`
	Discount text `json:"discount"`
}

func (*schedule) kind() string { return scheduleKind }

// Key implements store.Object.
func (s *schedule) Key() string { return keyOf(scheduleKind, s.ID) }

// Owner implements store.Object.
func (s *schedule) Owner() string { return string(s.Customer) }

// Due implements store.Object.
func (s *schedule) Due() time.Time {
	if s.Status != "active" {
		return time.Time{}
	}
	return s.CurrentPhase.EndDate.time()
}

// scheduled returns the schedule of a subscription.
func (w *work) scheduled(s *subscription) (*schedule, error) {
	return find[schedule](w, string(s.Schedule))
}

func createSchedule(w *work) (any, error) {
	s, err := find[subscription](w, w.form.Required("from_subscription"))
	switch {
	case err != nil:
		return nil, err
	case w.form.Has("metadata"):
		return nil, invalid("", "metadata", "You cannot set `metadata` if `from_subscription` is set.")
	case s.Schedule != "":
		return nil, invalid("", "from_subscription", "You cannot migrate a subscription that is already attached to a schedule: `%s`.", s.Schedule)
	case s.over() || s.Status == "incomplete":
		return nil, invalid("", "from_subscription", "You cannot migrate a subscription in the `%s` status.", s.Status)
	}
	b, err := w.newBase("sub_sched", "subscription_schedule")
	if err != nil {
		return nil, err
	}
	current := phasePeriod{StartDate: s.item().CurrentPeriodStart, EndDate: s.item().CurrentPeriodEnd}
	plan := &schedule{
		base: b, CurrentPhase: &current, Customer: s.Customer, EndBehavior: "release", Status: "active", Subscription: text(s.ID),
		DefaultSettings: defaultSettings{DefaultPaymentMethod: s.DefaultPaymentMethod},
		Phases: []*phase{{
			phasePeriod: current, Currency: s.Currency, Discounts: []phaseDiscount{}, Metadata: map[string]string{},
			Items:             []phaseItem{{Metadata: map[string]string{}, Price: s.item().Price, Quantity: s.item().Quantity}},
			ProrationBehavior: createProrations,
		}},
	}
	for _, d := range s.Discounts {
		plan.Phases[0].Discounts = append(plan.Phases[0].Discounts, phaseDiscount{Discount: text(d)})
	}
	if s.CancelAtPeriodEnd {
		plan.EndBehavior = "cancel"
	}
	if err := w.update(plan, "subscription_schedule.created"); err != nil {
		return nil, err
	}
	s.Schedule = text(plan.ID)
	return plan, w.update(s, "customer.subscription.updated")
}

// activeSchedule returns the schedule in the path, which must not be over.
func (w *work) activeSchedule(verb string) (*schedule, error) {
	plan, err := find[schedule](w, w.id)
	if err == nil && plan.Status != "active" {
		return nil, invalid("", "", "You cannot %s a subscription schedule that is currently in the `%s` status. "+
			"It must be in one of the `not_started` or `active` statuses.", verb, plan.Status)
	}
	return plan, err
}

func updateSchedule(w *work) (any, error) {
	plan, err := w.activeSchedule("update")
	if err != nil {
		return nil, err
	}
	w.mergeMetadata(&plan.base)
	plan.EndBehavior = w.form.Enum("end_behavior", plan.EndBehavior, "release", "cancel")
	proration := w.form.Enum("proration_behavior", createProrations, alwaysInvoice, noProration)
	if id := w.form.Sub("default_settings").String("default_payment_method"); id != "" {
		m, err := w.attached(id, string(plan.Customer))
		if err != nil {
			return nil, err
		}
		plan.DefaultSettings.DefaultPaymentMethod = text(m.ID)
	}
	if w.form.Has("phases") {
		if err := w.setPhases(plan, w.form.List("phases"), proration); err != nil {
			return nil, err
		}
	}
	return w.saved(plan, "subscription_schedule.updated")
}

// setPhases replaces the phases of a schedule from the one that runs on, which stays as it is but for its discounts.
func (w *work) setPhases(plan *schedule, wanted []*form.Form, proration string) error {
	s, err := find[subscription](w, string(plan.Subscription))
	if err != nil {
		return err
	}
	var phases []*phase
	begin := plan.CurrentPhase.StartDate
	for _, f := range wanted {
		p, err := w.readPhase(s, f, begin, proration)
		if err != nil {
			return err
		}
		phases = append(phases, p)
		begin = p.EndDate
	}
	first := phases[0]
	if first.StartDate != plan.CurrentPhase.StartDate {
		return invalid("", "phases[0][start_date]", "You can not modify the start date of the current phase.")
	}
	if first.Items[0].Price != s.item().Price || first.Items[0].Quantity != s.item().Quantity {
		return invalid("", "phases[0][items]", "The sandbox does not know changes of the current phase's items: change the subscription.")
	}
	plan.Phases = phases
	plan.CurrentPhase = &phasePeriod{StartDate: first.StartDate, EndDate: first.EndDate}
	return w.giveDiscounts(s, first)
}

func (w *work) readPhase(s *subscription, f *form.Form, begin unix, proration string) (*phase, error) {
	wanted, err := oneItem(f)
	if err != nil {
		return nil, err
	}
	id := wanted.Required("price")
	if text(id) != s.item().Price {
		if _, err := w.recurringPrice(id); err != nil {
			return nil, err
		}
	}
	p := &phase{
		phasePeriod: phasePeriod{StartDate: unix(f.Int("start_date", int64(begin)))},
		Currency:    s.Currency, Discounts: []phaseDiscount{}, Metadata: f.Metadata(),
		Items:             []phaseItem{{Metadata: wanted.Metadata(), Price: text(id), Quantity: wanted.Int("quantity", 1)}},
		ProrationBehavior: f.Enum("proration_behavior", proration, createProrations, alwaysInvoice, noProration),
	}
	lasts := f.Sub("duration")
	length := recurring{Interval: lasts.Enum("interval", "month", "day", "week", "year"), IntervalCount: lasts.Int("interval_count", 1)}
	start := p.StartDate.time()
	p.EndDate = unix(f.Int("end_date", int64(at(length.after(start, int(length.IntervalCount))))))
	if p.StartDate < begin || p.EndDate <= p.StartDate {
		return nil, invalid("", "phases", "The phases of a schedule must follow one another.")
	}
	for _, d := range f.List("discounts") {
		p.Discounts = append(p.Discounts, phaseDiscount{Coupon: text(d.String("coupon")), Discount: text(d.String("discount"))})
	}
	return p, nil
}

// giveDiscounts gives a subscription the discounts of a phase, and no others.
func (w *work) giveDiscounts(s *subscription, p *phase) error {
	given := []string{}
	for i, d := range p.Discounts {
		if d.Coupon != "" {
			redeemed, err := w.redeem(string(d.Coupon), s)
			if err != nil {
				return err
			}
			p.Discounts[i] = phaseDiscount{Discount: text(redeemed.ID)}
		}
		if _, err := find[discount](w, string(p.Discounts[i].Discount)); err != nil {
			return err
		}
		given = append(given, string(p.Discounts[i].Discount))
	}
	s.Discounts = given
	return w.save(s)
}

// phaseHasItem has the current phase of a subscription's schedule follow a change of its item.
func (w *work) phaseHasItem(s *subscription) error {
	if s.Schedule == "" {
		return nil
	}
	plan, err := w.scheduled(s)
	if err != nil {
		return err
	}
	now := &plan.phase().Items[0]
	now.Price, now.Quantity = s.item().Price, s.item().Quantity
	return w.update(plan, "subscription_schedule.updated")
}

// phase returns the phase that runs.
func (s *schedule) phase() *phase {
	for _, p := range s.Phases {
		if p.StartDate == s.CurrentPhase.StartDate {
			return p
		}
	}
	return s.Phases[0]
}

// following returns the phase after the one that runs, or nil.
func (s *schedule) following() *phase {
	for _, p := range s.Phases {
		if p.StartDate >= s.CurrentPhase.EndDate {
			return p
		}
	}
	return nil
}

// scheduleDue begins the next phase of a schedule, or ends it. Where that is the end of the subscription's period, too, this
// comes before the renewal.
func (w *work) scheduleDue(id string) error {
	plan, err := find[schedule](w, id)
	if err != nil {
		return err
	}
	s, err := find[subscription](w, string(plan.Subscription))
	if err != nil {
		return err
	}
	next := plan.following()
	switch {
	case next == nil && plan.EndBehavior == "cancel":
		return w.end(s, "cancellation_requested")
	case next == nil:
		return w.release(plan, s)
	}
	plan.CurrentPhase = &phasePeriod{StartDate: next.StartDate, EndDate: next.EndDate}
	if err := w.giveDiscounts(s, next); err != nil {
		return err
	}
	s.item().Price, s.item().Quantity = next.Items[0].Price, next.Items[0].Quantity
	s.DefaultPaymentMethod = plan.DefaultSettings.DefaultPaymentMethod
	if err := w.update(s, "customer.subscription.updated"); err != nil {
		return err
	}
	return w.update(plan, "subscription_schedule.updated")
}

func releaseSchedule(w *work) (any, error) {
	plan, err := w.activeSchedule("release")
	if err != nil {
		return nil, err
	}
	w.form.Bool("preserve_cancel_date", false)
	s, err := find[subscription](w, string(plan.Subscription))
	if err != nil {
		return nil, err
	}
	return plan, w.release(plan, s)
}

// release leaves a subscription as it is now.
func (w *work) release(plan *schedule, s *subscription) error {
	plan.Status, plan.ReleasedAt, plan.CurrentPhase = "released", at(w.now), nil
	plan.ReleasedSubscription, plan.Subscription = text(s.ID), ""
	if err := w.update(plan, "subscription_schedule.released"); err != nil {
		return err
	}
	s.Schedule = ""
	return w.update(s, "customer.subscription.updated")
}

func cancelSchedule(w *work) (any, error) {
	plan, err := w.activeSchedule("cancel")
	if err != nil {
		return nil, err
	}
	w.form.Bool("invoice_now", false)
	w.form.Bool("prorate", false)
	s, err := find[subscription](w, string(plan.Subscription))
	if err != nil {
		return nil, err
	}
	if err := w.end(s, "cancellation_requested"); err != nil {
		return nil, err
	}
	return find[schedule](w, plan.ID)
}

// scheduleEnds cancels the schedule of a subscription that ends.
func (w *work) scheduleEnds(s *subscription) error {
	plan, err := w.scheduled(s)
	if err != nil {
		return err
	}
	plan.Status, plan.CanceledAt, plan.CurrentPhase = canceled, at(w.now), nil
	return w.update(plan, "subscription_schedule.canceled")
}

func listSchedules(w *work) (any, error) {
	created := w.created()
	return page(w, w.form.String("customer"), func(s *schedule) bool { return created(s.Created) })
}
