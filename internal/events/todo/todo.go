// Package todo implements the workers of to-do lists.
//
// A process is something that has to happen some time after an event: a reservation that was not settled expires, a
// subscription is fetched again after a webhook. It has two halves. A projection lists what is due, in a view that is
// built from the log like any other. A worker carries each item out and appends the outcome, which names its cause and
// removes the item from the list.
//
// Only the log records whether an item is done. The list may be late, lost or rebuilt, and several workers may read it
// at once, so an item may be carried out again at any time. Process.Do must tolerate that: it decides on the stream's
// state and appends at the revision that it read, under an id that CommandID derives from the cause. A repetition is
// then either the identical append or a decision that changes nothing.
//
// A Worker starts when the read models have caught up, and sleeps until the next item is due or the read models have
// advanced (Notifier). It reads the list again only when the list shows the previous outcomes, so that items are not
// repeated needlessly. An item that fails is tried again after a pause that doubles, and is given up after
// Limits.Attempts: an alert is raised, and the item is tried only every Limits.Rest, so that it is done without further
// intervention once the cause of the failure is removed. An outage of the log, of Postgres or of anything else that
// items need pauses the whole process and does not count as an attempt. Attempts are counted in memory: after a restart
// the count begins anew, and giving an item up again raises no second alert.
//
// One of several instances works a process (Config.IsLeader). That avoids duplicate work, but correctness does not
// depend on it: the other instances take over what has been due for longer than Limits.Takeover.
package todo

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Item is something to be done.
type Item struct {
	ID     string    // unique in its list; never personal data, because logs and alerts show it
	Stream string    // that the outcome belongs to
	Due    time.Time // when it is to be done
	Cause  uuid.UUID // id of the event, or of the command, that led to it
}

// key distinguishes an item from a later one of the same id.
type key struct {
	id    string
	cause uuid.UUID
}

func (i Item) key() key { return key{i.ID, i.Cause} }

// CommandID is the id of the command that carries an item out: the same in every instance and at every repetition. It
// is a UUIDv5 (RFC 9562, 5.5) with the cause as the namespace.
func CommandID(process, item string, cause uuid.UUID) uuid.UUID {
	return uuid.NewSHA1(cause, []byte(process+" "+item))
}

// List is a projection of what is due.
type List interface {
	// Due returns the items that are due by a time, the longest due first, without those in except.
	Due(ctx context.Context, by time.Time, except []Item, limit int) ([]Item, error)
	// Next returns when the first item after a time will be due, and whether there is one.
	Next(ctx context.Context, after time.Time) (due time.Time, found bool, err error)
}

// Process is a kind of item.
type Process struct {
	Name string // of its metrics, alerts and commands; lower case letters, digits and underscores
	List List

	// Do carries an item out and returns the log position of the outcome or, if nothing was left to be done, of the
	// state that shows so. It may be called again for an item that is done. An error of code domain.Unavailable means
	// that something all items need does not answer; with a *NotYetError the item rests; any other error, a panic, and
	// exceeding Limits.Timeout count as a failed attempt of the item. Error texts contain no personal data.
	Do func(ctx context.Context, item Item) (eventlog.Position, error)
}

// NotYetError is Process.Do's answer for an item whose time has not come, whatever the list shows. It is no failure.
type NotYetError struct{ After time.Duration }

// Error returns how long the item is to rest.
func (e *NotYetError) Error() string { return fmt.Sprintf("the item is due in %v", e.After) }

// GivenUp is an item that failed too often.
type GivenUp struct {
	Process  string
	Item     Item
	Attempts int   // since the process started
	Err      error // of the last attempt
	At       time.Time
}
