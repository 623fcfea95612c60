// Package changes notifies clients of the parts of their account that have changed, once reads show the change. A
// Notifier is passed all events of the log, and has a Stream for each client that listens. A notification has no data:
// the client reads the part again by the documented routes.
//
// A change is a hint, and may be delivered twice. Of several undelivered changes of one part only the last is kept, so
// a client that reads slowly needs no more memory than another. The last changes of all accounts are remembered, within
// a bound, for clients that resume after a position.
package changes

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/pause"
)

// Config configures a Notifier. Wait is needed.
type Config struct {
	// Wait waits until reads show the log up to a position, except for read models that have stopped.
	Wait func(ctx context.Context, position eventlog.Position) error

	Streams        int           // maximum number of open streams; default 4096
	AccountStreams int           // maximum number of open streams of an account; default 20
	Remembered     int           // parts of accounts whose last change is remembered; default 8192, some 2 MB
	Pause          time.Duration // between two rounds of deliveries; default 100 ms, negative: none
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

// pending has the last change of each part.
type pending map[Part]eventlog.Position

// Notifier notifies the clients of this instance of changes. New makes it, and Run must run.
type Notifier struct {
	cfg  Config
	wake chan struct{} // has room for one: there are changes to deliver

	mu        sync.Mutex
	seen      eventlog.Position // of the last event
	forgotten eventlog.Position // earlier changes may not be remembered
	recent    *simplelru.LRU[subject, eventlog.Position]
	streams   map[string]map[*Stream]struct{} // by account
	open      int
	marked    map[*Stream]struct{} // streams with new changes
}

// New returns a Notifier.
func New(cfg Config) *Notifier {
	cfg.Streams, cfg.AccountStreams = cmp.Or(cfg.Streams, 4096), cmp.Or(cfg.AccountStreams, 20)
	cfg.Remembered, cfg.Pause = cmp.Or(cfg.Remembered, 8192), cmp.Or(cfg.Pause, 100*time.Millisecond)
	n := &Notifier{
		cfg: cfg, wake: make(chan struct{}, 1), streams: map[string]map[*Stream]struct{}{}, marked: map[*Stream]struct{}{},
	}
	// fails for a size below 1
	n.recent, _ = simplelru.NewLRU(cfg.Remembered, func(_ subject, at eventlog.Position) { n.forgotten = at })
	return n
}

// Begin sets the position after which Note is called with all events. It is called before Note and Listen.
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

// note adds a change to a stream. The caller holds the mutex.
func (n *Notifier) note(s *Stream, part Part, at eventlog.Position) {
	s.fresh[part] = at
	n.marked[s] = struct{}{}
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// Run delivers changes until ctx ends.
func (n *Notifier) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-n.wake:
		}
		if n.deliver(ctx) != nil || pause.For(ctx, max(n.cfg.Pause, 0)) != nil {
			return nil
		}
	}
}

// deliver delivers all changes so far, once reads show them. Changes in the meantime are left to the next round, so
// that a part that changes continuously is delivered, too.
func (n *Notifier) deliver(ctx context.Context) error {
	streams, until := n.beginRound()
	if err := n.cfg.Wait(ctx, until); ctx.Err() != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for s := range streams {
		s.deliver()
	}
	return nil
}

// beginRound returns the streams with new changes, which then wait for reads that show the returned position.
func (n *Notifier) beginRound() (streams map[*Stream]struct{}, until eventlog.Position) {
	n.mu.Lock()
	defer n.mu.Unlock()
	streams = n.marked
	n.marked = map[*Stream]struct{}{}
	for s := range streams {
		s.awaited, s.fresh = s.fresh, pending{}
	}
	return streams, n.seen
}

// Open returns the number of open streams.
func (n *Notifier) Open() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.open
}

// Listen opens a stream of the changes of an account after a position, in the form of eventlog.Position.String. If the
// changes since then are unknown, or there is no position, the first change is Reset. Errors: ErrAccountStreams,
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
	s := &Stream{
		of: n, account: account, ready: make(chan struct{}, 1), fresh: pending{}, awaited: pending{}, due: pending{},
	}
	if n.streams[account] == nil {
		n.streams[account] = map[*Stream]struct{}{}
	}
	n.streams[account][s] = struct{}{}
	n.open++
	n.resume(s, after)
	return s, nil
}

// resume adds the changes after a position. A position past the last event comes from an instance that was ahead of
// this one, or from a log that was restored since, so the changes are unknown.
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

// Stream has the changes for one client. Except for Close, it is used by one goroutine at a time.
type Stream struct {
	of      *Notifier
	account string
	ready   chan struct{} // has room for one: there are due changes

	// Each change passes through these, from left to right. They are guarded by the Notifier's mutex.
	fresh, awaited, due pending // seen in the log; awaited by a round; shown by reads
}

// Next waits for changes and returns them in the order of their positions. After a quiet time it returns none. If it
// returns a position, the client can resume there without missing a change.
func (s *Stream) Next(ctx context.Context, quiet time.Duration) ([]Change, *eventlog.Position, error) {
	select {
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	case <-s.ready:
	case <-time.After(quiet):
	}
	changes, position := s.take()
	return changes, position, nil
}

// Close ends the stream. It may be called again.
func (s *Stream) Close() { s.of.close(s) }

// deliver makes the awaited changes due. The caller holds the mutex.
func (s *Stream) deliver() {
	maps.Copy(s.due, s.awaited)
	clear(s.awaited)
	select {
	case s.ready <- struct{}{}:
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
	if len(s.fresh)+len(s.awaited) == 0 {
		seen := s.of.seen
		position = &seen
	}
	return changes, position
}
