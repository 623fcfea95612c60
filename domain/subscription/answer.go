package subscription

// Agree ends a request that the provider has carried out. Ending it again has no effect. The account is the state's.
type Agree Agreed

// Decide returns no event if the request is not open.
func (c Agree) Decide(s State) ([]Event, error) {
	if s.Open == nil || s.Open.Request != c.Request {
		return nil, nil
	}
	c.Account = s.Account
	return []Event{Agreed(c)}, nil
}

// Refuse ends a request that the provider has refused. Ending it again has no effect. The account is the state's.
type Refuse Refused

// Decide returns no event if the request is not open.
func (c Refuse) Decide(s State) ([]Event, error) {
	if s.Open == nil || s.Open.Request != c.Request {
		return nil, nil
	}
	c.Account = s.Account
	return []Event{Refused(c)}, nil
}
