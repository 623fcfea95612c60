package ledger

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
)

// State is the state of a period. The zero State is a period that was never opened.
type State struct {
	Terms         PeriodOpened
	Settled       int64         // characters that count on the terms, including those brought in
	Reserved      int64         // characters of the open reservations
	Open          []Reservation // in the order of their creation
	SinceSnapshot int           // events since the last SnapshotTaken, or since the beginning

	Credit    int64      // characters granted in this period, including carried ones
	Grants    []Credited // the grants that make up Credit
	Carried   int64      // characters of the credit that were carried into a later period
	CarriedTo time.Time  // start of that period; zero until credit was carried, possibly none

	Cap  plan.SpendingCap // of the account
	Rate plan.Rate        // of characters past the plan, on the present terms; zero without a cap

	NextStart time.Time // of the account's next period; zero while this one is in use
	ClosedAt  time.Time // zero while a reservation may still be settled
	Overages  []Overage // of earlier terms, and of the last ones once the period is closed
}

// Exists reports whether the period was opened.
func (s State) Exists() bool { return s.Terms.Account != "" }

// Over reports whether the period has ended. From then on it accepts neither reservations nor grants. Open reservations
// are still settled.
func (s State) Over() bool { return !s.NextStart.IsZero() }

// Closed reports whether the usage of the period is final.
func (s State) Closed() bool { return !s.ClosedAt.IsZero() }

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	s.SinceSnapshot++
	switch e := event.(type) {
	case PeriodOpened:
		s.Terms = e
	case TermsChanged:
		s.Settled -= e.Overage
		s = s.withOverage(e.Overage, e.At)
		s.Terms = e.PeriodOpened
	case Ended:
		s.Terms.End, s.NextStart = e.End, e.To
	case Closed:
		s.ClosedAt = e.At
		s = s.withOverage(e.Overage, e.At).endedAt(e.To)
	case OverageBilled:
		s = s.withBilled(e)
	case SpendingCapSet:
		s.Cap, s.Rate = e.SpendingCap, e.Rate
	case BroughtIn:
		s.Settled += e.Characters
	case Reserved:
		s.Open = append(slices.Clip(s.Open), Reservation{
			ID: e.Reservation, Characters: e.Characters, Source: e.Source, At: e.At, ExpiresAt: e.ExpiresAt,
		})
		s.Reserved += e.Characters
	case Settled:
		s = s.without(e.Reservation)
		s.Settled += e.Characters
	case Expired:
		s = s.without(e.Reservation)
	case CreditGranted:
		s = s.with(Credited{Grant: e.Grant, Characters: e.Characters, From: e.From})
	case CreditCarried:
		s.Carried, s.CarriedTo = e.Characters, e.To
		s = s.endedAt(e.To)
	case SnapshotTaken:
		s = fromSnapshot(e)
	case CreditSnapshotTaken:
		for _, g := range e.Grants {
			s = s.with(g)
		}
	}
	return s
}

// endedAt returns the state of a period that is over. If it had ended before, the start of the next one stays as
// decided then.
func (s State) endedAt(next time.Time) State {
	if !s.Over() {
		s.NextStart = next
	}
	return s
}

// withOverage adds an overage on the present terms.
func (s State) withOverage(characters int64, at time.Time) State {
	if characters > 0 {
		_, amount := s.Rate.Cost(characters)
		s.Overages = append(slices.Clip(s.Overages), Overage{
			Plan: s.Terms.Plan, Version: s.Terms.Version, Characters: characters, At: at, Amount: amount,
		})
	}
	return s
}

func (s State) withBilled(e OverageBilled) State {
	s.Overages = slices.Clone(s.Overages)
	for i := range s.Overages {
		if s.Overages[i].Version == e.Version {
			s.Overages[i].Billed, s.Overages[i].Amount = true, e.Amount
		}
	}
	return s
}

// OverageOn returns the overage on the terms of a version of the entitlement.
func (s State) OverageOn(version int64) (overage Overage, found bool) {
	return domain.First(s.Overages, func(o Overage) bool { return o.Version == version })
}

func fromSnapshot(e SnapshotTaken) State {
	s := State{Terms: e.PeriodOpened, Settled: e.Characters, Open: e.Reservations, Overages: e.Overages, Cap: e.Cap,
		Rate: e.Rate}
	for _, r := range e.Reservations {
		s.Reserved += r.Characters
	}
	return s
}

func (s State) with(g Credited) State {
	s.Grants = append(slices.Clip(s.Grants), g)
	s.Credit += g.Characters
	return s
}

func (s State) find(reservation string) int {
	return slices.IndexFunc(s.Open, func(r Reservation) bool { return r.ID == reservation })
}

func (s State) without(reservation string) State {
	i := s.find(reservation)
	if i < 0 {
		return s
	}
	s.Reserved -= s.Open[i].Characters
	s.Open = slices.Delete(slices.Clone(s.Open), i, i+1)
	return s
}
