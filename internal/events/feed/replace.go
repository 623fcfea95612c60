package feed

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// nobodysEpoch is that of a checkpoint whose position is of no log: epochs begin at 1.
const nobodysEpoch = 0

// replace has another generation built beside a live one that is not of this log, to take its place when it has caught up.
// The live one is kept as it is until then. That it is past the log's head must hold for a lease: the head may be that of a
// node that lags.
func (s *session) replace(ctx context.Context, m *member, from origin) error {
	m.replaced = true
	if from == pastTheEnd && !s.longPast(m.id()) {
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
		s.foreign = append(s.foreign, m.projection.Name)
	}
	return err
}

// beginReplacement disowns the checkpoint, so that no other instance takes its position for one of this log, and begins a
// generation, unless both was done before. It reports whether it did.
func (s *session) beginReplacement(ctx context.Context, tx pgx.Tx, m *member) (began bool, err error) {
	disowned, err := tx.Exec(ctx, `
		update feed.checkpoints set epoch = $4, holder = null, lease_until = '-infinity'
		where `+thisGeneration+` and epoch <> $4`, m.projection.Name, m.projection.Version, m.number, nobodysEpoch)
	if err != nil {
		return false, err
	}
	_, err = oneGeneration(ctx, tx, "name = $1 and version = $2 and promote and not live", m.projection.Name, m.projection.Version)
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

// lookAgainSoon ends a session in which a generation seems to be past the log's head.
func (s *session) lookAgainSoon(ctx context.Context) {
	if s.lookAgain && pause(ctx, s.checkpoints.lease/3) == nil {
		s.end(errChanged)
	}
}
