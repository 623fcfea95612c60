package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// parkedSubcommands are the commands on events that a generation could not handle.
type parkedSubcommands struct {
	List  listParked  `cmd:"" help:"List them in log order."`
	Retry retryParked `cmd:"" help:"Try one again, with what waits behind it in its stream."`
	Skip  skipParked  `cmd:"" help:"Let the generation go on without one, for good."`
}

// parkedEvent is the admin API's description of a parked event.
type parkedEvent struct {
	generationID
	EventID  string   `json:"event_id"`
	Type     string   `json:"type"`
	Stream   string   `json:"stream"`
	Revision uint64   `json:"revision"`
	Position string   `json:"position"`
	State    string   `json:"state"`
	Reason   string   `json:"reason"`
	ParkedAt *float64 `json:"parked_at"` // Unix seconds
}

type parkedPage struct {
	Parked []parkedEvent `json:"parked"`
	Next   *string       `json:"next"`
}

type listParked struct {
	After  string `placeholder:"POSITION" help:"Only events after this position of the log."`
	Limit  int    `default:"100" help:"How many at most, 1 to 100000; those of one event are never cut apart."`
	Format format `default:"table" enum:"table,json,csv" help:"Form of the result: table, json or csv."`
}

// Help is shown below the flags.
func (*listParked) Help() string {
	return `Examples:
  recitalctl projections parked list
  recitalctl projections parked list --limit 1000 --format csv

State: blocking (the generation stopped before it), parked (the generation went on without it and without what follows
in its stream), skipped (an operator decided so).`
}

// Validate is called by kong.
func (c *listParked) Validate() error {
	if c.Limit < 1 || c.Limit > 100_000 {
		return fmt.Errorf("--limit is 1 to 100000")
	}
	return nil
}

// maxParkedPage is the largest page of the admin API.
const maxParkedPage = 500

// Run reads page by page.
func (c *listParked) Run(ctx context.Context, s settings, to terminal) error {
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	all := parkedPage{Parked: []parkedEvent{}}
	for next := &c.After; next != nil && len(all.Parked) < c.Limit; next = all.Next {
		page, err := admin.parked(ctx, *next, min(c.Limit-len(all.Parked), maxParkedPage))
		if err != nil {
			return fmt.Errorf("listing parked events: %w", err)
		}
		all.Parked, all.Next = append(all.Parked, page.Parked...), page.Next
	}
	if err := printColumns(c.Format, to, all, parkedColumns(), all.Parked); err != nil {
		return err
	}
	if c.Format == table && all.Next != nil {
		fmt.Fprintf(to.notes, "\nThere may be more: --after %s\n", printable(*all.Next))
	}
	return nil
}

func (c *client) parked(ctx context.Context, after string, limit int) (parkedPage, error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if after != "" {
		query.Set("after", after)
	}
	var page parkedPage
	_, err := c.get(ctx, "/admin/projections/parked?"+query.Encode(), &page)
	if err == nil && page.Parked == nil {
		err = c.notUnderstood()
	}
	return page, err
}

func parkedColumns() []column[parkedEvent] {
	var columns []column[parkedEvent]
	for _, c := range idColumns {
		columns = append(columns, column[parkedEvent]{name: c.name, people: func(e parkedEvent) string { return c.people(e.generationID) }, wide: c.name != "name"})
	}
	text := func(name string, of func(parkedEvent) string) column[parkedEvent] {
		return column[parkedEvent]{name: name, people: of}
	}
	return append(columns,
		text("state", func(e parkedEvent) string { return e.State }),
		text("event_id", func(e parkedEvent) string { return e.EventID }),
		column[parkedEvent]{name: "type", people: func(e parkedEvent) string { return e.Type }, wide: true},
		column[parkedEvent]{name: "stream", people: func(e parkedEvent) string { return e.Stream }, wide: true},
		column[parkedEvent]{name: "revision", people: func(e parkedEvent) string { return strconv.FormatUint(e.Revision, 10) }, wide: true},
		column[parkedEvent]{name: "position", people: func(e parkedEvent) string { return e.Position }, wide: true},
		column[parkedEvent]{name: "parked_at", people: func(e parkedEvent) string { return localTime(e.ParkedAt) }, raw: func(e parkedEvent) string { return unixTime(e.ParkedAt) }, wide: true},
		text("reason", func(e parkedEvent) string { return e.Reason }),
	)
}

func localTime(unix *float64) string {
	if unix == nil {
		return ""
	}
	return time.UnixMilli(int64(*unix * 1000)).Format(time.DateTime)
}

func unixTime(unix *float64) string {
	if unix == nil {
		return ""
	}
	return strconv.FormatFloat(*unix, 'f', -1, 64)
}

// parkedChoice identifies a parked event.
type parkedChoice struct {
	Name       string `arg:"" help:"Read model."`
	Event      string `required:"" placeholder:"ID" help:"Id of the event, as parked list shows it."`
	Generation int    `placeholder:"N" help:"Which generation; by default the live one."`
	Version    int    `placeholder:"N" help:"Of which version; by default that of the recitald."`
}

func (c parkedChoice) command() any {
	return struct {
		generationID
		EventID string `json:"event_id"`
	}{generationID{Name: c.Name, Version: c.Version, Generation: c.Generation}, c.Event}
}

type retryParked struct {
	parkedChoice
}

// Help is shown below the flags.
func (*retryParked) Help() string {
	return `Examples:
  recitalctl projections parked retry account --event 0190a5f0-1111-7222-8333-444455556666
  recitalctl projections parked retry account --generation 2 --event 0190a5f0-1111-7222-8333-444455556666

For when a new release handles it. A generation that was stopped before the event starts again there.`
}

// Run retries the event.
func (c *retryParked) Run(ctx context.Context, s settings, to terminal) error {
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	var done struct {
		Applied *int `json:"applied"`
	}
	if _, err := admin.post(ctx, "/admin/projections/parked/retry", c.command(), &done); err != nil {
		return fmt.Errorf("trying again: %w", err)
	}
	switch {
	case done.Applied == nil:
		return admin.notUnderstood()
	case *done.Applied == 0:
		fmt.Fprintln(to.notes, "The generation starts again before the event; recitalctl projections list shows whether it gets past it.")
	default:
		fmt.Fprintf(to.notes, "Handled now: %d.\n", *done.Applied)
	}
	return nil
}

type skipParked struct {
	parkedChoice
	Yes bool `help:"Do not ask."`
}

// Help is shown below the flags.
func (*skipParked) Help() string {
	return `Examples:
  recitalctl projections parked skip account --event 0190a5f0-1111-7222-8333-444455556666           asks first
  recitalctl projections parked skip account --event 0190a5f0-1111-7222-8333-444455556666 --yes     for scripts

The log keeps the event, and the next rebuild meets it again. What waits behind it in its stream can then be tried.`
}

// Run asks for confirmation and skips the event.
func (c *skipParked) Run(ctx context.Context, s settings, to terminal) error {
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	question := fmt.Sprintf("Let %s go on without event %s, for good?", printable(c.Name), printable(c.Event))
	if err := to.confirm(ctx, c.Yes, question); err != nil {
		return err
	}
	if _, err := admin.post(ctx, "/admin/projections/parked/skip", c.command(), &struct{}{}); err != nil {
		return fmt.Errorf("skipping: %w", err)
	}
	fmt.Fprintln(to.notes, "Skipped.")
	return nil
}
