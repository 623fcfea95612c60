package catalogue

import (
	"slices"
	"time"
)

// Observe records the prices on sale now. Observing the same prices again has no effect.
type Observe struct {
	Prices []Price
	At     time.Time
}

// Decide lists new and changed prices, and withdraws the others.
func (c Observe) Decide(s State) ([]Event, error) {
	var events []Event
	for _, p := range c.Prices {
		if known, found := s.Find(p.ID); !found || !known.OnSale || known.Price != p {
			events = append(events, PriceListed{Price: p, At: c.At})
		}
	}
	for _, known := range s.Listed {
		if known.OnSale && !slices.ContainsFunc(c.Prices, func(p Price) bool { return p.ID == known.ID }) {
			events = append(events, PriceWithdrawn{ID: known.ID, At: c.At})
		}
	}
	return events, nil
}
