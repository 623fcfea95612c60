package feed

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// logLooks is how many looks at the catalogue there are for one at the log's head.
const logLooks = 10

// watch looks at what others may change under a session: the catalogue, and the log itself.
func (s *session) watch(ctx context.Context) {
	tick := time.NewTicker(s.checkpoints.lease / 3)
	defer tick.Stop()
	level := slog.LevelWarn // of the first failure; others are for who looks for them
	for n := 1; ; n++ {
		err := s.lookAround(ctx, n%logLooks == 0)
		switch {
		case err == nil:
			level = slog.LevelWarn
		case ctx.Err() == nil:
			s.logger.Log(ctx, level, "looking at the generations failed, trying again", "error", withoutValues(err))
			level = slog.LevelDebug
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.attention:
		}
	}
}

func (s *session) lookAround(ctx context.Context, atLog bool) error {
	ctx, cancel := context.WithTimeout(ctx, s.checkpoints.lease)
	defer cancel()
	revision, err := catalogueRevision(ctx, s.config.Pool)
	if err != nil {
		return err
	}
	if revision != s.revision || s.config.Registry.SkipsVersion() != s.skips {
		s.end(errChanged)
		return nil
	}
	if atLog {
		if err := s.compareWithLog(ctx); err != nil {
			return err
		}
	}
	return s.promoteReady(ctx)
}

// compareWithLog ends the session when a read model is past the log's head, which means that the log was put back to an
// earlier state, or that the head is that of a node that lags: the next sessions look again.
func (s *session) compareWithLog(ctx context.Context) error {
	var furthest eventlog.Position
	for _, position := range s.positions() {
		if position.Compare(furthest) > 0 {
			furthest = position
		}
	}
	head, err := s.config.Log.Head(ctx)
	if err == nil && furthest.Compare(head) > 0 {
		s.end(errors.New("a read model is past the log's head"))
	}
	return err
}

// promoteReady makes live what was built to become it and has caught up.
func (s *session) promoteReady(ctx context.Context) error {
	var ready []GenerationID
	for _, m := range s.claimed {
		if m.live || !m.promote {
			continue
		}
		goal, err := s.goal(ctx, m)
		if err != nil {
			return err
		}
		if position, running := s.positions()[m]; running && position.Compare(goal) >= 0 {
			ready = append(ready, m.id())
		}
	}
	if len(ready) == 0 {
		return nil
	}
	_, err := s.Promote(ctx, ready)
	return err
}

// goal is how far a generation has to come to be promoted by itself: to where the live one is, or, when that one stopped,
// to the log's head, because what stopped it may lie ahead of the other one, too. So it is when the live one is not of this log.
func (s *session) goal(ctx context.Context, m *member) (eventlog.Position, error) {
	i := slices.IndexFunc(s.models, func(model *progress) bool { return model.model == m.projection.Model })
	if live := s.models[i].snapshot(); live.State == StateRunning || live.State == StateStandby {
		return live.Position, nil
	}
	return s.config.Log.Head(ctx)
}

// positions returns the positions of the members that this session feeds.
func (s *session) positions() map[*member]eventlog.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	positions := map[*member]eventlog.Position{}
	for _, g := range s.groups {
		for _, m := range g.members {
			positions[m] = m.position
		}
	}
	return positions
}
