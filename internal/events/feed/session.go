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
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/pages"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/process/panics"
	"github.com/recital-tts/recital/internal/process/pause"
)

// This file is the state machine of the feed, from top to bottom: a session feeds groups of members, a group handles
// pages, a page is committed after its checkpoints have moved, and a poison event stops its member. The
// leases and the rows of the checkpoints follow.

// session is a period in which a projector feeds the same projections without a break. Anything that contradicts its
// state (a lost lease, a checkpoint moved by another projector, a lease that became free) ends it. The next session
// starts from the checkpoints in the database.
type session struct {
	*Projector
	revision  int64     // of the catalogue
	skips     int       // the version of the skipped events
	claimed   []*member // fed by this instance
	followed  []*member // apparently fed by another instance
	foreign   []string  // read models of another log, with a new generation begun
	lookAgain bool      // a generation seems to be past the log's head
	end       context.CancelCauseFunc

	mu     sync.Mutex // guards the members and their positions across groups
	groups []*group
}

// group is the set of members at one position. They have one handler, and commit a page in one transaction.
type group struct {
	session *session
	handler *message.Handler

	lock    sync.Mutex // held while a page is handled, or while the members' leases are renewed
	members []*member  // changed under the lock and the session's mutex; read under either
}

// member is a generation of a read model in this instance.
type member struct {
	generation
	projection Projection
	replaced   bool // it belongs to another log, and a new generation will replace it
	writers    []*table.Writer
	position   eventlog.Position // committed; it changes under the lock of the member's group
	progress   *progress
}

func newMember(p Projection, g generation, progress *progress) *member {
	m := &member{generation: g, projection: p, progress: progress}
	for _, t := range p.Tables {
		m.writers = append(m.writers, table.NewWriter(t, tableSchema(p.Name, p.Version, g.Number)))
	}
	return m
}

var (
	// errChanged ends a session because an operator changed the generations.
	errChanged = errors.New("the generations have changed")
	// errMoved ends a session because a checkpoint is not where this projector left it.
	errMoved = errors.New("the checkpoint is not where this projector left it")
	// errRetired is returned for a generation that an operator has dropped.
	errRetired = errors.New("the generation was retired")
	// errStopped is returned for a member that has stopped before a poison event.
	errStopped = errors.New("the member has stopped")
)

// run feeds the claimed generations until ctx or the session ends. It returns errChanged if the next session can begin
// immediately.
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
	<-ctx.Done() // do not end the session just because all projections have stopped
	if errors.Is(context.Cause(ctx), errChanged) {
		return errChanged
	}
	return nil
}

// byPosition groups the claimed projections by position.
func (s *session) byPosition() []*group {
	members := slices.Clone(s.claimed)
	slices.SortStableFunc(members, func(a, b *member) int { return a.position.Compare(b.position) })
	var groups []*group
	for _, m := range members {
		last := len(groups) - 1
		if last < 0 || groups[last].members[0].position != m.position {
			groups = append(groups, &group{session: s})
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
		subscriber := pages.NewSubscriber(pages.Config{
			Log:    s.config.Log,
			After:  g.members[0].position,
			Limits: s.config.Limits,
			Decode: s.decode,
			Ahead:  g.ahead,
			Logger: s.logger,
		})
		g.handler = router.AddConsumerHandler(g.name(), pages.TopicAll, subscriber, g.handle)
	}
	if err := router.Run(ctx); err != nil {
		return fmt.Errorf("running the router: %w", err)
	}
	return nil
}

const closeTimeout = 30 * time.Second

// watermillLogger logs the router's actions at debug level.
func watermillLogger(logger *slog.Logger) watermill.LoggerAdapter {
	return watermill.NewSlogLoggerWithLevelMapping(logger, map[slog.Level]slog.Level{slog.LevelInfo: slog.LevelDebug})
}

func (g *group) name() string {
	names := make([]string, len(g.members))
	for i, m := range g.members {
		names[i] = tableSchema(m.Name, m.Version, m.Number)
	}
	return strings.Join(names, "+")
}

// position returns the position of the group, or false if all its members have stopped or joined another group.
func (g *group) position() (eventlog.Position, bool) {
	if len(g.members) == 0 {
		return eventlog.Position{}, false
	}
	return g.members[0].position, true
}

// handle is the Watermill handler. It returns nil, which acknowledges the page, once the page is committed. A page that
// reaches the group ahead is handled up to there, and the members join that group.
func (g *group) handle(msg *message.Message) error {
	page, ok := pages.From(msg.Context())
	if !ok {
		return errors.New("the message carries no page")
	}
	g.lock.Lock()
	defer g.lock.Unlock()
	ahead := g.session.holdAhead(g, page.Last())
	if ahead != nil {
		defer ahead.lock.Unlock()
		page, _ = page.Split(ahead.members[0].position)
	}
	err := g.advance(msg.Context(), page)
	if err == nil && ahead != nil {
		g.session.join(g, ahead)
	}
	if errors.Is(err, errMoved) {
		return context.Canceled // the session has ended, and the next one reads the page again
	}
	return err
}

// holdAhead returns the nearest group ahead of g that a page up to the position last reaches, or nil. It is locked, so
// that it does not move until the members have joined it.
func (s *session) holdAhead(g *group, last eventlog.Position) *group {
	ahead := s.nextAhead(g, last)
	if ahead == nil {
		return nil
	}
	ahead.lock.Lock()
	if position, alive := ahead.position(); alive && last.Compare(position) >= 0 {
		return ahead
	}
	ahead.lock.Unlock()
	return nil
}

func (s *session) nextAhead(g *group, last eventlog.Position) (next *group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, alive := g.position()
	if !alive {
		return nil
	}
	nearest := last
	for _, other := range s.groups {
		position, alive := other.position()
		if alive && position.Compare(own) > 0 && position.Compare(nearest) <= 0 {
			next, nearest = other, position
		}
	}
	return next
}

// join moves the members of a group that has caught up to the group ahead, and ends its handler. Both locks are held.
func (s *session) join(g, ahead *group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if position, alive := g.position(); !alive || position != ahead.members[0].position {
		return
	}
	ahead.members = append(slices.Clone(ahead.members), g.members...)
	g.members = nil
	g.handler.Stop()
}

// advance applies the part of a page after the members' position.
func (g *group) advance(ctx context.Context, page pages.Page) error {
	position, alive := g.position()
	if !alive {
		return nil
	}
	page = page.After(position)
	if len(page.Events) == 0 {
		return nil
	}
	err := g.apply(ctx, g.members, page.Events, g.madeOf(page))
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// apply writes the events for the members in one transaction, with the rows computed ahead, if any. If an event makes
// that fail, each member continues separately. A member that still fails handles the events by halves, down to the
// poison event, where it stops with errStopped.
func (g *group) apply(ctx context.Context, members []*member, events []eventlog.Decoded, made []*table.Rows) error {
	err := g.write(ctx, members, events, made)
	if err == nil || transient(err) || errors.Is(err, errMoved) {
		return err
	}
	if len(members) > 1 {
		for _, m := range slices.Clone(members) {
			if err := g.apply(ctx, []*member{m}, events, nil); err != nil && !errors.Is(err, errStopped) {
				return err
			}
		}
		return nil
	}
	if half := len(events) / 2; half > 0 {
		if err := g.apply(ctx, members, events[:half], nil); err != nil {
			return err
		}
		return g.apply(ctx, members, events[half:], nil)
	}
	return g.poisoned(ctx, members[0], events[0], err)
}

// write turns the events into rows, unless that was done ahead, and commits them with the checkpoints of the members,
// which are all at one position. It retries transient failures. If it returns nil, the members are at the last event.
func (g *group) write(ctx context.Context, members []*member, events []eventlog.Decoded, made []*table.Rows) error {
	p := &pageWrite{
		members: members, events: events, rows: made, from: members[0].position, to: events[len(events)-1].Position,
		began: time.Now(),
	}
	var err error
	if made == nil {
		if p.rows, err = turnedInto(events, members); err != nil {
			return err
		}
	}
	err = persist(ctx, g.session.logger, "committing a page", func() error { return g.commit(ctx, p) })
	if errors.Is(err, errMoved) {
		err = g.session.explain(ctx, p)
	}
	if err != nil {
		return err
	}
	g.session.moved(p)
	return g.session.fault("published")
}

// rowsAhead are the rows of a page that was read ahead, for the members at that time.
type rowsAhead struct {
	members []*member
	rows    []*table.Rows
}

// ahead turns a page into rows while the previous page is committed. Failures are ignored, because they recur when the
// page is handled.
func (g *group) ahead(events []eventlog.Decoded) any {
	g.session.mu.Lock()
	made := rowsAhead{members: g.members}
	g.session.mu.Unlock()
	var err error
	if made.rows, err = turnedInto(events, made.members); err != nil {
		return nil
	}
	return made
}

// madeOf returns the rows of a page that were computed ahead, or nil if the members have changed since.
func (g *group) madeOf(page pages.Page) []*table.Rows {
	made, ok := page.Ahead.(rowsAhead)
	if !ok || !slices.Equal(made.members, g.members) {
		return nil
	}
	return made.rows
}

// turnedInto returns the rows of the events for each member.
func turnedInto(events []eventlog.Decoded, members []*member) ([]*table.Rows, error) {
	all := make([]*table.Rows, len(members))
	for i, m := range members {
		var err error
		if all[i], err = m.turnedInto(events); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// pageWrite holds the writes for one page.
type pageWrite struct {
	members  []*member
	events   []eventlog.Decoded
	rows     []*table.Rows // of each member
	from, to eventlog.Position
	began    time.Time
}

// stats describes the page, committed at a time. Events without a value belong to foreign streams.
func (p *pageWrite) stats(at time.Time) PageStats {
	last := p.events[len(p.events)-1]
	stats := PageStats{Events: len(p.events), Took: at.Sub(p.began), Delay: at.Sub(last.Created)}
	for _, event := range p.events {
		if event.Event == nil {
			stats.Foreign++
		}
	}
	for i, m := range p.members {
		stats.Generations = append(stats.Generations, m.GenerationID)
		stats.Rows += p.rows[i].Count()
		if p.rows[i].Count() > 0 && !slices.Contains(stats.Changed, m.projection.Model) {
			stats.Changed = append(stats.Changed, m.projection.Model)
		}
	}
	return stats
}

// commit makes one attempt to commit a page. The checkpoints move first, which takes their row locks and fences out
// other projectors before any row of a read model changes.
func (g *group) commit(ctx context.Context, p *pageWrite) error {
	err := inRelaxedTransaction(ctx, g.session.checkpoints.db, func(tx pgx.Tx) error {
		if err := g.session.fault("begun"); err != nil {
			return err
		}
		batch := &pgx.Batch{}
		g.session.checkpoints.queueMove(batch, p.members, p.from, p.to, len(p.events))
		for i, m := range p.members {
			for _, w := range m.writers {
				w.Queue(batch, p.rows[i])
			}
		}
		if err := send(ctx, tx, batch, len(p.members)); err != nil {
			return err
		}
		return g.session.fault("written")
	})
	if err != nil {
		return err
	}
	return g.session.fault("committed")
}

// send runs the batch. Its first statement must move the given number of checkpoints.
func send(ctx context.Context, tx pgx.Tx, batch *pgx.Batch, checkpoints int) error {
	results := tx.SendBatch(ctx, batch)
	tag, err := results.Exec()
	if err == nil && tag.RowsAffected() != int64(checkpoints) {
		err = errMoved
	}
	if err != nil {
		_ = results.Close() // the first error counts
		return err
	}
	return results.Close()
}

// turnedInto returns the rows of the events, without the skipped ones.
func (m *member) turnedInto(events []eventlog.Decoded) (*table.Rows, error) {
	rows := table.NewRows(m.projection.Tables)
	for _, event := range events {
		if _, skipped := event.Event.(eventlog.Skipped); skipped || !m.projection.Streams.Include(event.Stream) {
			continue
		}
		err := m.handle(event, rows)
		if err == nil {
			err = rows.Err()
		}
		if err != nil {
			return nil, &permanentError{err}
		}
	}
	return rows, nil
}

// handle calls the projection's handler with one event. A panic counts as an error of the event.
func (m *member) handle(event eventlog.Decoded, rows *table.Rows) (err error) {
	if event, ok := event.Event.(unreadable); ok {
		return event.err
	}
	defer func() {
		if cause := recover(); cause != nil {
			err = panics.Error("the handler", cause)
		}
	}()
	return m.projection.Handle(event, rows)
}

// unreadable is the value of an event that stops any generation that does not skip it.
type unreadable struct{ err error }

// moved records a committed page.
func (s *session) moved(p *pageWrite) {
	now := time.Now()
	s.mu.Lock()
	for _, m := range p.members {
		m.position = p.to
	}
	s.mu.Unlock()
	for _, m := range p.members {
		m.progress.observe(p.to)
	}
	if s.config.OnPage != nil {
		s.config.OnPage(p.stats(now))
	}
}

// explain reads the checkpoints after a failed compare-and-set. If they are at the page's end, its commit succeeded and
// only the answer was lost. Otherwise the session ends, and the next one starts from the checkpoints.
func (s *session) explain(ctx context.Context, p *pageWrite) error {
	rows, err := s.readCheckpoints(ctx, p.members)
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

func (s *session) readCheckpoints(ctx context.Context, members []*member) (rows []checkpoint, err error) {
	err = persist(ctx, s.logger, "reading checkpoints", func() (err error) {
		rows, err = s.checkpoints.read(ctx, members)
		return err
	})
	return rows, err
}

// restart ends the session because checkpoints were moved by another projector or by a crash of Postgres.
func (s *session) restart(ctx context.Context, rows []checkpoint, expected eventlog.Position) {
	for _, row := range rows {
		switch {
		case !row.ours:
			s.logger.InfoContext(ctx, "another projector took the read model over", "projection", row.id.Name, "at",
				expected.String())
		case row.position.Compare(expected) < 0:
			s.logger.WarnContext(ctx, "Postgres lost commits, reading them again from the log",
				"projection", row.id.Name, "from", row.position.String(), "to", expected.String())
		case row.position.Compare(expected) > 0:
			s.config.Alert(Alert{Generation: row.id, Reason: alert.TakenOver, Position: expected,
				Detail: "another projector with our lease moved the checkpoint"})
		}
	}
	s.end(errMoved)
}

// poisoned stops the member before a poison event with errStopped. If a newer release wrote the event, that release,
// which may already run, continues from there. If the generation was retired, and its tables are gone, the session ends
// without blaming an event.
func (g *group) poisoned(ctx context.Context, m *member, event eventlog.Decoded, cause error) error {
	rows, err := g.session.readCheckpoints(ctx, []*member{m})
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		g.session.end(errMoved)
		return errMoved
	}
	a := Alert{Generation: m.GenerationID, Reason: alert.Stopped, Event: event.ID, Position: event.Position}
	where := fmt.Sprintf("event %s of stream %s at %s", event.Type, event.Stream, event.Position)
	a.Detail = where + " is poison: " + withoutValues(cause)
	if errors.Is(cause, eventlog.ErrUnknownType) || errors.Is(cause, eventlog.ErrNewerVersion) {
		a.Reason = alert.Outdated
		a.Detail = where +
			" is not known to this release: a newer release, which wrote it, must go on from here, or else skip it"
	}
	return g.session.stop(ctx, g, m, event.Recorded, a)
}

// stop removes a member from its group, releases its lease, and returns errStopped. The member stays out until an
// operator or a release resolves the event.
func (s *session) stop(ctx context.Context, g *group, m *member, event eventlog.Recorded, a Alert) error {
	s.stopAt(m.GenerationID, event.ID)
	// A session that ends meanwhile waits for this, so that the next one sees the blocking event.
	noting, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	err := persist(noting, s.logger, "noting what stopped a projection",
		func() error { return block(noting, s.checkpoints.db, m, event, a.Detail) })
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil { // it stops nevertheless, without the event in the operators' list
		s.logger.ErrorContext(ctx, "what stopped a projection could not be noted", "projection", m.Name, "error",
			withoutValues(err))
	}
	s.leave(ctx, g, m, a)
	return errStopped
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

// keepLeases renews the leases when no pages do, and so also detects lost commits and lost leases on a quiet log.
func (s *session) keepLeases(ctx context.Context) {
	for pause.For(ctx, s.checkpoints.lease/3) == nil {
		for _, g := range s.groups {
			if g.lock.TryLock() {
				s.keepLease(ctx, g)
				g.lock.Unlock()
			}
		}
	}
}

func (s *session) keepLease(ctx context.Context, g *group) {
	position, alive := g.position()
	if !alive {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, s.checkpoints.lease)
	defer cancel()
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
	followFast   = 20 * time.Millisecond // while a caller waits for a position
)

// follow watches the projections that another instance feeds: their positions, and whether their leases become free.
func (s *session) follow(ctx context.Context) {
	if len(s.followed) == 0 {
		return
	}
	for s.look(ctx) == nil && s.idle(ctx) == nil {
	}
}

// idle waits for the next look, which a caller that waits for a position may hasten.
func (s *session) idle(ctx context.Context) error {
	if slices.ContainsFunc(s.followed, func(m *member) bool { return m.progress.waitedFor() }) {
		return pause.For(ctx, followFast)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(followSlowly):
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
		m := s.followed[slices.IndexFunc(s.followed, func(m *member) bool { return m.GenerationID == row.id })]
		m.progress.observe(row.position)
		if row.free {
			s.end(errors.New("a lease fell free"))
		}
	}
	return nil
}

// checkpoints reads and moves the rows of feed.checkpoints for one run of a projector. All leases end by the clock of
// Postgres, which may jump. A lease that ends later than possible is from before a jump, and is free.
type checkpoints struct {
	db       *pgxpool.Pool
	log      eventlog.Identity
	holder   uuid.UUID // of this run
	instance string
	lease    time.Duration
}

// checkpoint is a row from the view of this run.
type checkpoint struct {
	id       GenerationID
	position eventlog.Position
	ours     bool // this run holds the lease
	free     bool // no run holds the lease
}

// rowKeys are the keys of the members' rows, as three arrays.
func rowKeys(members []*member) (names []string, versions, generations []int) {
	for _, m := range members {
		names, versions, generations = append(names, m.Name), append(versions, m.Version), append(generations, m.Number)
	}
	return names, versions, generations
}

const sameRow = `c.name = m.name and c.version = m.version and c.generation = m.generation`

const moveCheckpoints = `
	update feed.checkpoints c
	set commit_position = $4, prepare_position = $5, events = c.events + $6, moved_at = clock_timestamp(),
	    lease_until = clock_timestamp() + $7::interval
	from unnest($1::text[], $2::integer[], $3::integer[]) as m(name, version, generation)
	where ` + sameRow + ` and c.commit_position = $8 and c.prepare_position = $9
	  and c.holder = $10 and c.log_id = $11 and c.epoch = $12`

// queueMove queues the compare-and-set of the members' rows, which are all at from. If it affects fewer rows than there
// are members, the result is errMoved.
func (c *checkpoints) queueMove(batch *pgx.Batch, members []*member, from, to eventlog.Position, events int) {
	names, versions, generations := rowKeys(members)
	batch.Queue(moveCheckpoints, names, versions, generations, to.Commit, to.Prepare, events, c.lease,
		from.Commit, from.Prepare, c.holder, c.log.LogID, c.log.Epoch)
}

// read returns the members' rows.
func (c *checkpoints) read(ctx context.Context, members []*member) ([]checkpoint, error) {
	names, versions, generations := rowKeys(members)
	rows, err := c.db.Query(ctx, `
		select c.name, c.version, c.generation, c.commit_position, c.prepare_position, c.holder is not distinct from $4,
		       c.holder is null or c.lease_until not between clock_timestamp() and clock_timestamp() + 2 * $5::interval
		from feed.checkpoints c
		join unnest($1::text[], $2::integer[], $3::integer[]) as m(name, version, generation) on `+sameRow,
		names, versions, generations, c.holder, c.lease)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanCheckpoint)
}

// renew extends the leases of the members that are still ours, and returns their rows.
func (c *checkpoints) renew(ctx context.Context, members []*member) ([]checkpoint, error) {
	names, versions, generations := rowKeys(members)
	var renewed []checkpoint
	err := inRelaxedTransaction(ctx, c.db, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			update feed.checkpoints c set lease_until = clock_timestamp() + $5::interval
			from unnest($1::text[], $2::integer[], $3::integer[]) as m(name, version, generation)
			where `+sameRow+` and c.holder = $4
			returning c.name, c.version, c.generation, c.commit_position, c.prepare_position, true, false`,
			names, versions, generations, c.holder, c.lease)
		if err != nil {
			return err
		}
		renewed, err = pgx.CollectRows(rows, scanCheckpoint)
		return err
	})
	return renewed, err
}

// release returns the members' leases, so that another instance need not wait for their end.
func (c *checkpoints) release(ctx context.Context, members []*member) error {
	names, versions, generations := rowKeys(members)
	_, err := c.db.Exec(ctx, `
		update feed.checkpoints c set holder = null, lease_until = '-infinity'
		from unnest($1::text[], $2::integer[], $3::integer[]) as m(name, version, generation)
		where `+sameRow+` and c.holder = $4`, names, versions, generations, c.holder)
	return err
}

// origin is the relation of a checkpoint to the log.
type origin int

const (
	ofThisLog  origin = iota
	ofAnother         // another log, or another epoch of this one
	pastTheEnd        // the position is past the log's head
)

// claim takes the lease of a member's row if it is free, ours, or may be reclaimed after a restart. A generation of
// another log is emptied and rebuilt from the start, unless it is live: then it is not claimed.
func (c *checkpoints) claim(
	ctx context.Context, m *member, reclaim bool, head headReader,
) (claimed checkpoint, from origin, err error) {
	err = pgx.BeginFunc(ctx, c.db, func(tx pgx.Tx) error {
		var log eventlog.Identity
		claimed, log, err = c.lock(ctx, tx, m, reclaim)
		if err != nil || !claimed.free {
			return err
		}
		from, err = c.origin(ctx, claimed.position, log, head)
		switch {
		case err != nil:
			return err
		case from == ofThisLog:
		case m.live && claimed.position != eventlog.Start():
			claimed.free = false
			return nil
		default:
			claimed.position = eventlog.Start()
			if err := c.rebuild(ctx, tx, m); err != nil {
				return err
			}
		}
		if err := unblock(ctx, tx, m); err != nil {
			return err
		}
		return c.take(ctx, tx, m)
	})
	return claimed, from, err
}

// headReader returns the position of the log's last event.
type headReader func(context.Context) (eventlog.Position, error)

const headTimeout = 5 * time.Second

func (c *checkpoints) origin(
	ctx context.Context, position eventlog.Position, log eventlog.Identity, head headReader,
) (origin, error) {
	if log != c.log {
		return ofAnother, nil
	}
	if position == eventlog.Start() {
		return ofThisLog, nil
	}
	ctx, cancel := context.WithTimeout(ctx, headTimeout)
	defer cancel()
	last, err := head(ctx)
	if err == nil && position.Compare(last) > 0 {
		return pastTheEnd, nil
	}
	return ofThisLog, err
}

func (c *checkpoints) lock(
	ctx context.Context, tx pgx.Tx, m *member, reclaim bool,
) (checkpoint, eventlog.Identity, error) {
	var log eventlog.Identity
	row := checkpoint{id: m.GenerationID}
	err := tx.QueryRow(ctx, `
		select commit_position, prepare_position, log_id, epoch,
		       holder is null or holder = $4 or lease_until not between clock_timestamp()
		       and clock_timestamp() + 2 * $7::interval
		       or ($5 and instance = $6)
		from feed.checkpoints where name = $1 and version = $2 and generation = $3 for update`,
		m.Name, m.Version, m.Number, c.holder, reclaim && c.instance != "", c.instance, c.lease,
	).Scan(&row.position.Commit, &row.position.Prepare, &log.LogID, &log.Epoch, &row.free)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errRetired
	}
	return row, log, err
}

func (c *checkpoints) take(ctx context.Context, tx pgx.Tx, m *member) error {
	_, err := tx.Exec(ctx, `
		update feed.checkpoints
		set holder = $4, instance = $5, lease_until = clock_timestamp() + $6::interval
		where name = $1 and version = $2 and generation = $3`,
		m.Name, m.Version, m.Number, c.holder, c.instance, c.lease)
	return err
}

func (c *checkpoints) rebuild(ctx context.Context, tx pgx.Tx, m *member) error {
	if err := emptyTables(ctx, tx, m.projection, m.Number); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		update feed.checkpoints
		set commit_position = 0, prepare_position = 0, events = 0, moved_at = clock_timestamp(), log_id = $4, epoch = $5
		where `+thisGeneration, m.Name, m.Version, m.Number, c.log.LogID, c.log.Epoch)
	return err
}

func scanCheckpoint(row pgx.CollectableRow) (checkpoint, error) {
	var c checkpoint
	err := row.Scan(&c.id.Name, &c.id.Version, &c.id.Number, &c.position.Commit, &c.position.Prepare, &c.ours, &c.free)
	return c, err
}
