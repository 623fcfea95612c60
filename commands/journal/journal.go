// Package journal is the kernel of the commands. It loads a stream, folds its events into a state, calls the command's
// Decide on it, and appends the events at the revision that was read. All slices carry out their commands with it, so that
// conflicts, metadata, derived ids, snapshots and metrics are handled in one place.
//
//   - Execute carries out one command on a stream.
//   - Cached does the same, and keeps the state between commands.
//   - Stream describes how a stream is folded and loaded.
//   - Origin describes on whose behalf a command is carried out.
package journal

import (
	"context"
	"time"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Journal is the log that commands read and write, with the event types that it may hold.
type Journal struct {
	Log      eventlog.Log
	Registry *eventlog.Registry
	// Keys seal the addresses of clients for the metadata. Without them none are recorded.
	Keys Sealer
	// Observe is called when a command has ended, and must not block. It may be nil.
	Observe func(Observation)
	// Unsealed is called when an address could not be sealed, so that the command's events lack it. It may be nil.
	Unsealed func(error)
}

// Sealer is the part of a keyring.Keyring that a Journal needs.
type Sealer interface {
	Seal(ctx context.Context, account string, plaintext []byte, use string) ([]byte, error)
}

// Ended passes an observation to Observe. Execute calls it; a caller of Cached.Batch calls it for each command.
func (j *Journal) Ended(o Observation) {
	if j.Observe != nil {
		j.Observe(o)
	}
}

// Observation is one command that has ended, for metrics.
type Observation struct {
	Command   string // name of the command's type, such as "clip.Delete"
	Took      time.Duration
	Conflicts int // how often the append conflicted, so that the command was decided again
	Err       error
}

// Decider is a command of an aggregate. Decide is pure: it is called again after a conflict.
type Decider[S, E any] interface {
	Decide(state S) ([]E, error)
}

// Execute carries a command out on a stream. After a conflict the command is decided again, until ctx ends. Execute
// returns the state after the command and the position of its last event or, if it decided nothing, of the last event in
// the stream. Errors are those of Decide, unchanged, and those of the log.
//
// The event ids derive from the metadata's command id, so that repeating the same append has no effect.
func Execute[S, E any](ctx context.Context, j *Journal, s Stream[S, E], command Decider[S, E], meta Metadata) (S, eventlog.Position, error) {
	return NewCached(j, s).Execute(ctx, command, meta)
}

// Load returns the state of a stream and its version. The revision of a stream that was never written is NoStream.
func Load[S, E any](ctx context.Context, j *Journal, s Stream[S, E]) (S, Version, error) {
	cached := NewCached(j, s)
	err := cached.Refresh(ctx)
	return cached.state, cached.version, err
}

// Version is the version of a state: the last event that it is folded from, by its revision in the stream and its position
// in the log.
type Version struct {
	Revision eventlog.Revision
	Position eventlog.Position
}
