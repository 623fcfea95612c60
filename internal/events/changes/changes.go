// Package changes tells clients which parts of their account have changed, once reads show it. A Notifier is given all
// events of the log by whoever follows it, and has a Stream for each client that listens. It tells no data: a client
// reads the part again by the documented routes.
//
// A change is a hint, and may be told twice. Of several changes of one part that a client has not been told, only the
// last is kept, so a client that reads slowly needs no more memory than another. The last changes of all accounts are
// remembered, within a bound, for clients that resume after a position.
package changes

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Config configures a Notifier. Wait is needed.
type Config struct {
	// Wait returns when reads show what was in the log at a position, as far as they ever will by themselves.
	Wait func(ctx context.Context, position eventlog.Position) error

	Streams        int           // open at once; default 4096
	AccountStreams int           // of one account, open at once; default 20
	Remembered     int           // parts of accounts of which the last change is remembered; default 8192, some 2 MB
	Pause          time.Duration // between two rounds in which changes are told; default 100 ms, negative: none
}

// The reasons why Open refuses a stream.
var (
	ErrAccountStreams = errors.New("the account has too many open streams of changes")
	ErrStreams        = errors.New("there are too many open streams of changes")
)

// Change is a part of an account that has changed.
type Change struct {
	Part     Part
	Position eventlog.Position // at which reads show it
}

// pending are the last changes of parts.
type pending map[Part]eventlog.Position

// Notifier tells the clients of this instance what has changed. New makes it, and Run must run.
type Notifier struct {
	cfg  Config
	wake chan struct{} // has room for one: there are changes to be told

	mu        sync.Mutex
	seen      eventlog.Position // of the last event
	forgotten eventlog.Position // changes until then may not be remembered
	recent    *simplelru.LRU[subject, eventlog.Position]
	streams   map[string]map[*Stream]struct{} // by account
	open      int
	marked    map[*Stream]struct{} // those with noted changes
}

// New returns a Notifier.
func New(cfg Config) (*Notifier, error) {
	defaultTo(&cfg.Streams, 4096)
	defaultTo(&cfg.AccountStreams, 20)
	defaultTo(&cfg.Remembered, 8192)
	defaultTo(&cfg.Pause, 100*time.Millisecond)
	n := &Notifier{
		cfg: cfg, wake: make(chan struct{}, 1), streams: map[string]map[*Stream]struct{}{}, marked: map[*Stream]struct{}{},
	}
	var err error
	n.recent, err = simplelru.NewLRU(cfg.Remembered, func(_ subject, at eventlog.Position) { n.forgotten = at })
	return n, err
}

func defaultTo[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// Begin sets the position after which all events are noted. It is called before Note and Open.
func (n *Notifier) Begin(after eventlog.Position) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen, n.forgotten = after, after
}

// Note takes the next event of the log.
func (n *Notifier) Note(event eventlog.Recorded) {
	changed, some := subjectOf(event)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen = event.Position
	if !some {
		return
	}
	n.recent.Add(changed, event.Position)
	for s := range n.streams[changed.account] {
		n.note(s, changed.part, event.Position)
	}
}

// note notes that a stream is to be told of a change. The caller holds the mutex.
func (n *Notifier) note(s *Stream, part Part, at eventlog.Position) {
	s.noted[part] = at
	n.marked[s] = struct{}{}
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// Run tells changes until ctx ends.
func (n *Notifier) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-n.wake:
		}
		if n.tell(ctx) != nil {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(n.cfg.Pause, 0)):
		}
	}
}

// tell has the streams tell what was noted until now, once reads show it. What is noted meanwhile is for the next
// round, so a part that changes all the time is told, too.
func (n *Notifier) tell(ctx context.Context) error {
	streams, until := n.hold()
	if err := n.cfg.Wait(ctx, until); ctx.Err() != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for s := range streams {
		s.tell()
	}
	return nil
}

func (n *Notifier) hold() (streams map[*Stream]struct{}, until eventlog.Position) {
	n.mu.Lock()
	defer n.mu.Unlock()
	streams = n.marked
	n.marked = map[*Stream]struct{}{}
	for s := range streams {
		s.held, s.noted = s.noted, pending{}
	}
	return streams, n.seen
}

// Open returns the open streams.
func (n *Notifier) Open() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.open
}

// Listen opens a stream of the changes of an account after a position, in the form of eventlog.Position.String. Where
// the changes since are not known, or there is no position, the first change is Reset. Errors: ErrAccountStreams,
// ErrStreams.
func (n *Notifier) Listen(account, after string) (*Stream, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case len(n.streams[account]) >= n.cfg.AccountStreams:
		return nil, ErrAccountStreams
	case n.open >= n.cfg.Streams:
		return nil, ErrStreams
	}
	s := &Stream{of: n, account: account, told: make(chan struct{}, 1), noted: pending{}, held: pending{}, due: pending{}}
	if n.streams[account] == nil {
		n.streams[account] = map[*Stream]struct{}{}
	}
	n.streams[account][s] = struct{}{}
	n.open++
	n.resume(s, after)
	return s, nil
}

// resume notes what has changed after a position. One past the last event is of an instance that was ahead of this one,
// or of a log that was put back since: what has changed is not known.
func (n *Notifier) resume(s *Stream, after string) {
	position, err := eventlog.ParsePosition(after)
	if err != nil || position.Compare(n.forgotten) < 0 || position.Compare(n.seen) > 0 {
		n.note(s, Reset, n.seen)
		return
	}
	for _, part := range Parts {
		if at, known := n.recent.Peek(subject{s.account, part}); known && at.Compare(position) > 0 {
			n.note(s, part, at)
		}
	}
}

func (n *Notifier) close(s *Stream) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, open := n.streams[s.account][s]; !open {
		return
	}
	delete(n.streams[s.account], s)
	if len(n.streams[s.account]) == 0 {
		delete(n.streams, s.account)
	}
	delete(n.marked, s)
	n.open--
}

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
