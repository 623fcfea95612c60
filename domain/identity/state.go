package identity

// State is the state of an identity. The zero State is an identity that has never signed in.
type State struct {
	Account    string      // "" for none
	FreePeriod *FreePeriod // of the last closed account; nil for none
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
