package sandbox

import (
	"time"

	"github.com/recital-tts/recital/internal/standins/sandbox/form"
)

// schedule is a planned change of a subscription.
type schedule struct {
	base
	CurrentPhase    *phasePeriod    `json:"current_phase"`
	Customer        text            `json:"customer"`
	DefaultSettings defaultSettings `json:"default_settings"`
	Phases          []*phase        `json:"phases"`
	Status          string          `json:"status"` // active, released or canceled
	Subscription    text            `json:"subscription"`
}

// defaultSettings apply to a subscription when a schedule's next phase starts.
type defaultSettings struct {
	DefaultPaymentMethod text `json:"default_payment_method"` // "": the customer's
}

type phasePeriod struct {
	StartDate unix `json:"start_date"`
	EndDate   unix `json:"end_date"`
}

// phase is a period in which a subscription has one price.
type phase struct {
	phasePeriod
	Discounts []phaseDiscount `json:"discounts"`
	Items     []phaseItem     `json:"items"`
}

type phaseItem struct {
	Price text `json:"price"`
}

type phaseDiscount struct {
	Discount text `json:"discount"`
}

func (*schedule) kind() string    { return scheduleKind }
func (s *schedule) key() string   { return keyOf(scheduleKind, s.ID) }
func (s *schedule) owner() string { return string(s.Customer) }

func (s *schedule) dueAt() time.Time {
	if s.Status != "active" {
		return time.Time{}
	}
	return s.CurrentPhase.EndDate.time()
}

// phase returns the current phase.
func (s *schedule) phase() *phase {
	for _, p := range s.Phases {
		if p.StartDate == s.CurrentPhase.StartDate {
			return p
		}
	}
	return s.Phases[0]
}

// following returns the phase after the current one, or nil.
func (s *schedule) following() *phase {
	for _, p := range s.Phases {
		if p.StartDate >= s.CurrentPhase.EndDate {
			return p
		}
	}
	return nil
}

func createSchedule(w *work) (any, error) {
	s, err := find[subscription](w, w.form.Required("from_subscription"))
	switch {
	case err != nil:
		return nil, err
	case s.Schedule != "":
		return nil, invalid("", "from_subscription",
			"You cannot migrate a subscription that is already attached to a schedule: `%s`.", s.Schedule)
	case s.ended() || s.Status == "incomplete":
		return nil, invalid("", "from_subscription", "You cannot migrate a subscription in the `%s` status.", s.Status)
	}
	current := phase{
		phasePeriod: phasePeriod{s.item().CurrentPeriodStart, s.item().CurrentPeriodEnd},
		Discounts:   []phaseDiscount{}, Items: []phaseItem{{s.item().Price}},
	}
	for _, d := range s.Discounts {
		current.Discounts = append(current.Discounts, phaseDiscount{text(d)})
	}
	plan := &schedule{
		base: w.newBase("sub_sched", "subscription_schedule"), CurrentPhase: &current.phasePeriod, Customer: s.Customer,
		Status: "active", Subscription: text(s.ID), Phases: []*phase{&current},
		DefaultSettings: defaultSettings{s.DefaultPaymentMethod},
	}
	w.update(plan, "subscription_schedule.created")
	s.Schedule = text(plan.ID)
	w.update(s, "customer.subscription.updated")
	return plan, nil
}

// activeSchedule returns the schedule in the path, or an error if it has ended.
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
	w.form.Enum("end_behavior", "release")
	w.form.Enum("proration_behavior", "none")
	method := &plan.DefaultSettings.DefaultPaymentMethod
	if err := w.setMethod(w.form.Sub("default_settings"), string(plan.Customer), method); err != nil {
		return nil, err
	}
	if phases := w.form.List("phases"); len(phases) > 0 {
		if err := w.setPhases(plan, phases); err != nil {
			return nil, err
		}
	}
	return w.saved(plan, "subscription_schedule.updated"), nil
}

// setPhases replaces the current and later phases of a schedule. Only the discounts of the current phase may change.
func (w *work) setPhases(plan *schedule, wanted []*form.Form) error {
	s := get[subscription](w, plan.Subscription)
	var phases []*phase
	begin := plan.CurrentPhase.StartDate
	for _, f := range wanted {
		p, err := w.readPhase(f, begin)
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
	if first.Items[0].Price != s.item().Price {
		return invalid("", "phases[0][items]",
			"The sandbox supports no change of the current phase's items: change the subscription.")
	}
	plan.Phases, plan.CurrentPhase = phases, &first.phasePeriod
	w.giveDiscounts(s, first)
	w.save(s)
	return nil
}

func (w *work) readPhase(f *form.Form, begin unix) (*phase, error) {
	wanted, err := oneItem(f)
	if err != nil {
		return nil, err
	}
	wanted.Int("quantity", 1)
	id := wanted.Required("price")
	if _, err := find[price](w, id); err != nil {
		return nil, err
	}
	f.Enum("proration_behavior", "none")
	p := &phase{Discounts: []phaseDiscount{}, Items: []phaseItem{{text(id)}}}
	p.StartDate = unix(f.Int("start_date", int64(begin)))
	lasts := f.Sub("duration")
	lasts.Enum("interval", "month")
	end := addMonths(p.StartDate.time(), int(lasts.Int("interval_count", 1)))
	p.EndDate = unix(f.Int("end_date", int64(at(end))))
	for _, d := range f.List("discounts") {
		given, err := find[discount](w, d.Required("discount"))
		if err != nil {
			return nil, err
		}
		p.Discounts = append(p.Discounts, phaseDiscount{text(given.ID)})
	}
	return p, nil
}

// giveDiscounts sets a subscription's discounts to the phase's.
func (w *work) giveDiscounts(s *subscription, p *phase) {
	s.Discounts = []string{}
	for _, d := range p.Discounts {
		s.Discounts = append(s.Discounts, string(d.Discount))
	}
}

// scheduleDue starts the next phase of a schedule, or ends the schedule. At the end of the subscription's period it
// runs before the renewal.
func (w *work) scheduleDue(id string) {
	plan := get[schedule](w, id)
	s := get[subscription](w, plan.Subscription)
	next := plan.following()
	if next == nil {
		w.release(plan, s)
		return
	}
	if s.PendingUpdate != nil {
		w.void(get[invoice](w, s.LatestInvoice))
		s.PendingUpdate = nil
	}
	plan.CurrentPhase = &next.phasePeriod
	w.giveDiscounts(s, next)
	s.item().Price, s.DefaultPaymentMethod = next.Items[0].Price, plan.DefaultSettings.DefaultPaymentMethod
	w.update(s, "customer.subscription.updated")
	w.update(plan, "subscription_schedule.updated")
}

func releaseSchedule(w *work) (any, error) {
	plan, err := w.activeSchedule("release")
	if err != nil {
		return nil, err
	}
	w.release(plan, get[subscription](w, plan.Subscription))
	return plan, nil
}

// release ends a schedule and leaves its subscription unchanged.
func (w *work) release(plan *schedule, s *subscription) {
	plan.Status, plan.CurrentPhase, plan.Subscription, s.Schedule = "released", nil, "", ""
	w.update(plan, "subscription_schedule.released")
	w.update(s, "customer.subscription.updated")
}
