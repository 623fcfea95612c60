package usage

import "slices"

// State is a period. The zero State is one that was never opened.
type State struct {
	Terms    PeriodOpened
	Settled  int64         // characters
	Reserved int64         // characters of the open reservations
	Open     []Reservation // in the order in which they were made
	SinceSum int           // events since the last Summed, or since the beginning
}

// Exists tells whether the period was opened.
func (s State) Exists() bool { return s.Terms.Account != "" }

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	s.SinceSum++
	switch e := event.(type) {
	case PeriodOpened:
		s.Terms = e
	case Reserved:
		s.Open = append(slices.Clip(s.Open), Reservation{ID: e.Reservation, Characters: e.Characters, ExpiresAt: e.ExpiresAt})
		s.Reserved += e.Characters
	case Settled:
		s = s.without(e.Reservation)
		s.Settled += e.Characters
	case Expired:
		s = s.without(e.Reservation)
	case Summed:
		s = State{Terms: e.PeriodOpened, Settled: e.Characters, Open: e.Reservations}
		for _, r := range e.Reservations {
			s.Reserved += r.Characters
		}
	}
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
