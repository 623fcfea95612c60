package ledger

import (
	"slices"
	"time"
)

// State is the state of a period. The zero State is a period that was never opened.
type State struct {
	Terms         PeriodOpened
	Settled       int64         // characters, including those that were brought in
	Reserved      int64         // characters of the open reservations
	Open          []Reservation // in the order of their creation
	SinceSnapshot int           // events since the last SnapshotTaken, or since the beginning

	Credit    int64      // characters granted in this period, including those carried into it
	Grants    []Credited // the grants that make up Credit
	Carried   int64      // characters of the credit that were carried to the period that starts at CarriedTo
	CarriedTo time.Time  // zero while the period is in use; afterwards it is over, and nothing more happens in it
}

// Exists reports whether the period was opened.
func (s State) Exists() bool { return s.Terms.Account != "" }

// Over reports whether the credit was carried over. From then on the period accepts neither reservations nor grants,
// so that the amount carried remains correct.
func (s State) Over() bool { return !s.CarriedTo.IsZero() }

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	s.SinceSnapshot++
	switch e := event.(type) {
	case PeriodOpened:
		s.Terms = e
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
	case SnapshotTaken:
		s = fromSnapshot(e)
	case CreditSnapshotTaken:
		for _, g := range e.Grants {
			s = s.with(g)
		}
	}
	return s
}

func fromSnapshot(e SnapshotTaken) State {
	s := State{Terms: e.PeriodOpened, Settled: e.Characters, Open: e.Reservations}
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
