// Package skips lets operators skip events that cannot be handled, and publishes the skips to all decoders of the log's
// events.
package skips

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/skip"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// followEvery is the interval between reads of the stream. They cost little, because the stream hardly ever changes.
const followEvery = 500 * time.Millisecond

// ErrNoEvent refuses an event that is not at the given place in the log.
var ErrNoEvent = domain.Refuse(domain.NotFound, "The log does not have this event")

var errReadable = domain.Refuse(domain.Rejected, "This release can read the event, and no read model has stopped at it")

// Skips are the skipped events of a log. Their journal's registry always knows them.
type Skips struct {
	journal *journal.Journal
	log     *slog.Logger
	now     func() time.Time

	reading sync.Mutex // one read at a time; guards stream and changed
	stream  *journal.Cached[skip.State, skip.Event]
	changed []func()

	mu    sync.RWMutex
	state skip.State
}

// Load publishes the skips of a log to the journal's registry, once.
func Load(ctx context.Context, j *journal.Journal) error {
	_, err := Open(ctx, j, slog.New(slog.DiscardHandler), time.Now)
	return err
}

// Open returns the skips of a log, and publishes them to the journal's registry from then on. It is called before any
// other event is decoded.
func Open(ctx context.Context, j *journal.Journal, log *slog.Logger, now func() time.Time) (*Skips, error) {
	s := &Skips{journal: j, log: log, now: now}
	s.stream = journal.NewCached(j, journal.Stream[skip.State, skip.Event]{Name: eventlog.SkipsStream,
		Evolve: skip.Evolve})
	return s, s.Refresh(ctx)
}

// OnChange sets a function that is called after each skip, unskip or confirmation. It must not block.
func (s *Skips) OnChange(changed func()) {
	s.reading.Lock()
	defer s.reading.Unlock()
	s.changed = append(s.changed, changed)
}

// Follow refreshes the skips until ctx ends, because other instances change them, too.
func (s *Skips) Follow(ctx context.Context) error {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		if err := s.Refresh(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, eventlog.ErrUnavailable) {
			s.log.WarnContext(ctx, "the skipped events cannot be read, trying again", "error", err)
		}
	}
}

// Refresh reads the new events of the stream.
func (s *Skips) Refresh(ctx context.Context) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	before := s.stream.Version()
	if err := s.stream.Refresh(ctx); err != nil {
		return fmt.Errorf("reading the skipped events: %w", err)
	}
	if s.stream.Version() != before {
		s.publish()
	}
	return nil
}

// publish publishes the state. The unconfirmed skips are published first, so that a state without a skipped event never
// admits a credential that the event may have revoked.
func (s *Skips) publish() {
	state := s.stream.State()
	s.mu.Lock()
	former := s.state
	s.state = state
	s.mu.Unlock()
	events := map[uuid.UUID]string{}
	for id, skipped := range state.Skipped {
		if event, err := uuid.Parse(id); err == nil {
			events[event] = skipped.Stream
		}
	}
	if !sameEvents(former, state) {
		s.journal.Registry.Skip(events)
	}
	for _, changed := range s.changed {
		changed()
	}
}

func sameEvents(a, b skip.State) bool {
	if len(a.Skipped) != len(b.Skipped) {
		return false
	}
	for id := range a.Skipped {
		if _, is := b.Skipped[id]; !is {
			return false
		}
	}
	return true
}

// List returns the skipped events, in the order of the skips.
func (s *Skips) List() []skip.Skip {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]skip.Skip, 0, len(s.state.Skipped))
	for _, one := range s.state.Skipped {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b skip.Skip) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(a.Event, b.Event)
	})
	return all
}

// Unconfirmed reports whether a skipped event of a stream may have revoked a credential.
func (s *Skips) Unconfirmed(stream string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, one := range s.state.Skipped {
		if one.Stream == stream && one.Unconfirmed() {
			return true
		}
	}
	return false
}

// By is the operator who changes a skip, with the reason.
type By struct {
	journal.Origin
	Role string
	Why  string
}

// Place is the place of an event to be skipped.
type Place struct {
	Event    uuid.UUID
	Stream   string
	Revision uint64
	Stops    bool // a read model has stopped at it
}

// Skip skips an event that stops a read model or cannot be decoded. Skipping it again has no effect. Errors:
// ErrNoEvent; domain.Rejected for any other event; those of the decision.
func (s *Skips) Skip(ctx context.Context, at Place, by By) (skip.Skip, error) {
	recorded, err := s.read(ctx, at.Stream, at.Revision)
	if err == nil && (recorded.ID != at.Event || !s.journal.Registry.Ours(at.Stream)) {
		err = ErrNoEvent
	}
	if err != nil {
		return skip.Skip{}, err
	}
	if _, err := s.journal.Registry.Decode(recorded); err == nil && !at.Stops && !s.journal.Registry.IsSkipped(at.Event) {
		return skip.Skip{}, errReadable
	}
	event, stream, revision := at.Event, at.Stream, at.Revision
	return s.execute(ctx, event.String(), by, func(at time.Time) journal.Decider[skip.State, skip.Event] {
		return skip.SkipEvent{Event: event.String(), Stream: stream, Revision: revision, Type: recorded.Type,
			By: by.Actor.Name, Role: by.Role, Why: by.Why, At: at}
	})
}

// Unskip makes a skipped event count again, and returns it with its position in the log. Errors: skip.ErrNotSkipped,
// those of the decision.
func (s *Skips) Unskip(ctx context.Context, event uuid.UUID, by By) (skip.Skip, eventlog.Position, error) {
	known, err := s.known(ctx, event)
	if err != nil {
		return skip.Skip{}, eventlog.Position{}, err
	}
	recorded, err := s.read(ctx, known.Stream, known.Revision)
	if err != nil {
		return skip.Skip{}, eventlog.Position{}, err
	}
	_, err = s.execute(ctx, event.String(), by, func(at time.Time) journal.Decider[skip.State, skip.Event] {
		return skip.UnskipEvent{Event: event.String(), By: by.Actor.Name, Role: by.Role, Why: by.Why, At: at}
	})
	return known, recorded.Position, err
}

// Confirm confirms that a skipped event revokes no credential, so that the credentials of its account are admitted
// again. Errors: skip.ErrNotSkipped; domain.Rejected for an event of a type that revokes one.
func (s *Skips) Confirm(ctx context.Context, event uuid.UUID, by By) (skip.Skip, error) {
	known, err := s.known(ctx, event)
	if err != nil {
		return skip.Skip{}, err
	}
	if known.Type == s.journal.Registry.NameOf(account.Closed{}) {
		return skip.Skip{}, domain.Refuse(domain.Rejected, "The event closes the account, so it revokes all credentials")
	}
	return s.execute(ctx, event.String(), by, func(at time.Time) journal.Decider[skip.State, skip.Event] {
		return skip.Confirm{Event: event.String(), By: by.Actor.Name, Role: by.Role, Why: by.Why, At: at}
	})
}

// known returns a skipped event, even if another instance has just skipped it.
func (s *Skips) known(ctx context.Context, event uuid.UUID) (skip.Skip, error) {
	if err := s.Refresh(ctx); err != nil {
		return skip.Skip{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	known, is := s.state.Skipped[event.String()]
	if !is {
		return skip.Skip{}, skip.ErrNotSkipped
	}
	return known, nil
}

// execute executes a command, and publishes its outcome in this instance immediately. It returns the skip of the event
// after that.
func (s *Skips) execute(ctx context.Context, event string, by By, command func(time.Time) journal.Decider[skip.State,
	skip.Event],
) (skip.Skip, error) {
	at := s.now().UTC()
	s.reading.Lock()
	defer s.reading.Unlock()
	before := s.stream.Version()
	state, _, err := s.stream.Execute(ctx, command(at), by.Metadata(uuid.New(), at))
	if s.stream.Version() != before {
		s.publish()
	}
	return state.Skipped[event], err
}

func (s *Skips) read(ctx context.Context, stream string, revision uint64) (eventlog.Recorded, error) {
	for recorded, err := range s.journal.Log.ReadStream(ctx, stream, revision) {
		if err != nil {
			return eventlog.Recorded{}, fmt.Errorf("reading an event: %w", err)
		}
		return recorded, nil
	}
	return eventlog.Recorded{}, ErrNoEvent
}
