package commandstest

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Sides returns the values of Fuse.After for a crash at a change: before it, after it, or both. A crash before a change
// equals a crash after the previous one, so only the first change has both sides.
func Sides(at int) (after []bool) {
	if at == 1 {
		return []bool{false, true}
	}
	return []bool{true}
}

// Fuse crashes an instance at its At-th change outside of it, before or after the change. Later changes have no effect.
type Fuse struct {
	At    int
	After bool
	Die   context.CancelFunc // ends the instance's context; nil if it has none

	mu    sync.Mutex
	count int
}

// ErrDead is the error of changes and reads by an instance that has crashed, unless its context has ended.
var ErrDead = errors.New("the instance is dead")

// Burn executes a change, unless the instance crashes at it.
func (f *Fuse) Burn(ctx context.Context, change func(context.Context) error) error {
	count := f.next()
	if count < f.At {
		return change(ctx)
	}
	if count == f.At && f.After {
		if err := change(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	if f.Die == nil {
		return ErrDead
	}
	f.Die()
	return ctx.Err()
}

// Pass counts a change that is executed elsewhere, and reports whether the instance crashes at it.
func (f *Fuse) Pass() bool { return f.next() >= f.At }

func (f *Fuse) next() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	return f.count
}

// Blown reports whether the instance has crashed.
func (f *Fuse) Blown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count >= f.At
}

// MortalLog is the log of an instance that crashes by a fuse.
type MortalLog struct {
	eventlog.Log
	Fuse *Fuse
}

// Append implements eventlog.Log.
func (l MortalLog) Append(
	ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) (made eventlog.Appended, err error) {
	err = l.Fuse.Burn(ctx, func(ctx context.Context) error {
		made, err = l.Log.Append(ctx, stream, expected, events)
		return err
	})
	return made, err
}

// ReadStreamBackwards implements eventlog.Log.
func (l MortalLog) ReadStreamBackwards(ctx context.Context, stream string) iter.Seq2[eventlog.Recorded, error] {
	if l.Fuse.Blown() {
		return func(yield func(eventlog.Recorded, error) bool) { yield(eventlog.Recorded{}, ErrDead) }
	}
	return l.Log.ReadStreamBackwards(ctx, stream)
}
