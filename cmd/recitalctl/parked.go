package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/recital-tts/recital/internal/http/adminapi"
)

// parkedSubcommands are the commands on events that a generation could not handle.
type parkedSubcommands struct {
	List  listParked  `cmd:"" help:"List them in log order."`
	Retry retryParked `cmd:"" help:"Retry one, and the later events of its stream."`

	Skip    skipEvent   `cmd:"" help:"Skip one, for all read models and commands."`
	Skipped skippedList `cmd:"" help:"List the events that are skipped."`
	Confirm confirmSkip `cmd:"" help:"Confirm that a skipped event revokes no credential."`
	Unskip  unskipEvent `cmd:"" help:"Undo the skip of an event."`
}

type listParked struct {
	After string `placeholder:"POSITION" help:"Only events after this position of the log."`
	Limit int    `default:"100" help:"Maximum number, 1 to 100000; the rows of an event are not split."`
	listForm
}

// Help implements kong.HelpProvider.
func (*listParked) Help() string {
	return `Examples:
  recitalctl projections parked list
  recitalctl projections parked list --limit 1000 --format csv

The table has a row for each event, with the read models that could not handle it. State: blocking (they stopped before
it).`
}

// Validate implements kong's check of arguments.
func (c *listParked) Validate() error {
	if c.Limit < 1 || c.Limit > 100_000 {
		return fmt.Errorf("--limit is 1 to 100000")
	}
	return nil
}

// maxParkedPage is the admin API's maximum.
const maxParkedPage = 500

// Run prints the events.
func (c *listParked) Run(ctx context.Context, admin *client, to terminal) error {
	all, err := admin.parked(ctx, "listing parked events", c.After, c.Limit)
	switch {
	case err != nil:
		return err
	case c.Format != table:
		return show(c.Format, to, all, all.Parked)
	}
	if err := show(table, to, all, byEvent(all.Parked)); err != nil {
		return err
	}
	if all.Next != nil {
		fmt.Fprintf(to.notes, "\nThere may be more: --after %s\n", printable(*all.Next))
	}
	return nil
}

// parked returns the parked events after a position. A limit of 0 means all.
func (c *client) parked(ctx context.Context, doing, after string, limit int) (adminapi.ParkedReply, error) {
	all := adminapi.ParkedReply{Parked: []adminapi.ParkedEventReply{}}
	list := listing{
		doing, "/admin/projections/parked", queryOf(map[string]string{"after": after}), "after", limit, maxParkedPage,
	}
	size := func(p adminapi.ParkedReply) (int, *string) { return len(p.Parked), p.Next }
	for page, err := range pages(ctx, c, list, size) {
		if err != nil {
			return all, err
		}
		all.Parked, all.Next = append(all.Parked, page.Parked...), page.Next
	}
	return all, nil
}

// parkedRow is an event with the read models that could not handle it.
type parkedRow struct {
	adminapi.ParkedEventReply
	ReadModels string `col:"read_models"`
}

// byEvent returns a row per event.
func byEvent(parked []adminapi.ParkedEventReply) (rows []parkedRow) {
	for _, e := range parked {
		name := fmt.Sprintf("%s (%d)", e.Name, e.Generation)
		i := slices.IndexFunc(rows, func(row parkedRow) bool { return row.EventID == e.EventID && row.State == e.State })
		if i < 0 {
			rows = append(rows, parkedRow{ParkedEventReply: e, ReadModels: name})
			continue
		}
		rows[i].ReadModels += ", " + name
	}
	return rows
}

type retryParked struct {
	Name       string `arg:"" optional:"" help:"Read model; by default each live one that could not handle the event."`
	Event      string `required:"" placeholder:"ID" help:"Id of the event, as parked list shows it."`
	Generation int    `placeholder:"N" help:"Which generation; by default the live one."`
	Version    int    `placeholder:"N" help:"Of which version; by default that of the recitald."`
}

// Help implements kong.HelpProvider.
func (*retryParked) Help() string {
	return `Examples:
  recitalctl projections parked retry --event 0190a5f0-1111-7222-8333-444455556666
  recitalctl projections parked retry account --event 0190a5f0-1111-7222-8333-444455556666
  recitalctl projections parked retry account --generation 2 --event 0190a5f0-1111-7222-8333-444455556666

Use it after an upgrade to a release that handles the event. A generation that was stopped there is restarted.`
}

// Run retries the event.
func (c *retryParked) Run(ctx context.Context, admin *client, to terminal) error {
	of := []adminapi.GenerationID{{Name: c.Name, Version: c.Version, Generation: c.Generation}}
	if c.Name == "" {
		var err error
		if of, err = c.stoppedBy(ctx, admin); err != nil {
			return err
		}
	}
	for _, g := range of {
		if err := c.retry(ctx, admin, g); err != nil {
			return err
		}
	}
	fmt.Fprintln(to.notes, "Stopped read models are restarted before the event; recitalctl projections list "+
		"shows whether they can handle it.")
	return nil
}

// stoppedBy returns the generations that could not handle the event.
func (c *retryParked) stoppedBy(ctx context.Context, admin *client) (of []adminapi.GenerationID, err error) {
	all, err := admin.parked(ctx, "trying again", "", 0)
	for _, e := range all.Parked {
		if e.EventID == c.Event {
			of = append(of, e.GenerationID)
		}
	}
	if err == nil && len(of) == 0 {
		err = fail(exitFailed, "trying again: no read model has stopped at this event")
	}
	return of, err
}

func (c *retryParked) retry(ctx context.Context, admin *client, of adminapi.GenerationID) error {
	command := struct {
		adminapi.GenerationID
		EventID string `json:"event_id"`
	}{of, c.Event}
	_, err := post[struct{}](ctx, admin, "trying again", "/admin/projections/parked/retry", command)
	return err
}

// someEvent is an argument that identifies an event.
type someEvent struct {
	Event string `arg:"" help:"Id of the event, as parked list shows it."`
}

type skipEvent struct {
	someEvent
	Stream   string `placeholder:"STREAM" help:"The event's stream, if no read model has stopped at the event."`
	Revision int    `placeholder:"N" help:"The event's revision in that stream."`
	Yes      bool   `help:"Do not ask."`
}

// Help implements kong.HelpProvider.
func (*skipEvent) Help() string {
	return `Examples:
  recitalctl projections parked skip 0190a5f0-1111-7222-8333-444455556666 --reason TEXT           asks first
  recitalctl projections parked skip 0190a5f0-1111-7222-8333-444455556666 --reason TEXT --yes     for scripts

The log keeps the event and the skip. All readers of the log ignore the event until parked unskip: read models, even
when they are rebuilt, commands, restored backups and later releases.

The event may have revoked an API key or a session, or closed the account. So if it is in the stream of an account or
of a session, their credentials are refused until parked confirm. accounts close closes such an account.`
}

// Run asks for confirmation and skips the event.
func (c *skipEvent) Run(ctx context.Context, admin *client, to terminal) error {
	if err := to.confirm(ctx, c.Yes,
		fmt.Sprintf("Skip event %s, for all read models and commands?", printable(c.Event))); err != nil {
		return err
	}
	command := map[string]any{"event_id": c.Event, "stream": c.Stream, "revision": c.Revision}
	skipped, err := post[adminapi.SkipReply](ctx, admin, "skipping", "/admin/skips", command)
	if err != nil {
		return err
	}
	fmt.Fprintf(to.notes, "Skipped: event %d of %s (%s).\n", skipped.Revision, printable(skipped.Stream),
		printable(skipped.Type))
	fmt.Fprintln(to.notes, whatHides(skipped))
	return nil
}

// whatHides describes the effects of the event that may now be missing.
func whatHides(e adminapi.SkipReply) string {
	switch kind, id, _ := strings.Cut(e.Stream, "-"); {
	case e.Unconfirmed && kind == "session":
		return fmt.Sprintf("It may hide that session %s has ended. The session is refused until you confirm that it "+
			"does not:\n"+
			"  recitalctl projections parked confirm %s --reason …", printable(id), printable(e.EventID))
	case e.Unconfirmed:
		return fmt.Sprintf("It may hide that an API key or all sessions of account %s were revoked, or that it was "+
			"closed. Its credentials are refused\n"+
			"until you confirm that it does not: recitalctl projections parked confirm %s --reason …\n"+
			"To close it instead: recitalctl accounts close %[1]s --reason …", printable(id), printable(e.EventID))
	case kind == "usage" || kind == "subscription" || kind == "payment":
		return "It may hide use, credit or a payment: compare the account with the payment provider."
	}
	return "Its effect on its stream is missing from now on."
}

type skippedList struct{ listForm }

// Run prints the skipped events.
func (c *skippedList) Run(ctx context.Context, admin *client, to terminal) error {
	all, err := get[adminapi.ListReply](ctx, admin, "listing skipped events", "/admin/skips")
	return showList(c.Format, to, all, all.Skips, err)
}

type confirmSkip struct{ someEvent }

// Help implements kong.HelpProvider.
func (*confirmSkip) Help() string {
	return `Examples:
  recitalctl projections parked confirm 0190a5f0-1111-7222-8333-444455556666 --reason "read it: a new preference"

Then the credentials of the account, or of the session, are accepted again.`
}

// Run confirms the skip.
func (c *confirmSkip) Run(ctx context.Context, admin *client, to terminal) error {
	path := "/admin/skips/" + url.PathEscape(c.Event) + "/confirm"
	_, err := post[adminapi.SkipReply](ctx, admin, "confirming", path, struct{}{})
	return to.report(err, "Confirmed.")
}

type unskipEvent struct{ someEvent }

// Help implements kong.HelpProvider.
func (*unskipEvent) Help() string {
	return `Examples:
  recitalctl projections parked unskip 0190a5f0-1111-7222-8333-444455556666 --reason "all run the newer release"

Use it when every recitald runs a release that handles the event. Read models that passed it lack it until they are
rebuilt.`
}

// Run ends the skip.
func (c *unskipEvent) Run(ctx context.Context, admin *client, to terminal) error {
	path := "/admin/skips/" + url.PathEscape(c.Event)
	done, err := remove[adminapi.UnskipReply](ctx, admin, "letting it count again", path)
	if err != nil {
		return err
	}
	fmt.Fprintln(to.notes, "The event is no longer skipped.")
	if len(done.Rebuild) > 0 {
		fmt.Fprintf(to.notes, "Read models that have passed it may lack it:\n  recitalctl projections rebuild %s "+
			"--promote\n", printable(strings.Join(done.Rebuild, " ")))
	}
	return nil
}
