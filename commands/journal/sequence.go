package journal

// Sequence is several commands as one: it appends the events of all of them, or none if one of them is refused. In metrics
// it has the name of the last one.
type Sequence[S, E any] struct {
	Evolve   func(S, E) S
	Commands []Decider[S, E]
}

// Decide implements Decider.
func (s Sequence[S, E]) Decide(state S) ([]E, error) {
	var events []E
	for _, command := range s.Commands {
		decided, err := command.Decide(state)
		if err != nil {
			return nil, err
		}
		for _, event := range decided {
			state = s.Evolve(state, event)
		}
		events = append(events, decided...)
	}
	return events, nil
}
