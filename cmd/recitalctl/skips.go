package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
)

// someEvent identifies an event of the log.
type someEvent struct {
	Event string `arg:"" help:"Id of the event, as parked list shows it."`
}

// skippedEvent is the admin API's description of an event that is skipped.
type skippedEvent struct {
	EventID     string    `json:"event_id"`
	Stream      string    `json:"stream" col:",wide"`
	Revision    uint64    `json:"revision" col:",wide"`
	Type        string    `json:"type"`
	Unconfirmed bool      `json:"unconfirmed"`
	SkippedAt   *unixTime `json:"skipped_at" col:",wide"`
	By          string    `json:"by"`
	Role        string    `json:"role" col:"-"`
	Reason      string    `json:"reason"`
}

type skipEvent struct {
	someEvent
	Stream   string `placeholder:"STREAM" help:"The event's stream, for one that no read model has stopped at."`
	Revision int    `placeholder:"N" help:"The event's revision in that stream."`
	Yes      bool   `help:"Do not ask."`
}

// Help is shown below the flags.
func (*skipEvent) Help() string {
	return `Examples:
  recitalctl projections parked skip 0190a5f0-1111-7222-8333-444455556666 --reason TEXT           asks first
  recitalctl projections parked skip 0190a5f0-1111-7222-8333-444455556666 --reason TEXT --yes     for scripts

The log keeps the event and the skip of it. Everything that reads the log goes on without the event: read models, now
and when they are rebuilt, commands, restored backups, later releases; until parked unskip. What waits behind it in
its stream can then be tried (parked retry).

It may have revoked an API key or a session, or closed the account. So if it is in the stream of an account or of a
session, that admits no credential until parked confirm. accounts close closes such an account.`
}

// Run asks for confirmation and skips the event.
func (c *skipEvent) Run(ctx context.Context, admin *client, to terminal) error {
	if err := to.confirm(ctx, c.Yes,
		fmt.Sprintf("Let everything go on without event %s?", printable(c.Event))); err != nil {
		return err
	}
	var skipped skippedEvent
	command := map[string]any{"event_id": c.Event, "stream": c.Stream, "revision": c.Revision}
	if err := admin.post(ctx, "skipping", "/admin/skips", command, &skipped); err != nil {
		return err
	}
	fmt.Fprintf(to.notes, "Skipped: event %d of %s (%s).\n", skipped.Revision, printable(skipped.Stream),
		printable(skipped.Type))
	fmt.Fprintln(to.notes, skipped.hides())
	return nil
}

// hides describes what the event may have done that is not seen without it.
func (e skippedEvent) hides() string {
	switch kind, id, _ := strings.Cut(e.Stream, "-"); {
	case e.Unconfirmed && kind == "session":
		return fmt.Sprintf("It may hide that session %s has ended. The session is refused until you have seen that it "+
			"does not:\n"+
			"  recitalctl projections parked confirm %s --reason …", printable(id), printable(e.EventID))
	case e.Unconfirmed:
		return fmt.Sprintf("It may hide that an API key or all sessions of account %s were revoked, or that it was "+
			"closed. Its credentials are refused\n"+
			"until you have seen that it does not: recitalctl projections parked confirm %s --reason …\n"+
			"To close it instead: recitalctl accounts close %[1]s --reason …", printable(id), printable(e.EventID))
	case kind == "usage" || kind == "subscription" || kind == "payment":
		return "It may hide use, credit or a payment: compare the account with the payment provider."
	}
	return "What it said of its stream is missing from now on."
}

type skippedList struct{ listForm }

// Run lists the skipped events.
func (c *skippedList) Run(ctx context.Context, admin *client, to terminal) error {
	var all struct {
		Skips []skippedEvent `json:"skips"`
	}
	if err := admin.get(ctx, "listing skipped events", "/admin/skips", &all); err != nil {
		return err
	}
	return show(c.Format, to, all, all.Skips)
}

type confirmSkip struct{ someEvent }

// Help is shown below the flags.
func (*confirmSkip) Help() string {
	return `Examples:
  recitalctl projections parked confirm 0190a5f0-1111-7222-8333-444455556666 --reason "read it: a new preference"

From then on the credentials of the account, or of the session, are admitted again.`
}

// Run confirms the skip.
func (c *confirmSkip) Run(ctx context.Context, admin *client, to terminal) error {
	path := "/admin/skips/" + url.PathEscape(c.Event) + "/confirm"
	if err := admin.post(ctx, "confirming", path, struct{}{}, &skippedEvent{}); err != nil {
		return err
	}
	fmt.Fprintln(to.notes, "Confirmed.")
	return nil
}

type unskipEvent struct{ someEvent }

// Help is shown below the flags.
func (*unskipEvent) Help() string {
	return `Examples:
  recitalctl projections parked unskip 0190a5f0-1111-7222-8333-444455556666 --reason "all run the newer release"

For when every recitald runs a release that handles it. Read models that passed it lack it until they are rebuilt.`
}

// Run lets the event count again.
func (c *unskipEvent) Run(ctx context.Context, admin *client, to terminal) error {
	var done struct {
		Rebuild []string `json:"rebuild"`
	}
	if err := admin.remove(ctx, "letting it count again", "/admin/skips/"+url.PathEscape(c.Event), &done); err != nil {
		return err
	}
	fmt.Fprintln(to.notes, "It counts again.")
	if len(done.Rebuild) > 0 {
		fmt.Fprintf(to.notes, "Read models that have passed it may lack it:\n  recitalctl projections rebuild %s "+
			"--promote\n", printable(strings.Join(done.Rebuild, " ")))
	}
	return nil
}
