package subscription

import "time"

// Agree ends a request that the provider has carried out. Ending it again has no effect.
type Agree struct {
	Request     string
	Object      string
	EffectiveAt time.Time
	First       *First
	At          time.Time
}

// Decide returns no event if the request is not open.
func (c Agree) Decide(s State) ([]Event, error) {
	if s.Open == nil || s.Open.Request != c.Request {
		return nil, nil
	}
	return []Event{Agreed{
		Account: s.Account, Request: c.Request, Object: c.Object, EffectiveAt: c.EffectiveAt, First: c.First, At: c.At,
	}}, nil
}

// Refuse ends a request that the provider has refused. Ending it again has no effect.
type Refuse struct {
	Request string
	Reason  Reason
	Decline string
	Invoice string
	At      time.Time
}

// Decide returns no event if the request is not open.
func (c Refuse) Decide(s State) ([]Event, error) {
	if s.Open == nil || s.Open.Request != c.Request {
		return nil, nil
	}
	return []Event{Refused{
		Account: s.Account, Request: c.Request, Reason: c.Reason, Decline: c.Decline, Invoice: c.Invoice, At: c.At,
	}}, nil
}
