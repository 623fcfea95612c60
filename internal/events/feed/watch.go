package feed

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/pause"
)

// logLooks is the number of looks at the catalogue for one look at the log's head.
const logLooks = 10

// watch detects external changes under a session: of the catalogue and of the log itself.
func (s *session) watch(ctx context.Context) {
	tick := time.NewTicker(s.checkpoints.lease / 3)
	defer tick.Stop()
	level := slog.LevelWarn // of the first failure; later ones are logged at debug level
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

// compareWithLog ends the session if a read model is past the log's head. Either the log was restored to an earlier
// state, or the head comes from a lagging node, so the next sessions check again.
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

// promoteReady promotes generations that were built to be promoted and have caught up.
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
			ready = append(ready, m.GenerationID)
		}
	}
	if len(ready) == 0 {
		return nil
	}
	_, err := s.Promote(ctx, ready)
	return err
}

// goal returns the position at which a generation is promoted automatically: the live one's, or, if that one has
// stopped, the log's head, because the blocking event may be ahead of the new one, too. The same applies if the live
// one is not of this log.
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

// noEpoch is the epoch of a checkpoint that belongs to no log: epochs begin at 1.
const noEpoch = 0

// replace builds another generation to replace a live one that is not of this log, when it has caught up. The live one
// is kept unchanged until then. A position past the log's head must persist for a lease, because the head may come from
// a lagging node.
func (s *session) replace(ctx context.Context, m *member, from origin) error {
	m.replaced = true
	if from == pastTheEnd && !s.longPast(m.GenerationID) {
		s.lookAgain = true
		m.progress.enter(StateStarting, "")
		return nil
	}
	m.progress.forget()
	m.progress.observe(eventlog.Start())
	m.progress.enter(StateStarting, "")
	var began bool
	err := persist(ctx, s.logger, "beginning another generation", func() error {
		return inSetUp(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
			began, err = s.beginReplacement(ctx, tx, m)
			return err
		})
	})
	if began {
		s.foreign = append(s.foreign, m.Name)
	}
	return err
}

// beginReplacement invalidates the checkpoint, so that no other instance mistakes its position for one of this log, and
// begins a generation. It returns false if both was done before.
func (s *session) beginReplacement(ctx context.Context, tx pgx.Tx, m *member) (began bool, err error) {
	disowned, err := tx.Exec(ctx, `
		update feed.checkpoints set epoch = $4, holder = null, lease_until = '-infinity'
		where `+thisGeneration+` and epoch <> $4`, m.Name, m.Version, m.Number, noEpoch)
	if err != nil {
		return false, err
	}
	_, err = oneGeneration(ctx, tx, "name = $1 and version = $2 and promote and not live", m.Name,
		m.Version)
	if disowned.RowsAffected() == 0 && !errors.Is(err, pgx.ErrNoRows) {
		return false, err
	}
	if _, err := s.begin(ctx, tx, m.projection, true); err != nil {
		return false, err
	}
	return true, changeCatalogue(ctx, tx)
}

// longPast reports whether a generation has been past the log's head for a lease.
func (p *Projector) longPast(id GenerationID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.past[id]; !known {
		p.past[id] = time.Now()
	}
	return time.Since(p.past[id]) >= p.checkpoints.lease
}

func (p *Projector) clearPast(id GenerationID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.past, id)
}

// lookAgainSoon ends a session with a generation that seems to be past the log's head.
func (s *session) lookAgainSoon(ctx context.Context) {
	if s.lookAgain && pause.For(ctx, s.checkpoints.lease/3) == nil {
		s.end(errChanged)
	}
}
