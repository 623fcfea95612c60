package clip

// State is the state of a clip. The zero State is a clip that was never saved.
type State struct {
	Account string
	Blob    string
	Deleted bool
}

// Exists reports whether the clip was saved and not deleted.
func (s State) Exists() bool { return s.Account != "" && !s.Deleted }

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Saved:
		s.Account, s.Blob = e.Account, e.Blob
	case Deleted:
		s.Deleted = true
	}
	return s
}
