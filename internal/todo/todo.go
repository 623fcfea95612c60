// Package todo works off to-do lists.
//
// A process is whatever has to happen some time after an event: a reservation that nobody settled expires, a
// subscription is fetched again after a webhook. It has two halves. A projection lists what is due, in a view that is
// built from the log like any other. A worker carries each item out and appends the outcome, which names its cause; the
// outcome takes the item off the list.
//
// Whether a thing is done is in the log alone. The list may be late, lost or built again, and several workers may read it
// at once, so the same item may be carried out again at any time. Process.Do bears that: it decides on the stream's state
// and appends at the revision that it read, under an id that CommandID derives from the cause. A repetition is then
// either the identical append or a decision that changes nothing.
//
// What a Worker adds is order and manners. It starts when the read models have caught up, and sleeps until the next item
// is due or the read models have moved (Bell). It reads the list again only when the list shows the outcomes of before, so
// that nothing is done twice for nothing. An item that fails is tried again after a pause that doubles, and is given up
// after some attempts: then an alert is raised, and the item is tried only once in a long while, so that a cause that was
// removed needs no further hand. An outage of the log, of Postgres or of whatever else an item needs pauses the whole process
// and is nobody's attempt. Attempts are counted in memory: after a restart they are counted anew, and the alert of an item
// that is given up again is the one that is there.
//
// Of several instances one works a process (Config.Turn). That saves work and nothing rests on it: the others take over
// what has been due for longer than Limits.Courtesy.
package todo

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/eventlog"
)

// Item is a thing to be done.
type Item struct {
	ID     string    // unique in its list; it reaches logs and alerts, so it is never personal data
	Stream string    // where its outcome belongs
	Due    time.Time // when it is to be done
	Cause  uuid.UUID // of the event, or of the command, that led to it
}

// key tells an item from a later one of the same id.
type key struct {
	id    string
	cause uuid.UUID
}

func (i Item) key() key { return key{i.ID, i.Cause} }

// CommandID is the id of the command that carries an item out: the same in every instance and at every repetition. It is
// a UUIDv5 (RFC 9562, 5.5) with the cause as the namespace.
func CommandID(process, item string, cause uuid.UUID) uuid.UUID {
	return uuid.NewSHA1(cause, []byte(process+" "+item))
}

// List is a projection of what is due.
type List interface {
	// Due lists the items that are due by a time, those that have waited longest first, and none of except.
	Due(ctx context.Context, by time.Time, except []Item, limit int) ([]Item, error)
	// Next tells when the first item after a time will be due; found is false where there is none.
	Next(ctx context.Context, after time.Time) (due time.Time, found bool, err error)
	// Backlog counts the items that are due by a time, for metrics.
	Backlog(ctx context.Context, by time.Time) (Backlog, error)
}

// Backlog is how much is due.
type Backlog struct {
	Items  int
	Oldest time.Time // since when the oldest has been due; zero where there is none
}

// Process is a kind of things to be done.
type Process struct {
	Name string // of its metrics, alerts and commands; lower case letters, digits and underscores
	List List

	// Do carries an item out and tells where in the log the outcome is, or, where nothing was left to be done, where the
	// state stands that says so. It may be called again for an item that is done. An error of code domain.Unavailable says
	// that something which all items need does not answer; any other error, a panic, and taking longer than
	// Limits.Timeout count as a failed attempt of the item. Error texts hold no personal data.
	Do func(ctx context.Context, item Item) (eventlog.Position, error)
}

// GivenUp is an item that failed too often.
type GivenUp struct {
	Process  string
	Item     Item
	Attempts int // since the process started
	At       time.Time
}
