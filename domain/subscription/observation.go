package subscription

import (
	"bytes"
	"time"
)

// DisputeLost is the state of a lost dispute: the payment was taken back.
const DisputeLost = "lost"

// observation collects the events of one observation, and the state after them.
type observation struct {
	Observe
	state  State
	events []Event
}

func (o *observation) decide(events ...Event) {
	for _, event := range events {
		o.state = Evolve(o.state, event)
	}
	o.events = append(o.events, events...)
}

func (o *observation) subscription(seen Observed) {
	known, found := o.state.Find(seen.Subscription)
	if !found {
		o.decide(Created{Account: o.state.Account, Terms: seen.Terms, At: o.At})
		known = Subscription{Terms: Terms{Subscription: seen.Subscription, Status: "incomplete", Price: seen.Price,
			Plan: seen.Plan}}
	}
	o.terms(known, seen, found)
	if phaseOf(seen.Status) != over {
		o.pending(seen)
		o.schedule(seen)
		o.cancellation(seen)
	}
}

// terms records terms that have changed.
func (o *observation) terms(known Subscription, seen Observed, found bool) {
	before, now := phaseOf(known.Status), phaseOf(seen.Status)
	if found && known.Terms == seen.Terms || !found && now == waiting {
		return
	}
	account := o.state.Account
	repriced := before != waiting && now != over && known.Price != seen.Price
	if repriced {
		o.decide(PlanChanged{Account: account, Terms: seen.Terms, From: known.Plan, At: o.At})
	}
	switch {
	case now == over:
		o.decide(Ended{Account: account, Terms: seen.Terms, EndedAt: o.endOf(known, seen), At: o.At})
	case now == waiting:
		o.decide(Created{Account: account, Terms: seen.Terms, At: o.At})
	case now == due && before != due:
		o.decide(FellDue{Account: account, Terms: seen.Terms, GraceEnds: o.At.Add(o.Grace), At: o.At})
	case now == running && known.Status != seen.Status:
		o.decide(Activated{Account: account, Terms: seen.Terms, At: o.At})
	case !repriced:
		o.decide(Renewed{Account: account, Terms: seen.Terms, At: o.At})
	}
}

// endOf returns the end of a subscription. The provider does not report one for a subscription that is no longer paid.
func (o *observation) endOf(known Subscription, seen Observed) time.Time {
	switch {
	case !seen.EndedAt.IsZero():
		return seen.EndedAt
	case !known.EndedAt.IsZero():
		return known.EndedAt
	}
	return o.At
}

func (o *observation) schedule(seen Observed) {
	known, _ := o.state.Find(seen.Subscription)
	switch {
	case seen.Scheduled == nil && known.Scheduled != nil:
		o.decide(ScheduledChangeDropped{Account: o.state.Account, Subscription: seen.Subscription, At: o.At})
	case seen.Scheduled != nil && (known.Scheduled == nil || *known.Scheduled != *seen.Scheduled):
		o.decide(ChangeScheduled{
			Account: o.state.Account, Subscription: seen.Subscription,
			Price: seen.Scheduled.Price, Plan: seen.Scheduled.Plan, EffectiveAt: seen.Scheduled.EffectiveAt, At: o.At,
		})
	}
}

func (o *observation) pending(seen Observed) {
	known, _ := o.state.Find(seen.Subscription)
	switch {
	case seen.Pending == nil && known.Pending != nil:
		o.decide(PendingChangeEnded{Account: o.state.Account, Subscription: seen.Subscription,
			Made: seen.Price == known.Pending.Price, At: o.At})
	case seen.Pending != nil && (known.Pending == nil || *known.Pending != *seen.Pending):
		o.decide(ChangePending{
			Account: o.state.Account, Subscription: seen.Subscription, Price: seen.Pending.Price, Plan: seen.Pending.Plan,
			Invoice: seen.Pending.Invoice, ExpiresAt: seen.Pending.ExpiresAt, At: o.At,
		})
	}
}

func (o *observation) cancellation(seen Observed) {
	known, _ := o.state.Find(seen.Subscription)
	switch {
	case !seen.CancelAtPeriodEnd && !known.CancelAt.IsZero():
		o.decide(CancellationWithdrawn{Account: o.state.Account, Subscription: seen.Subscription, At: o.At})
	case seen.CancelAtPeriodEnd && !known.CancelAt.Equal(seen.PeriodEnd):
		o.decide(CancellationScheduled{Account: o.state.Account, Subscription: seen.Subscription, CancelAt: seen.PeriodEnd,
			At: o.At})
	}
}

// deletion ends the subscriptions and the card of a customer that the provider no longer has.
func (o *observation) deletion() {
	for _, known := range o.state.Subscriptions {
		if phaseOf(known.Status) != over {
			terms := known.Terms
			terms.Status = "canceled"
			o.decide(Ended{Account: o.state.Account, Terms: terms, EndedAt: o.At, At: o.At})
		}
	}
	o.decide(CustomerDeleted{Account: o.state.Account, Customer: o.Customer, At: o.At})
}

func (o *observation) card() {
	seen := Card{}
	if o.Card != nil && !o.Deleted {
		seen = *o.Card
	}
	known := Card{}
	if o.state.Card != nil {
		known = *o.state.Card
	}
	if known.PaymentMethod == seen.PaymentMethod && bytes.Equal(known.Brand, seen.Brand) &&
		bytes.Equal(known.Last4, seen.Last4) {
		return
	}
	o.decide(CardChanged{Account: o.state.Account, PaymentMethod: seen.PaymentMethod, Brand: seen.Brand, Last4: seen.Last4,
		At: o.At})
}

func (o *observation) invoice(seen Billed) {
	known := Invoice{}
	if i := o.state.invoice(seen.ID); i >= 0 {
		known = o.state.Invoices[i]
	}
	account := o.state.Account
	if known.differs(seen) {
		o.decide(InvoiceRecorded{
			Account: account, Invoice: seen.ID, Subscription: seen.Subscription, Number: seen.Number, Status: seen.Status,
			AmountDue:  seen.AmountDue,
			AmountPaid: seen.AmountPaid, Currency: seen.Currency, Page: seen.Page, PDF: seen.PDF, CreatedAt: seen.CreatedAt,
			At: o.At,
		})
	}
	if seen.Status != "paid" && seen.Attempts > known.Failures {
		o.decide(PaymentFailed{Account: account, Invoice: seen.ID, Attempts: seen.Attempts, At: o.At})
	}
	if seen.Refunded != known.Refunded {
		o.decide(InvoiceRefunded{Account: account, Invoice: seen.ID, Refunded: seen.Refunded, Currency: seen.Currency,
			At: o.At})
	}
	if seen.Disputed != known.Disputed || seen.Dispute != known.Dispute || seen.DisputedSum != known.DisputedSum {
		o.decide(InvoiceDisputed{Account: account, Invoice: seen.ID, Disputed: seen.Disputed, Dispute: seen.Dispute,
			Amount: seen.DisputedSum, Currency: seen.Currency, At: o.At,
			EndsPlan: o.EndDisputed && seen.Dispute == DisputeLost && known.Dispute != DisputeLost})
	}
}

// differs reports whether an invoice has to be recorded again. Its addresses change with each read, so only their
// presence is compared.
func (known Invoice) differs(seen Billed) bool {
	now := known
	now.ID, now.Subscription, now.Number, now.Status = seen.ID, seen.Subscription, seen.Number, seen.Status
	now.AmountDue, now.AmountPaid, now.Currency, now.CreatedAt = seen.AmountDue, seen.AmountPaid, seen.Currency,
		seen.CreatedAt
	now.HasPage, now.HasPDF = len(seen.Page) > 0, len(seen.PDF) > 0
	return now != known
}
