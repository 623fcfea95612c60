package identity

// Release ends the tie between an identity and an account that is closed. Releasing an account that is not, or no
// longer, the identity's changes nothing.
type Release Released

// Decide never refuses.
func (c Release) Decide(s State) ([]Event, error) {
	if c.Account == "" || s.Account != c.Account {
		return nil, nil
	}
	return []Event{Released(c)}, nil
}
