// Package logdiff compares a log with a copy that was made of it earlier, event by event, and names the events that
// were changed, removed, added or moved since.
//
// It reads both once, side by side, and knows an event by its id. Where the two differ, it reads ahead to the nearest
// event that both have. Positions are only named, not compared: a restored log has others.
package logdiff

import (
	"errors"
	"iter"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
)

const (
	// window is how many events are read ahead at most, in the copy and in the log. More than that may be removed in a
	// row; where more than that was added in a row, all that follows in the copy counts as removed.
	window = 20_000
	// maxDifferences bounds what is listed, and what is known again when it comes later; the rest is counted.
	maxDifferences = 1000
)

// Comparison compares a log with a copy of it. Its memory does not grow with either, and its time only in proportion.
// It is not safe for concurrent use.
type Comparison struct {
	next      func() (eventlog.Recorded, error, bool) // of the copy
	stop      func()
	copy, log queue
	copyEnded bool
	logEnded  bool
	searched  int // how many events from the heads of both on were looked at without one that both have
	at        Checkpoint
	elsewhere map[uuid.UUID]int // differences that are removals or additions
}

// Checkpoint is where a comparison stands. It belongs to the one who compares, and must be kept where nobody else can
// write.
type Checkpoint struct {
	Copy   string            `json:"copy"`            // whose copy it is
	Read   eventlog.Position `json:"read"`            // in the copy, of the last event that was dealt with
	After  eventlog.Position `json:"after"`           // the same in the log
	Ended  bool              `json:"ended,omitempty"` // what follows in the log is later than the copy
	Report Report            `json:"report"`
}

// New returns a comparison with a copy, whose events after a position open yields. It goes on from a checkpoint, which
// must be that of a comparison with the same copy, or with one that has grown since; nil is the beginning. Close must
// follow.
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

// After is the position in the log after which Add needs its events.
func (c *Comparison) After() eventlog.Position { return c.at.After }

// Checkpoint returns where the comparison stands, from which another one goes on.
func (c *Comparison) Checkpoint() Checkpoint {
	at := c.at
	at.Report = at.Report.clone()
	return at
}

// Add compares the next event of the log.
func (c *Comparison) Add(e eventlog.Recorded) error {
	if c.copy.len() == 0 && c.log.len() == 0 { // hardly ever not
		if same, err := c.isNext(e); err != nil || same {
			return err
		}
	}
	c.log.push(eventOf(e))
	return c.align()
}

// isNext reports whether an event is the next one of the copy, and the same in all.
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

// pull returns the next event of the copy that was not read.
func (c *Comparison) pull() (e eventlog.Recorded, more bool, err error) {
	if c.copyEnded {
		return e, false, nil
	}
	e, err, more = c.next()
	c.copyEnded = !more
	return e, more, err
}

// End returns what was found, when all events of the log were added.
func (c *Comparison) End() (Report, error) {
	c.logEnded = true
	err := c.align()
	return c.at.Report.clone(), err
}

// align deals with what was read, as far as it is known what belongs together.
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

// read reads the copy until so many of its events are known.
func (c *Comparison) read(events int) error {
	for c.copy.len() < events {
		e, more, err := c.pull()
		if err != nil || !more {
			return err
		}
		c.copy.push(eventOf(e))
	}
	return nil
}

// search reads ahead to the nearest event that both have, and deals with what is before it. It returns false when more
// of the log has to come first.
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

// compare compares an event that both have.
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

// part deals with events of which no other has the id: one that has the place of another in its stream has replaced it.
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

// passLog notes how far the log was dealt with. What is later than the copy is read again when the copy has grown.
func (c *Comparison) passLog(e Event) {
	if !c.at.Ended {
		c.at.After = e.Position
	}
}

// later deals with an event of the log that is written after all that the copy has.
func (c *Comparison) later(e Event) {
	c.at.Ended = true
	if _, missed := c.elsewhere[e.ID]; missed {
		c.miss(Difference{Kind: Added, Log: &e})
		return
	}
	c.at.Report.Later++
}

// miss lists a removal or an addition. Both together are one event that was moved.
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

// queue is what was read of one of the two and not dealt with.
type queue struct {
	events []Event
	first  uint64               // number of the first of them
	number map[uuid.UUID]uint64 // by id; the first one, if a log has an id twice
}

func (q *queue) len() int { return len(q.events) }

// head returns the event that is n events behind the first.
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

// find returns where the queue has the event that is n events behind the first of another one, if it is no farther
// behind.
func (q *queue) find(other queue, n int) (at int, found bool) {
	if n >= other.len() {
		return 0, false
	}
	number, found := q.number[other.head(n).ID]
	at = int(number - q.first)
	return at, found && at <= n
}
