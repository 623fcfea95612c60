package subscription

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
)

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	s.SinceSnapshot++
	switch e := event.(type) {
	case Requested:
		s.Account, s.Open, s.Ending = e.Account, &e, s.Ending || e.Kind == End
	case Agreed:
		s = s.answered(e.Request, Answered{Object: e.Object, EffectiveAt: e.EffectiveAt, First: e.First, EndedAt: e.At})
	case Refused:
		s = s.answered(e.Request, Answered{Reason: e.Reason, Decline: e.Decline, Invoice: e.Invoice, EndedAt: e.At})
	case CustomerCreated:
		s.Account, s.Customer = e.Account, e.Customer
	case CustomerDeleted:
		s.Customer = ""
	case CardChanged:
		s.Card = nil
		if e.PaymentMethod != "" {
			s.Card = &Card{PaymentMethod: e.PaymentMethod, Brand: e.Brand, Last4: e.Last4}
		}
	case Lost:
		s.Lost = latest(append(slices.Clip(s.Lost), e.Object), maxInvoices)
	case Entitled:
		s.Entitled = &e.Entitlement
	case SnapshotTaken:
		return State{Facts: e.Facts}
	default:
		return s.evolveSubscription(event).evolveInvoice(event)
	}
	return s
}

func (s State) evolveSubscription(event Event) State {
	switch e := event.(type) {
	case Created:
		return s.onTerms(e.Terms, func(*Subscription) {})
	case Activated:
		return s.onTerms(e.Terms, func(known *Subscription) { known.GraceEnds, known.Lapsed = time.Time{}, false })
	case Renewed:
		return s.onTerms(e.Terms, func(*Subscription) {})
	case PlanChanged:
		return s.onTerms(e.Terms, func(*Subscription) {})
	case FellDue:
		return s.onTerms(e.Terms, func(known *Subscription) { known.GraceEnds = e.GraceEnds })
	case Lapsed:
		return s.on(e.Subscription, func(known *Subscription) { known.Lapsed = true })
	case Ended:
		return s.onTerms(e.Terms, func(known *Subscription) {
			*known = Subscription{Terms: e.Terms, EndedAt: e.EndedAt, Ran: known.Ran}
		})
	case ChangeScheduled:
		return s.foreseen(e).on(e.Subscription, func(known *Subscription) {
			known.Scheduled = &Change{Price: e.Price, Plan: e.Plan, EffectiveAt: e.EffectiveAt}
			known.Supersedes, known.Superseded = false, false
		})
	case ScheduledChangeDropped:
		return s.on(e.Subscription, func(known *Subscription) { known.Scheduled, known.Superseded = nil, false })
	case ChangePending:
		return s.on(e.Subscription, func(known *Subscription) {
			known.Pending = &Pending{Price: e.Price, Plan: e.Plan, Invoice: e.Invoice, ExpiresAt: e.ExpiresAt}
			known.Supersedes = known.Scheduled != nil
		})
	case PendingChangeEnded:
		return s.on(e.Subscription, func(known *Subscription) {
			known.Superseded = e.Made && known.Supersedes && known.Scheduled != nil
			known.Pending, known.Supersedes = nil, false
		})
	case CancellationScheduled:
		return s.on(e.Subscription, func(known *Subscription) { known.CancelAt = e.CancelAt })
	case CancellationWithdrawn:
		return s.on(e.Subscription, func(known *Subscription) { known.CancelAt = time.Time{} })
	}
	return s
}

func (s State) evolveInvoice(event Event) State {
	switch e := event.(type) {
	case InvoiceRecorded:
		return s.onInvoice(e.Invoice, func(known *Invoice) {
			known.Subscription, known.Number, known.Status = e.Subscription, e.Number, e.Status
			known.AmountDue, known.AmountPaid, known.Currency = e.AmountDue, e.AmountPaid, e.Currency
			known.HasPage, known.HasPDF, known.CreatedAt = len(e.Page) > 0, len(e.PDF) > 0, e.CreatedAt
		})
	case PaymentFailed:
		return s.onInvoice(e.Invoice, func(known *Invoice) { known.Failures = e.Attempts })
	case InvoiceRefunded:
		return s.onInvoice(e.Invoice, func(known *Invoice) { known.Refunded = e.Refunded })
	case InvoiceDisputed:
		return s.onInvoice(e.Invoice, func(known *Invoice) {
			known.Disputed, known.Dispute, known.DisputedSum = e.Disputed, e.Dispute, e.Amount
		})
	}
	return s
}

// onTerms sets the terms of a subscription, which may be a new one, and the facts that depend on them.
func (s State) onTerms(terms Terms, change func(*Subscription)) State {
	if s.index(terms.Subscription) < 0 {
		s.Subscriptions = latest(append(slices.Clip(s.Subscriptions), Subscription{Terms: terms}), maxSubscriptions)
	}
	return s.on(terms.Subscription, func(known *Subscription) {
		known.Terms, known.EndedAt, known.Ran = terms, time.Time{}, known.Ran || entitles(terms.Status)
		change(known)
	}).bought(terms)
}

func (s State) on(id string, change func(*Subscription)) State {
	i := s.index(id)
	if i < 0 {
		return s
	}
	s.Subscriptions = slices.Clone(s.Subscriptions)
	change(&s.Subscriptions[i])
	return s
}

func (s State) onInvoice(id string, change func(*Invoice)) State {
	i := s.invoice(id)
	if i < 0 {
		s.Invoices = latest(append(slices.Clip(s.Invoices), Invoice{ID: id}), maxInvoices)
		i = len(s.Invoices) - 1
	}
	s.Invoices = slices.Clone(s.Invoices)
	change(&s.Invoices[i])
	return s
}

func (s State) invoice(id string) int {
	return slices.IndexFunc(s.Invoices, func(known Invoice) bool { return known.ID == id })
}

// latest returns the last elements of a list.
func latest[T any](all []T, most int) []T { return all[max(0, len(all)-most):] }

// bought stores the price of a plan that is paid.
func (s State) bought(terms Terms) State {
	if !entitles(terms.Status) {
		return s
	}
	s.Bought = true
	return s.priced(terms.Plan, terms.Price)
}

// foreseen stores the price of a plan that begins at a known time, even if the provider is read only later. An earlier
// price of the plan still applies to the usage of its time.
func (s State) foreseen(e ChangeScheduled) State {
	if _, found := s.LastPrices[e.Plan]; found {
		return s
	}
	return s.priced(e.Plan, e.Price)
}

func (s State) priced(of plan.Type, price string) State {
	s.LastPrices = domain.With(s.LastPrices, of, price)
	return s
}

// answered ends the open request, and drops requests that have expired.
func (s State) answered(request string, a Answered) State {
	if s.Open == nil || s.Open.Request != request {
		return s
	}
	a.Requested = *s.Open
	remembered := slices.DeleteFunc(slices.Clone(s.Answered),
		func(old Answered) bool { return a.EndedAt.Sub(old.At) >= domain.RememberedFor })
	s.Open, s.Answered = nil, latest(append(remembered, a), maxRequests)
	return s
}
