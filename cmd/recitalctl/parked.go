package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// parkedSubcommands are the commands on events that a generation could not handle.
type parkedSubcommands struct {
	List  listParked  `cmd:"" help:"List them in log order."`
	Retry retryParked `cmd:"" help:"Try one again, with what waits behind it in its stream."`

	Skip    skipEvent   `cmd:"" help:"Skip one, for all read models and commands."`
	Skipped skippedList `cmd:"" help:"List the events that are skipped."`
	Confirm confirmSkip `cmd:"" help:"Confirm that a skipped event revokes no credential."`
	Unskip  unskipEvent `cmd:"" help:"Let a skipped event count again."`
}

// parkedEvent is the admin API's description of an event that a generation could not handle.
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

An event is one row of the table, with the read models that could not handle it. State: blocking (they stopped before it),
parked (they went on without it and without what follows in its stream).`
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
	rows := all.Parked
	if c.Format == table {
		rows = byEvent(rows)
	}
	if err := printColumns(c.Format, to, all, parkedColumns(c.Format), rows); err != nil {
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

// byEvent returns a row for each event, with the names of all read models that could not handle it.
func byEvent(parked []parkedEvent) (rows []parkedEvent) {
	for _, e := range parked {
		e.Name = fmt.Sprintf("%s (%d)", e.Name, e.Generation)
		i := slices.IndexFunc(rows, func(row parkedEvent) bool { return row.EventID == e.EventID && row.State == e.State })
		if i < 0 {
			rows = append(rows, e)
			continue
		}
		rows[i].Name += ", " + e.Name
	}
	return rows
}

func parkedColumns(f format) []column[parkedEvent] {
	var columns []column[parkedEvent]
	for _, c := range idColumns {
		if f != table {
			columns = append(columns, column[parkedEvent]{name: c.name, people: func(e parkedEvent) string { return c.people(e.generationID) }})
		}
	}
	text := func(name string, of func(parkedEvent) string) column[parkedEvent] {
		return column[parkedEvent]{name: name, people: of}
	}
	columns = append(columns,
		text("state", func(e parkedEvent) string { return e.State }),
		text("event_id", func(e parkedEvent) string { return e.EventID }),
		column[parkedEvent]{name: "type", people: func(e parkedEvent) string { return e.Type }, wide: true},
		column[parkedEvent]{name: "stream", people: func(e parkedEvent) string { return e.Stream }, wide: true},
		column[parkedEvent]{name: "revision", people: func(e parkedEvent) string { return strconv.FormatUint(e.Revision, 10) }, wide: true},
		column[parkedEvent]{name: "position", people: func(e parkedEvent) string { return e.Position }, wide: true},
		column[parkedEvent]{name: "parked_at", people: func(e parkedEvent) string { return localTime(e.ParkedAt) }, raw: func(e parkedEvent) string { return unixTime(e.ParkedAt) }, wide: true},
		text("reason", func(e parkedEvent) string { return e.Reason }),
	)
	if f == table {
		columns = append(columns, text("read_models", func(e parkedEvent) string { return e.Name }))
	}
	return columns
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

type retryParked struct {
	Name       string `arg:"" optional:"" help:"Read model; by default each live one that could not handle the event."`
	Event      string `required:"" placeholder:"ID" help:"Id of the event, as parked list shows it."`
	Generation int    `placeholder:"N" help:"Which generation; by default the live one."`
	Version    int    `placeholder:"N" help:"Of which version; by default that of the recitald."`
}

// Help is shown below the flags.
func (*retryParked) Help() string {
	return `Examples:
  recitalctl projections parked retry --event 0190a5f0-1111-7222-8333-444455556666
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
	of := []generationID{{Name: c.Name, Version: c.Version, Generation: c.Generation}}
	if c.Name == "" {
		if of, err = c.stoppedBy(ctx, admin); err != nil {
			return fmt.Errorf("trying again: %w", err)
		}
	}
	applied := 0
	for _, g := range of {
		handled, err := c.retry(ctx, admin, g)
		if err != nil {
			return fmt.Errorf("trying again: %w", err)
		}
		applied += handled
	}
	if applied > 0 {
		fmt.Fprintf(to.notes, "Handled now: %d.\n", applied)
		return nil
	}
	fmt.Fprintln(to.notes, "Read models that had stopped start again before the event; recitalctl projections list shows whether they get past it.")
	return nil
}

// stoppedBy returns the generations that could not handle the event.
func (c *retryParked) stoppedBy(ctx context.Context, admin *client) (of []generationID, err error) {
	for next := new(string); next != nil; {
		page, err := admin.parked(ctx, *next, maxParkedPage)
		if err != nil {
			return nil, err
		}
		for _, e := range page.Parked {
			if e.EventID == c.Event {
				of = append(of, e.generationID)
			}
		}
		next = page.Next
	}
	if len(of) == 0 {
		err = fail(exitFailed, "no read model has stopped at this event")
	}
	return of, err
}

func (c *retryParked) retry(ctx context.Context, admin *client, of generationID) (applied int, err error) {
	var done struct {
		Applied *int `json:"applied"`
	}
	command := struct {
		generationID
		EventID string `json:"event_id"`
	}{of, c.Event}
	if _, err := admin.post(ctx, "/admin/projections/parked/retry", command, &done); err != nil {
		return 0, err
	}
	if done.Applied == nil {
		return 0, admin.notUnderstood()
	}
	return *done.Applied, nil
}
