package changes

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Stream has the changes for one client. One goroutine uses it at a time, but for Close.
type Stream struct {
	of      *Notifier
	account string
	told    chan struct{} // has room for one: there are changes that are due

	// Each change passes through these, from left to right. They are guarded by the Notifier's mutex.
	noted, held, due pending // seen in the log; awaited by a round; shown by reads
}

// Next waits for changes and returns them in the order of their positions. When nothing has changed for a while it
// returns none. After what was returned until now, the client may resume at the position, if there is one.
func (s *Stream) Next(ctx context.Context, quiet time.Duration) ([]Change, *eventlog.Position, error) {
	patience := time.NewTimer(quiet)
	defer patience.Stop()
	select {
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	case <-s.told:
	case <-patience.C:
	}
	changes, position := s.take()
	return changes, position, nil
}

// Close ends the stream. It may be called again.
func (s *Stream) Close() { s.of.close(s) }

// tell makes due what was held. The caller holds the mutex.
func (s *Stream) tell() {
	maps.Copy(s.due, s.held)
	clear(s.held)
	select {
	case s.told <- struct{}{}:
	default:
	}
}

func (s *Stream) take() (changes []Change, position *eventlog.Position) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	for part, at := range s.due {
		changes = append(changes, Change{part, at})
	}
	clear(s.due)
	slices.SortFunc(changes, func(a, b Change) int { return a.Position.Compare(b.Position) })
	if len(s.noted)+len(s.held) == 0 {
		seen := s.of.seen
		position = &seen
	}
	return changes, position
}
