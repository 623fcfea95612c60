// Package journal is the kernel of the commands. It loads a stream, folds its events into a state, calls the command's
// Decide on it, and appends the events at the revision that was read. All slices execute their commands with it, so
// that conflicts, metadata, derived ids, snapshots and metrics are handled in one place.
//
//   - Execute executes one command on a stream.
//   - Cached does the same, and keeps the state between commands.
//   - Stream describes where events are stored, and how they are folded.
//   - Origin describes on whose behalf a command is executed.
package journal

import (
	"context"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/tracing"
)

// Journal is the log that commands read and write, with its event types.
type Journal struct {
	Log      eventlog.Log
	Registry *eventlog.Registry
	// Keys seal the addresses of clients for the metadata. Without them no address is recorded.
	Keys Sealer
	// Observe is called at the end of each command, and must not block. It may be nil.
	Observe func(Observation)
	// Unsealed is called if an address could not be sealed, so that the command's events lack it. It may be nil.
	Unsealed func(error)
}

// Sealer is the part of a keyring.Keyring that a Journal needs.
type Sealer interface {
	Seal(ctx context.Context, account string, plaintext []byte, use string) ([]byte, error)
}

// Observation is the metrics of a command.
type Observation struct {
	Command   string // name of the command's type, such as "clip.Delete"
	Took      time.Duration
	Conflicts int // after each of which the command was decided again
	Err       error
}

// Running is a command in execution. It is measured, and part of the trace of a request.
type Running struct {
	journal *Journal
	begun   time.Time
	span    tracing.Span
}

// Begin begins to measure a command. Execute does so; a caller of Cached.Batch calls it for each command.
func (j *Journal) Begin(ctx context.Context) (context.Context, Running) {
	ctx, span := tracing.Start(ctx, "command")
	return ctx, Running{journal: j, begun: time.Now(), span: span}
}

// End ends the command. Its name is "" if there was none to execute. A refusal by the domain is not a failure in the
// trace.
func (r Running) End(name string, conflicts int, err error) {
	if r.journal.Observe != nil && name != "" {
		r.journal.Observe(Observation{Command: name, Took: time.Since(r.begun), Conflicts: conflicts, Err: err})
	}
	r.span.Set("recital.command", name)
	if conflicts > 0 {
		r.span.Count("recital.conflicts", conflicts)
	}
	if code := domain.CodeOf(err); code != "" && code != domain.Unavailable {
		r.span.Set("recital.refusal", string(code))
		err = nil
	}
	r.span.End(err)
}

// Later returns the later of two positions.
func Later(a, b eventlog.Position) eventlog.Position {
	if a.Compare(b) > 0 {
		return a
	}
	return b
}
