package identity

// State is the state of an identity. The zero State is an identity that never signed in.
type State struct {
	Account    string      // "" for none
	FreePeriod *FreePeriod // what the last account that was closed has left; nil for nothing
}

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Claimed:
		s.Account = e.Account
	case Released:
		s.Account = ""
		if e.FreePeriod != nil {
			s.FreePeriod = e.FreePeriod
		}
	}
	return s
}
