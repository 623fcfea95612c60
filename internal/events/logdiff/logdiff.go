// Package logdiff compares a log with an earlier copy of it, event by event, and reports the events that were changed,
// removed, added or moved since.
//
// It reads both once, side by side, and identifies events by their ids. Where the two differ, it reads ahead to the
// nearest event that both have. Positions are reported but not compared, because a restored log has other ones.
package logdiff

import (
	"errors"
	"iter"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
)

const (
	// window is the maximum number of events that are read ahead, in the copy and in the log. More consecutive events may
	// be removed. If more were added, the rest of the copy counts as removed.
	window = 20_000
	// maxDifferences bounds the list of differences, in which moved events are looked up. Further ones are only counted.
	maxDifferences = 1000
)

// Comparison compares a log with a copy of it, in constant memory and linear time.
// It is not safe for concurrent use.
type Comparison struct {
	next      func() (eventlog.Recorded, error, bool) // of the copy
	stop      func()
	copy, log queue
	copyEnded bool
	logEnded  bool
	searched  int // number of events from both heads without a common id
	at        Checkpoint
	elsewhere map[uuid.UUID]int // differences that are removals or additions
}

// Checkpoint is the state of a comparison. It is trusted, and must be stored where only the person who compares can
// write.
type Checkpoint struct {
	Copy   string            `json:"copy"`            // name of the copy
	Read   eventlog.Position `json:"read"`            // of the last event of the copy that was compared
	After  eventlog.Position `json:"after"`           // of the last event of the log that was compared
	Ended  bool              `json:"ended,omitempty"` // the rest of the log is later than the copy
	Report Report            `json:"report"`
}

// New returns a comparison with a copy. open yields the copy's events after a position. The comparison continues at a
// checkpoint for the same copy, which may have grown since, or starts at the beginning. The caller must close it.
func New(
	name string, open func(after eventlog.Position) iter.Seq2[eventlog.Recorded, error], from *Checkpoint,
) (*Comparison, error) {
	c := &Comparison{at: Checkpoint{Copy: name}, elsewhere: map[uuid.UUID]int{}}
	if from != nil {
		c.at = *from
		c.at.Report, c.at.Ended = from.Report.clone(), false
		c.at.Report.Later = 0 // they are read again
	}
	if c.at.Copy != name {
		return nil, errors.New("the state is that of a comparison with another copy of the log")
	}
	for i, d := range c.at.Report.Differences {
		c.remember(d, i)
	}
	c.next, c.stop = iter.Pull2(open(c.at.Read))
	return c, nil
}

// Close ends the reading of the copy.
func (c *Comparison) Close() error { c.stop(); return nil }

// After returns the position in the log after which Add is called with all events.
func (c *Comparison) After() eventlog.Position { return c.at.After }

// Checkpoint returns the state, at which another comparison can continue.
func (c *Comparison) Checkpoint() Checkpoint {
	at := c.at
	at.Report = at.Report.clone()
	return at
}

// Add compares the next event of the log.
func (c *Comparison) Add(e eventlog.Recorded) error {
	if c.copy.len() == 0 && c.log.len() == 0 { // almost always
		if same, err := c.isNext(e); err != nil || same {
			return err
		}
	}
	c.log.push(eventOf(e))
	return c.align()
}

// isNext reports whether an event equals the next one of the copy.
func (c *Comparison) isNext(e eventlog.Recorded) (bool, error) {
	copied, more, err := c.pull()
	if err != nil || !more {
		return false, err
	}
	if !logcopy.Same(copied, e) {
		c.copy.push(eventOf(copied))
		return false, nil
	}
	c.at.Read, c.at.After = copied.Position, e.Position
	c.at.Report.Compared++
	return true, nil
}

// pull reads the next event of the copy.
func (c *Comparison) pull() (e eventlog.Recorded, more bool, err error) {
	if c.copyEnded {
		return e, false, nil
	}
	e, err, more = c.next()
	c.copyEnded = !more
	return e, more, err
}

// End returns the report. It is called after all events of the log were added.
func (c *Comparison) End() (Report, error) {
	c.logEnded = true
	err := c.align()
	return c.at.Report.clone(), err
}

// align compares the queued events, as far as their correspondence is known.
func (c *Comparison) align() error {
	for c.log.len() > 0 || c.logEnded {
		if err := c.read(1); err != nil {
			return err
		}
		switch {
		case c.copy.len() == 0 && c.log.len() == 0:
			return nil
		case c.copy.len() == 0:
			c.later(c.log.pop())
		case c.log.len() > 0 && c.copy.head(0).ID == c.log.head(0).ID:
			c.compare(c.copy.pop(), c.log.pop())
		default:
			if more, err := c.search(); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// read reads the copy until n of its events are queued, or it ends.
func (c *Comparison) read(n int) error {
	for c.copy.len() < n {
		e, more, err := c.pull()
		if err != nil || !more {
			return err
		}
		c.copy.push(eventOf(e))
	}
	return nil
}

// search reads ahead to the nearest common event, and lists the differences before it. It returns false if more events
// of the log have to be added first.
func (c *Comparison) search() (bool, error) {
	for n := c.searched; n < window; n++ {
		if n >= c.log.len() && !c.logEnded {
			c.searched = n
			return false, nil
		}
		if err := c.read(n + 1); err != nil {
			return false, err
		}
		if n >= c.log.len() && n >= c.copy.len() {
			break
		}
		if at, found := c.log.find(c.copy, n); found {
			c.part(n, at)
			return true, nil
		}
		if at, found := c.copy.find(c.log, n); found {
			c.part(at, n)
			return true, nil
		}
	}
	if c.copyEnded {
		c.at.Ended = true
		c.part(c.copy.len(), c.log.len())
	} else {
		c.part((c.copy.len()+1)/2, 0)
	}
	return true, nil
}

// compare compares a common event.
func (c *Comparison) compare(copied, logged Event) {
	c.searched = 0
	c.passCopy(copied)
	c.passLog(logged)
	c.at.Report.Compared++
	if fields := changes(copied, logged); len(fields) > 0 {
		c.list(Difference{Kind: Changed, Fields: fields, Copy: &copied, Log: &logged})
	}
}

// revision is a place in a stream.
type revision struct {
	stream string
	number uint64
}

// part lists unmatched events of the copy and of the log. Two at the same place of the same stream are one changed
// event.
func (c *Comparison) part(copied, logged int) {
	c.searched = 0
	places := make(map[revision]Event, logged)
	for n := range logged {
		e := c.log.head(n)
		places[revision{e.Stream, e.Revision}] = e
	}
	replaced := map[uuid.UUID]bool{}
	for range copied {
		e := c.copy.pop()
		c.passCopy(e)
		c.at.Report.Compared++
		if by, found := places[revision{e.Stream, e.Revision}]; found {
			replaced[by.ID] = true
			c.list(Difference{Kind: Changed, Fields: changes(e, by), Copy: &e, Log: &by})
			continue
		}
		c.miss(Difference{Kind: Removed, Copy: &e})
	}
	for range logged {
		switch e := c.log.pop(); {
		case replaced[e.ID]:
			c.passLog(e)
		case c.at.Ended:
			c.later(e)
		default:
			c.passLog(e)
			c.miss(Difference{Kind: Added, Log: &e})
		}
	}
}

func (c *Comparison) passCopy(e Event) { c.at.Read = e.Position }

// passLog advances in the log. Events after the copy are read again when the copy has grown.
func (c *Comparison) passLog(e Event) {
	if !c.at.Ended {
		c.at.After = e.Position
	}
}

// later counts an event of the log after the end of the copy.
func (c *Comparison) later(e Event) {
	c.at.Ended = true
	if _, missed := c.elsewhere[e.ID]; missed {
		c.miss(Difference{Kind: Added, Log: &e})
		return
	}
	c.at.Report.Later++
}

// miss lists a removal or an addition. Both together are one moved event.
func (c *Comparison) miss(d Difference) {
	i, known := c.elsewhere[d.event().ID]
	if !known || c.at.Report.Differences[i].Kind == d.Kind {
		c.list(d)
		return
	}
	delete(c.elsewhere, d.event().ID)
	c.at.Report.Differences[i].move(d)
}

func (c *Comparison) list(d Difference) {
	if len(c.at.Report.Differences) == maxDifferences {
		c.at.Report.More++
		return
	}
	c.remember(d, len(c.at.Report.Differences))
	c.at.Report.Differences = append(c.at.Report.Differences, d)
}

func (c *Comparison) remember(d Difference, at int) {
	if d.Kind == Removed || d.Kind == Added {
		c.elsewhere[d.event().ID] = at
	}
}

// queue holds the unmatched events of one log.
type queue struct {
	events []Event
	first  uint64               // number of the first event
	number map[uuid.UUID]uint64 // by id; the lower one, if a log has an id twice
}

func (q *queue) len() int { return len(q.events) }

// head returns the event at index n.
func (q *queue) head(n int) Event { return q.events[n] }

func (q *queue) push(e Event) {
	if q.number == nil {
		q.number = map[uuid.UUID]uint64{}
	}
	if _, twice := q.number[e.ID]; !twice {
		q.number[e.ID] = q.first + uint64(len(q.events))
	}
	q.events = append(q.events, e)
}

func (q *queue) pop() Event {
	e := q.events[0]
	q.events[0] = Event{}
	q.events = q.events[1:]
	if q.number[e.ID] == q.first {
		delete(q.number, e.ID)
	}
	q.first++
	return e
}

// find returns the index in the queue of the event with index n of another queue, if it is at most n.
func (q *queue) find(other queue, n int) (at int, found bool) {
	if n >= other.len() {
		return 0, false
	}
	number, found := q.number[other.head(n).ID]
	at = int(number - q.first)
	return at, found && at <= n
}
