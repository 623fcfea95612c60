package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/process/pause"
)

type showEvents struct {
	Stream    string        `placeholder:"NAME" help:"${show_events_stream}"`
	Type      string        `placeholder:"TYPE" help:"Only events of this type."`
	Account   string        `placeholder:"ID" help:"Only events that name this account in their stream, data or metadata."`
	After     string        `placeholder:"POSITION" help:"Only events after this position of the log."`
	Until     string        `placeholder:"POSITION" help:"Only events up to this position."`
	Follow    bool          `help:"Continue with new events until Ctrl-C, even after a restart of recitald."`
	MaxOutage time.Duration `default:"2m" help:"Maximum outage of recitald while following; 0 means no limit."`
	Format    format        `default:"table" enum:"table,json,csv" help:"table, json (an object in each line) or csv."`
}

// Help implements kong.HelpProvider.
func (*showEvents) Help() string {
	return `Examples:
  recitalctl events --account 0190b0c0111172228333444455556666
  recitalctl events --stream alerts --follow
  recitalctl events --type account-closed --format json

Events are shown as they are in the log, with sealed data still sealed. --wide also shows their data.`
}

// Validate implements kong's check of arguments.
func (c *showEvents) Validate() error {
	for _, position := range []string{c.After, c.Until} {
		if position == "" {
			continue
		}
		if _, err := eventlog.ParsePosition(position); err != nil {
			return err
		}
	}
	if c.Follow && c.Until != "" {
		return errors.New("--until and --follow exclude each other")
	}
	if c.MaxOutage < 0 {
		return errors.New("--max-outage cannot be negative")
	}
	return nil
}

// Run prints each event when it arrives.
func (c *showEvents) Run(ctx context.Context, admin *client, to terminal) error {
	show := newEventPrinter(c.Format, to)
	after, err := admin.events(ctx, c.query(c.After), show)
	if !c.Follow {
		if errors.Is(err, logcopy.ErrCut) {
			return failForNow(exitFailed, "the events were cut off; continue with --after %s", after)
		}
		return err
	}
	return c.follow(ctx, admin, after, err, show, to)
}

// follow resumes an interrupted stream.
func (c *showEvents) follow(
	ctx context.Context, admin *client, after string, err error, show func(eventlog.Recorded) error, to terminal,
) error {
	lost, noted := time.Now(), false
	for {
		switch {
		case ctx.Err() != nil:
			return nil
		case !isPassing(err):
			return err
		case c.MaxOutage > 0 && time.Since(lost) > c.MaxOutage:
			return fmt.Errorf("following the log: %w", err)
		case !noted:
			fmt.Fprintln(to.notes, "The connection was lost. It is resumed when recitald is back.")
			noted = true
		}
		_ = pause.For(ctx, time.Second/2) // the next turn sees the end of ctx
		before := after
		began := time.Now()
		if after, err = admin.events(ctx, c.query(after), show); after != before || time.Since(began) > admin.Timeout {
			lost, noted = time.Now(), false
		}
	}
}

func (c *showEvents) query(after string) url.Values {
	query := queryOf(map[string]string{
		"stream": c.Stream, "type": c.Type, "account": c.Account, "after": after, "until": c.Until,
	})
	if c.Follow {
		query.Set("follow", "true")
	}
	return query
}

// events calls show for each event of the log, and returns the position of the last one, where the stream can be
// resumed. Its error is logcopy.ErrCut if the connection is lost or silent, or the error of show or of the API.
func (c *client) events(
	ctx context.Context, query url.Values, show func(eventlog.Recorded) error,
) (last string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, err := c.stream(ctx, "/admin/log?"+query.Encode())
	if err != nil {
		return query.Get("after"), err
	}
	defer body.Close()
	var from io.Reader = body
	if query.Has("follow") { // recitald sends a sign of life every few seconds
		silence := time.AfterFunc(c.Timeout, cancel)
		defer silence.Stop()
		from = notifyingReader{body, func() { silence.Reset(c.Timeout) }}
	}
	last = query.Get("after")
	reader, err := logcopy.NewReader(from)
	if err != nil {
		return last, cut(err)
	}
	for event, err := range reader.Events() {
		if err != nil {
			return last, cut(err)
		}
		if err := show(event); err != nil {
			return last, err
		}
		last = event.Position.String()
	}
	return last, nil
}

// cut converts the loss of a connection into logcopy.ErrCut.
func cut(err error) error {
	if errors.Is(err, logcopy.ErrDamaged) || errors.Is(err, logcopy.ErrFormat) || errors.Is(err, logcopy.ErrCut) {
		return err
	}
	return fmt.Errorf("%w: %w", logcopy.ErrCut, err)
}

// notifyingReader calls each after every Read.
type notifyingReader struct {
	io.Reader
	each func()
}

func (h notifyingReader) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	h.each()
	return n, err
}

// eventRow is an event for people.
type eventRow struct {
	Position string          `col:"position"`
	Time     string          `col:"time"`
	Type     string          `col:"type"`
	Stream   string          `col:"stream"`
	Revision uint64          `col:"revision,wide"`
	Data     json.RawMessage `col:"data,wide"`
}

func rowOf(e eventlog.Recorded) eventRow {
	o := adminapi.EventOf(e)
	return eventRow{o.Position, local(o.Created), o.Type, o.Stream, o.Revision, o.Data}
}

// newEventPrinter returns a function that prints an event. Columns have fixed widths, because events are printed as
// they arrive.
func newEventPrinter(f format, to terminal) func(eventlog.Recorded) error {
	if f == table {
		rows := newPrinter[eventRow](f, to, 19, 19, 28, 48)
		return func(e eventlog.Recorded) error { return rows.print(rowOf(e)) }
	}
	objects := newPrinter[adminapi.EventReply](f, to)
	return func(e eventlog.Recorded) error { return objects.print(adminapi.EventOf(e)) }
}
