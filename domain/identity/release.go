package identity

// Release ends the tie between an identity and a closed account. It has no effect if the account is not, or no longer,
// the identity's.
type Release Released

// Decide never refuses.
func (c Release) Decide(s State) ([]Event, error) {
	if c.Account == "" || s.Account != c.Account {
		return nil, nil
	}
	return []Event{Released(c)}, nil
}
