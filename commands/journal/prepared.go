package journal

import (
	"context"
	"time"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// ExecutePrepared is Execute for a command that contains what was read elsewhere, from a provider say. prepare is called
// with the state that was read from the stream, reads what the command needs, and returns the command. After a conflict
// the stream is read again, and prepare is called again: what was read elsewhere is never older than the revision at which
// the events are appended. Errors of prepare are returned unchanged.
//
// The events differ from one call to the next, so the command's id is drawn: with a derived one the log would take what
// was read later for a repetition.
func ExecutePrepared[S, E any](
	ctx context.Context, j *Journal, s Stream[S, E], prepare func(ctx context.Context, state S) (Decider[S, E], error), meta Metadata,
) (S, eventlog.Position, error) {
	begun := time.Now()
	cached := NewCached(j, s)
	var name string // "" while no command was prepared: an account's stream is no name for metrics
	var refusal error
	conflicts, err := cached.Batch(ctx, func(state S) *Batch[S, E] {
		batch := NewBatch(s.Evolve, state)
		var command Decider[S, E]
		if command, refusal = prepare(ctx, state); refusal == nil {
			name, refusal = NameOf(command), batch.Add(command, meta)
		}
		return batch
	})
	if err == nil {
		err = refusal
	}
	if name != "" {
		j.Ended(Observation{Command: name, Took: time.Since(begun), Conflicts: conflicts, Err: err})
	}
	return cached.state, cached.version.Position, err
}

// AssumeNew takes the stream for one that was never written, so that the first command reads nothing. Where it was written,
// the append conflicts, and the stream is read.
func (c *Cached[S, E]) AssumeNew() { c.known = true }
