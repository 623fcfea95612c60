package logdiff

import "github.com/google/uuid"

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
