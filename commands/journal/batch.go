package journal

// Batch collects the events of several commands on one stream, each decided on the state after the ones before, for one
// append.
type Batch[S, E any] struct {
	evolve     func(S, E) S
	state      S
	writes     []write[E]
	needsFresh bool
}

// write is what one command has decided.
type write[E any] struct {
	meta   Metadata
	events []E
}

// NewBatch returns an empty batch on a state.
func NewBatch[S, E any](evolve func(S, E) S, state S) *Batch[S, E] {
	return &Batch[S, E]{evolve: evolve, state: state}
}

// State returns the state after everything that was added.
func (b *Batch[S, E]) State() S { return b.state }

// Add adds the events that a command decides on State. It returns the command's refusal. A refusal, and a decision without
// events, are valid only on a state that was just read: Cached.Batch reads the state and decides again if it was not.
func (b *Batch[S, E]) Add(command Decider[S, E], meta Metadata) error {
	events, err := command.Decide(b.state)
	if err != nil || len(events) == 0 {
		b.needsFresh = true
		return err
	}
	b.Append(meta, events...)
	return nil
}

// Append adds events that were decided on State.
func (b *Batch[S, E]) Append(meta Metadata, events ...E) {
	for _, event := range events {
		b.state = b.evolve(b.state, event)
	}
	b.writes = append(b.writes, write[E]{meta, events})
}
