package catalogue

import (
	"slices"

	"github.com/recital-tts/recital/domain"
)

// State is the state of the catalogue: every price that was ever listed, oldest first.
type State struct{ Listed []Listing }

// Listing is a price, and whether it is on sale.
type Listing struct {
	Price
	OnSale bool
}

// Find returns a price that was ever listed.
func (s State) Find(price string) (Listing, bool) {
	return domain.First(s.Listed, func(l Listing) bool { return l.ID == price })
}

func (s State) index(price string) int {
	return slices.IndexFunc(s.Listed, func(l Listing) bool { return l.ID == price })
}

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	s.Listed = slices.Clone(s.Listed)
	switch e := event.(type) {
	case PriceListed:
		if i := s.index(e.ID); i >= 0 {
			s.Listed[i] = Listing{Price: e.Price, OnSale: true}
			return s
		}
		s.Listed = append(s.Listed, Listing{Price: e.Price, OnSale: true})
	case PriceWithdrawn:
		if i := s.index(e.ID); i >= 0 {
			s.Listed[i].OnSale = false
		}
	}
	return s
}
