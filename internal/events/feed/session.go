package feed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/pages"
)

// session is a time in which a projector feeds the same projections without a break. Whatever contradicts its state
// (a lost lease, a checkpoint that moved by itself, a lease that fell free) ends it; the next one starts from the
// checkpoints as they are.
type session struct {
	*Projector
	revision  int64     // of the catalogue
	skips     int       // the version of what is skipped
	claimed   []*member // those that this instance feeds
	followed  []*member // those that another instance feeds, as it seems
	foreign   []string  // read models that are not of this log, for which a generation was begun
	lookAgain bool      // a generation seems to be past the log's head
	end       context.CancelCauseFunc

	mu     sync.Mutex // guards the members and their positions across groups
	groups []*group
}

// errChanged says that an operator changed the generations.
var errChanged = errors.New("the generations have changed")

// run feeds the claimed generations until ctx ends or the session must. It returns errChanged when the next session can
// begin at once.
func (s *session) run(ctx context.Context) error {
	ctx, s.end = context.WithCancelCause(ctx)
	defer s.end(nil)
	s.groups = s.byPosition()
	var watching sync.WaitGroup
	watching.Go(func() { s.keepLeases(ctx) })
	watching.Go(func() { s.follow(ctx) })
	watching.Go(func() { s.watch(ctx) })
	watching.Go(func() { s.lookAgainSoon(ctx) })
	defer watching.Wait()
	if len(s.groups) > 0 {
		if err := s.route(ctx); err != nil {
			return err
		}
	}
	<-ctx.Done() // projections that all stopped are no reason to end
	if errors.Is(context.Cause(ctx), errChanged) {
		return errChanged
	}
	return nil
}

// byPosition groups the claimed projections that stand at one position.
func (s *session) byPosition() []*group {
	members := slices.Clone(s.claimed)
	slices.SortStableFunc(members, func(a, b *member) int { return a.position.Compare(b.position) })
	var groups []*group
	for _, m := range members {
		last := len(groups) - 1
		if last < 0 || groups[last].members[0].position != m.position {
			groups = append(groups, &group{session: s, lock: make(chan struct{}, 1)})
			last++
		}
		groups[last].members = append(groups[last].members, m)
	}
	return groups
}

// route runs a Watermill router with a handler for each group until ctx ends or no group is left.
func (s *session) route(ctx context.Context) error {
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: closeTimeout}, watermillLogger(s.logger))
	if err != nil {
		return fmt.Errorf("making the router: %w", err)
	}
	for _, g := range s.groups {
		subscriber, err := pages.NewSubscriber(pages.Config{
			Log:    s.config.Log,
			After:  g.members[0].position,
			Limits: s.config.Limits,
			Decode: s.decode,
			Logger: s.logger,
		})
		if err != nil {
			return err
		}
		g.handler = router.AddConsumerHandler(g.name(), pages.TopicAll, subscriber, g.handle)
	}
	if err := router.Run(ctx); err != nil {
		return fmt.Errorf("running the router: %w", err)
	}
	return nil
}

const closeTimeout = 30 * time.Second

// watermillLogger logs what the router does on the level of details.
func watermillLogger(logger *slog.Logger) watermill.LoggerAdapter {
	return watermill.NewSlogLoggerWithLevelMapping(logger, map[slog.Level]slog.Level{slog.LevelInfo: slog.LevelDebug})
}

func (g *group) name() string {
	names := make([]string, len(g.members))
	for i, m := range g.members {
		names[i] = tableSchema(m.projection.Name, m.projection.Version, m.number)
	}
	return strings.Join(names, "+")
}

// nextAhead is the nearest group that is further than g, and its position.
func (s *session) nextAhead(g *group) (*group, eventlog.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(g.members) == 0 {
		return nil, eventlog.Position{}
	}
	var ahead []*group
	for _, other := range s.groups {
		if len(other.members) > 0 && other.members[0].position.Compare(g.members[0].position) > 0 {
			ahead = append(ahead, other)
		}
	}
	if len(ahead) == 0 {
		return nil, eventlog.Position{}
	}
	next := slices.MinFunc(ahead, func(a, b *group) int { return a.members[0].position.Compare(b.members[0].position) })
	return next, next.members[0].position
}

// positionOf is where a group stands, unless all its members stopped.
func (s *session) positionOf(g *group) (eventlog.Position, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(g.members) == 0 {
		return eventlog.Position{}, false
	}
	return g.members[0].position, true
}

// join moves the members of a group that has caught up to the group ahead, and ends its handler. Both locks are held.
func (s *session) join(g, ahead *group) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(g.members) == 0 || g.members[0].position != ahead.members[0].position {
		return len(g.members) == 0
	}
	ahead.members = append(slices.Clone(ahead.members), g.members...)
	g.members = nil
	g.handler.Stop()
	return true
}

// moved notes a committed page.
func (s *session) moved(p *pageWrite) {
	now := time.Now()
	s.mu.Lock()
	for i, m := range p.members {
		m.position = p.to
		m.parking = m.parking.with(p.rows[i].parked)
	}
	s.mu.Unlock()
	for _, m := range p.members {
		m.progress.advance(p.to, now)
	}
	if s.config.OnPage == nil {
		return
	}
	ids := make([]GenerationID, len(p.members))
	for i, m := range p.members {
		ids[i] = m.id()
	}
	s.config.OnPage(PageStats{
		Generations: ids,
		Events:      len(p.events),
		Foreign:     p.foreign(),
		Rows:        p.count(),
		Took:        now.Sub(p.began),
		Delay:       now.Sub(p.events[len(p.events)-1].Created),
		At:          now,
	})
}

// stop takes a member out of its group and returns its lease. The member stays out until an operator or a release does
// something about the event.
func (s *session) stop(ctx context.Context, g *group, m *member, e parkedEvent, a Alert) error {
	e.reason = a.Detail
	s.stopAt(m.id(), e.event.ID)
	// A session that ends meanwhile waits for this, so that the next one sees what stands in the way.
	noting, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	err := persist(noting, s.logger, "noting what stopped a projection", func() error { return block(noting, s.checkpoints.db, m, e) })
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil { // it stops all the same, though operators do not see the event in their list
		s.logger.ErrorContext(ctx, "what stopped a projection could not be noted", "projection", m.projection.Name, "error", withoutValues(err))
	}
	s.leave(ctx, g, m, a)
	return nil
}

const noteTimeout = 5 * time.Second

func (s *session) leave(ctx context.Context, g *group, m *member, a Alert) {
	s.mu.Lock()
	g.members = slices.DeleteFunc(slices.Clone(g.members), func(other *member) bool { return other == m })
	last := len(g.members) == 0
	s.mu.Unlock()
	s.giveBack(ctx, []*member{m})
	s.config.Alert(a)
	m.progress.enter(StateStopped, a.Detail)
	if last {
		g.handler.Stop()
	}
}

// explain reads the checkpoints after a compare-and-set missed. They may stand where the page ends: then its commit has
// succeeded, although the answer was lost. Otherwise the session ends, and the next one starts from where they are.
func (s *session) explain(ctx context.Context, p *pageWrite) error {
	var rows []checkpoint
	err := persist(ctx, s.logger, "reading checkpoints", func() (err error) {
		rows, err = s.checkpoints.read(ctx, p.members)
		return err
	})
	if err != nil {
		return err
	}
	committed := func(c checkpoint) bool { return c.ours && c.position == p.to }
	if len(rows) == len(p.members) && !slices.ContainsFunc(rows, func(c checkpoint) bool { return !committed(c) }) {
		return nil
	}
	s.restart(ctx, rows, p.from)
	return errMoved
}

// requireCheckpoint ends the session if the member's generation was retired: it has no tables any more, for which no event
// is to blame.
func (s *session) requireCheckpoint(ctx context.Context, m *member) error {
	var rows []checkpoint
	err := persist(ctx, s.logger, "reading a checkpoint", func() (err error) {
		rows, err = s.checkpoints.read(ctx, []*member{m})
		return err
	})
	if err != nil || len(rows) > 0 {
		return err
	}
	s.end(errMoved)
	return errMoved
}

// restart ends the session because checkpoints have moved by themselves.
func (s *session) restart(ctx context.Context, rows []checkpoint, expected eventlog.Position) {
	for _, row := range rows {
		switch {
		case !row.ours:
			s.logger.InfoContext(ctx, "another projector took the read model over", "projection", row.id.Name, "at", expected.String())
		case row.position.Compare(expected) < 0:
			s.logger.WarnContext(ctx, "Postgres lost commits, reading them again from the log",
				"projection", row.id.Name, "from", row.position.String(), "to", expected.String())
		case row.position.Compare(expected) > 0:
			s.config.Alert(Alert{Generation: row.id, Reason: alert.TakenOver, Position: expected, Detail: "another projector with our lease moved the checkpoint"})
		}
	}
	s.end(errMoved)
}

// keepLeases renews the leases while no pages do, and so also notices lost commits and lost leases on a quiet log.
func (s *session) keepLeases(ctx context.Context) {
	for pause(ctx, s.checkpoints.lease/3) == nil {
		for _, g := range s.groups {
			if g.tryAcquire() {
				s.keepLease(ctx, g)
				g.release()
			}
		}
	}
}

func (s *session) keepLease(ctx context.Context, g *group) {
	if len(g.members) == 0 {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, s.checkpoints.lease)
	defer cancel()
	position := g.members[0].position
	rows, err := s.checkpoints.renew(bounded, g.members)
	if err == nil && len(rows) == len(g.members) &&
		!slices.ContainsFunc(rows, func(c checkpoint) bool { return c.position != position }) {
		return
	}
	if err == nil {
		rows, err = s.checkpoints.read(bounded, g.members)
	}
	if err != nil {
		return // the next page or the next round shows it
	}
	s.restart(ctx, rows, position)
}

const (
	followSlowly = 500 * time.Millisecond
	followFast   = 20 * time.Millisecond // while somebody waits for a position
)

// follow watches the projections that another instance feeds: their positions, and whether their leases fall free.
func (s *session) follow(ctx context.Context) {
	if len(s.followed) == 0 {
		return
	}
	for {
		if err := s.look(ctx); err != nil {
			return
		}
		if s.idle(ctx) != nil {
			return
		}
	}
}

// idle waits for the next look, which somebody who waits for a position may hasten.
func (s *session) idle(ctx context.Context) error {
	if slices.ContainsFunc(s.followed, func(m *member) bool { return m.progress.waitedFor() }) {
		return pause(ctx, followFast)
	}
	timer := time.NewTimer(followSlowly)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	case <-s.hasten:
	}
	return nil
}

func (s *session) look(ctx context.Context) error {
	rows, err := s.checkpoints.read(ctx, s.followed)
	if err != nil {
		return ctx.Err() // transient, or it shows up where pages are written
	}
	for _, row := range rows {
		m := s.followed[slices.IndexFunc(s.followed, func(m *member) bool { return m.id() == row.id })]
		m.progress.observe(row.position)
		if row.free {
			s.end(errors.New("a lease fell free"))
		}
	}
	return nil
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
