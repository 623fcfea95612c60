// Package feed projects the event log into Postgres read models.
//
// A Subscriber is a Watermill subscriber whose messages carry pages of consecutive events. A Projector runs a
// Watermill router on it: the projections at the same position share one handler, which commits the rows of a page
// and the checkpoints in one transaction, and acknowledges the page afterwards. A checkpoint advances by
// compare-and-set, so that no event is applied twice or skipped, whatever crashes. A projection that is behind has a
// handler of its own until it has caught up with the others.
//
// Each instance runs a Projector. A lease in the checkpoint keeps all but one of them idle; correctness depends on
// the compare-and-set alone.
package feed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/pages"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/process/pause"
	"github.com/recital-tts/recital/internal/process/tracing"
)

// Config configures a Projector.
type Config struct {
	Log         eventlog.Log
	Registry    *eventlog.Registry
	Pool        *pgxpool.Pool
	Identity    eventlog.Identity // a read model with a checkpoint of another log or epoch is rebuilt
	Projections []Projection

	Limits pages.Limits  // of a page
	Lease  time.Duration // time until a standby takes over from a dead instance; 0 means 3 s
	// the same after a restart, so that a restarted instance need not wait for its own lease; may be empty
	Instance string

	Logger *slog.Logger            // nil discards
	Alert  func(Alert)             // called for problems that need an operator, must not block; nil discards
	OnPage func(PageStats)         // called after each commit, must not block; may be nil
	fault  func(step string) error // tests fail or crash the loop here
}

// PageStats describes a committed page.
type PageStats struct {
	Generations []GenerationID
	Changed     []readmodel.Model // models with written or deleted rows
	Events      int
	Foreign     int           // events of foreign streams, which are skipped
	Rows        int           // written or deleted, in all generations
	Took        time.Duration // from the page's arrival to its commit
	Delay       time.Duration // from the last event's record in the log to its commit, by two clocks
}

const defaultLease = 3 * time.Second

func (c *Config) setDefaults() {
	if c.Lease == 0 {
		c.Lease = defaultLease
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Alert == nil {
		c.Alert = func(Alert) {}
	}
}

func (c *Config) validate() error {
	switch {
	case c.Log == nil, c.Registry == nil, c.Pool == nil:
		return errors.New("projector: event log, registry and pool are needed")
	case c.Identity.LogID == uuid.Nil:
		return errors.New("projector: the log has no identity")
	}
	if err := checkAll(c.Projections); err != nil {
		return fmt.Errorf("projector: %w", err)
	}
	for _, p := range c.Projections {
		if err := c.Registry.Requires(p.Streams); err != nil {
			return fmt.Errorf("projector: projection %s: %w", p.Name, err)
		}
	}
	return nil
}

// Projector feeds the generations of its projections: live ones, new ones, and those kept for a rollback.
type Projector struct {
	config      Config
	logger      *slog.Logger
	checkpoints *checkpoints
	models      []*progress   // of each projection: the position of its views
	hasten      chan struct{} // a caller waits for a position that another instance commits
	attention   chan struct{} // this instance has changed the catalogue
	caughtUp    chan struct{}
	statements  sync.Map     // of the executed queries
	deadline    readDeadline // of reads

	mu      sync.Mutex
	members []*member                  // of the current session, replaced as a whole
	stopped map[GenerationID]uuid.UUID // the event that stopped a generation here
	past    map[GenerationID]time.Time // when a generation was first seen past the log's head
}

// NewProjector checks the configuration and the projections.
func NewProjector(config Config) (*Projector, error) {
	config.setDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	p := &Projector{
		config: config,
		logger: config.Logger,
		checkpoints: &checkpoints{
			db: config.Pool, log: config.Identity, holder: uuid.New(), instance: config.Instance, lease: config.Lease,
		},
		hasten:    make(chan struct{}, 1),
		attention: make(chan struct{}, 1),
		caughtUp:  make(chan struct{}),
		stopped:   map[GenerationID]uuid.UUID{},
		past:      map[GenerationID]time.Time{},
	}
	for _, projection := range config.Projections {
		p.models = append(p.models, newProgress(projection, p.followSoon))
	}
	return p, nil
}

// Run creates missing read models and feeds them until ctx ends, then returns nil. It survives outages of the log and
// of Postgres. It returns an error if it cannot start, for example because the tables of a projection changed without a
// new version. It can be called once.
func (p *Projector) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var announcing sync.WaitGroup
	defer announcing.Wait()
	defer cancel()
	announcing.Go(func() { p.announceCaughtUp(ctx) })

	if err := p.setUp(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("starting the projector: %w", err)
	}
	defer func() { p.giveBack(ctx, p.present()) }()
	return p.runSessions(ctx)
}

func (p *Projector) setUp(ctx context.Context) error {
	for _, projection := range p.config.Projections {
		err := persist(ctx, p.logger, "setting up read models", func() error {
			return setUp(ctx, p.config.Pool, projection)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// betweenSessions is the pause between sessions. It slows down projectors that fence each other out.
const betweenSessions = 100 * time.Millisecond

func (p *Projector) runSessions(ctx context.Context) error {
	for first := true; ctx.Err() == nil; first = false {
		s, err := p.claim(ctx, first)
		if err == nil {
			err = s.run(ctx)
		}
		if ctx.Err() != nil {
			break
		}
		if err != nil && !errors.Is(err, errChanged) {
			return err
		}
		if err == nil && pause.For(ctx, betweenSessions) != nil {
			break
		}
	}
	return nil
}

// claim takes all generations and the available leases. Only the first session reclaims leases from before a restart. A
// blocked generation is not claimed if its event stopped it in this instance. Otherwise it is tried, because the
// instance in which it stopped may run another release.
func (p *Projector) claim(ctx context.Context, first bool) (*session, error) {
	var c catalogue
	skips := p.config.Registry.SkipsVersion()
	err := persist(ctx, p.logger, "reading the generations", func() (err error) {
		c, err = readCatalogue(ctx, p.config.Pool, p.config.Projections)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the generations: %w", err)
	}
	if p.lacksGenerations(c) { // the database was emptied
		return p.claimAnew(ctx, first)
	}
	s := &session{Projector: p, revision: c.revision, skips: skips}
	for _, m := range p.take(c) {
		if b := c.blocked[m.GenerationID]; b != (blocked{}) && b.by == p.stoppedAt(m.GenerationID) &&
			!p.config.Registry.IsSkipped(b.by) {
			m.progress.enter(StateStopped, b.reason)
			continue
		}
		ours, err := s.claimOne(ctx, m, first)
		switch {
		case errors.Is(err, errRetired) && m.live: // a live one cannot be retired: its checkpoint was deleted
			return p.claimAnew(ctx, first)
		case errors.Is(err, errRetired):
		case err != nil:
			return nil, fmt.Errorf("claiming read model %s: %w", m.Name, err)
		case ours:
			s.claimed = append(s.claimed, m)
		case m.replaced:
		default:
			s.followed = append(s.followed, m)
		}
	}
	if len(s.foreign) > 0 {
		p.logger.WarnContext(ctx, "read models are not of this log and epoch, building other generations", "projections",
			s.foreign)
	}
	return s, nil
}

// claimAnew creates what read models are missing, and claims their generations.
func (p *Projector) claimAnew(ctx context.Context, first bool) (*session, error) {
	if err := p.setUp(ctx); err != nil {
		return nil, err
	}
	return p.claim(ctx, first)
}

// lacksGenerations reports whether a read model has no generation.
func (p *Projector) lacksGenerations(c catalogue) bool {
	return slices.ContainsFunc(p.config.Projections, func(projection Projection) bool {
		return !slices.ContainsFunc(c.generations, func(g generation) bool {
			return g.Name == projection.Name && g.Version == projection.Version
		})
	})
}

// take returns members for the generations with tables that this binary knows.
func (p *Projector) take(c catalogue) []*member {
	var members []*member
	for _, g := range c.generations {
		i := slices.IndexFunc(p.config.Projections, func(p Projection) bool { return p.Name == g.Name })
		projection := p.config.Projections[i]
		if err := c.fits(projection, g); err != nil {
			detail := fmt.Sprintf("generation %d has other tables than this release and is not fed: %s", g.Number, err)
			p.config.Alert(Alert{Generation: g.GenerationID, Reason: alert.NotFed, Detail: detail})
			continue
		}
		progress := p.models[i]
		if !g.live {
			progress = newProgress(projection, p.followSoon)
		}
		members = append(members, newMember(projection, g, progress))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members = members
	return members
}

// present returns the members of the current session.
func (p *Projector) present() []*member {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.members
}

func (p *Projector) stopAt(id GenerationID, event uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped[id] = event
}

// stoppedAt returns the last event that stopped a generation in this instance.
func (p *Projector) stoppedAt(id GenerationID) uuid.UUID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped[id]
}

func (s *session) claimOne(ctx context.Context, m *member, first bool) (bool, error) {
	var row checkpoint
	var from origin
	err := persist(ctx, s.logger, "claiming checkpoints", func() (err error) {
		row, from, err = s.checkpoints.claim(ctx, m, first, s.config.Log.Head)
		return err
	})
	if err != nil {
		return false, err
	}
	if from != ofThisLog && m.live && row.position != eventlog.Start() {
		return false, s.replace(ctx, m, from)
	}
	s.clearPast(m.GenerationID)
	m.position = row.position
	m.progress.observe(row.position)
	if row.free {
		m.progress.enter(StateRunning, "")
	} else {
		m.progress.enter(StateStandby, "")
	}
	return row.free, nil
}

const giveBackTimeout = 2 * time.Second

// giveBack releases leases. If that fails, they expire.
func (p *Projector) giveBack(ctx context.Context, members []*member) {
	if p.fault("releasing") != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()
	if err := p.checkpoints.release(ctx, members); err != nil {
		p.logger.InfoContext(ctx, "leases were not given back, they run out by themselves", "error", withoutValues(err))
	}
}

// decode returns an event with its Go value. An event of a foreign stream has none, because it may have another form.
// An unreadable one of ours stops the projections that read its stream.
func (p *Projector) decode(recorded eventlog.Recorded) eventlog.Decoded {
	if !p.config.Registry.Ours(recorded.Stream) {
		return eventlog.Decoded{Recorded: recorded}
	}
	decoded, err := p.config.Registry.Decode(recorded)
	if err != nil {
		return eventlog.Decoded{Recorded: recorded, Event: unreadable{err}}
	}
	return decoded
}

func (p *Projector) fault(step string) error {
	if p.config.fault == nil {
		return nil
	}
	return p.config.fault(step)
}

// Attend makes this instance read the list of generations immediately, and resume after a skipped event.
func (p *Projector) Attend() {
	select {
	case p.attention <- struct{}{}:
	default:
	}
}

func (p *Projector) followSoon() {
	select {
	case p.hasten <- struct{}{}:
	default:
	}
}

// announceCaughtUp closes caughtUp when every projection has reached the log's head at the start, or has stopped.
func (p *Projector) announceCaughtUp(ctx context.Context) {
	var head eventlog.Position
	err := persist(ctx, p.logger, "reading the log's head", func() (err error) {
		head, err = p.config.Log.Head(ctx)
		return err
	})
	if err != nil {
		return
	}
	for _, model := range p.models {
		if err := model.wait(ctx, head); err != nil && !errors.Is(err, ErrStopped) {
			return
		}
	}
	close(p.caughtUp)
}

// CaughtUp returns a channel that is closed when every projection, fed by any instance, has reached the log's head at
// the start of Run. Stopped projections do not count.
func (p *Projector) CaughtUp() <-chan struct{} { return p.caughtUp }

// Requires returns an error if no projection of this projector has one of the views. It is called at the start with all
// views of readers.
func (p *Projector) Requires(views ...readmodel.View) error {
	for _, view := range views {
		has := func(v readmodel.View) bool { return v.Model == view.Model && v.Name == view.Name }
		if !slices.ContainsFunc(p.config.Projections, func(p Projection) bool { return slices.ContainsFunc(p.Views, has) }) {
			return fmt.Errorf("no projection has the view %s of read model %s", view.SQL(), view.Model)
		}
	}
	return nil
}

// RequiresModels is Requires for callers that only wait for read models.
func (p *Projector) RequiresModels(models ...readmodel.Model) error {
	for _, model := range models {
		if !slices.ContainsFunc(p.models, func(m *progress) bool { return m.model == model }) {
			return fmt.Errorf("no projection has the read model %s", model)
		}
	}
	return nil
}

// chosen returns the progress of the models, or of all if none is given. It panics on an unknown model, which
// RequiresModels detects at the start, so that it is not mistaken for a slow read model.
func (p *Projector) chosen(models []readmodel.Model) []*progress {
	if len(models) == 0 {
		return p.models
	}
	if err := p.RequiresModels(models...); err != nil {
		panic("feed: " + err.Error())
	}
	var chosen []*progress
	for _, m := range p.models {
		if slices.Contains(models, m.model) {
			chosen = append(chosen, m)
		}
	}
	return chosen
}

// Wait waits until the read models (all, if none is given) have committed the position, in any instance. If one has
// stopped, it waits for the others and returns ErrStopped. It ends with ctx. It panics if there is no projection of a
// model.
func (p *Projector) Wait(ctx context.Context, position eventlog.Position, models ...readmodel.Model) error {
	ctx, span := tracing.Start(ctx, "wait for read models")
	if span.Recorded() {
		span.Set("recital.read_models", fmt.Sprint(models))
	}
	err := p.wait(ctx, position, models)
	span.End(err)
	return err
}

func (p *Projector) wait(ctx context.Context, position eventlog.Position, models []readmodel.Model) error {
	var stopped error
	for _, model := range p.chosen(models) {
		err := model.wait(ctx, position)
		if err != nil && !errors.Is(err, ErrStopped) {
			return err
		}
		if err != nil {
			stopped = err
		}
	}
	return stopped
}

// Reached returns the position that all of the read models have committed, or, without models, the position of all that
// have not stopped. It panics if there is no projection of a model.
func (p *Projector) Reached(models ...readmodel.Model) eventlog.Position {
	var reached eventlog.Position
	first := true
	for _, model := range p.chosen(models) {
		s := model.snapshot()
		if len(models) == 0 && s.State == StateStopped {
			continue
		}
		if first || s.Position.Compare(reached) < 0 {
			reached, first = s.Position, false
		}
	}
	return reached
}

// Status returns the state of the live generation of each projection.
func (p *Projector) Status() []Status {
	all := make([]Status, len(p.models))
	for i, model := range p.models {
		all[i] = model.snapshot()
	}
	return all
}

// Lag returns the age of our oldest event after Reached, or zero if there is none. It reads the log's head.
func (p *Projector) Lag(ctx context.Context) (time.Duration, error) {
	reached := p.Reached()
	head, err := p.config.Log.Head(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading the lag: %w", err)
	}
	return p.lag(ctx, reached, head)
}

// lag returns the age of the first event after a position.
func (p *Projector) lag(ctx context.Context, reached, head eventlog.Position) (time.Duration, error) {
	if reached.Compare(head) >= 0 {
		return 0, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	subscription := p.config.Log.Subscribe(ctx, reached)
	for delivery := range subscription.Deliveries() {
		if delivery.Kind == eventlog.KindEvent {
			return max(0, time.Since(delivery.Event.Created)), nil
		}
	}
	return 0, fmt.Errorf("reading the lag: %w", subscription.Err())
}
