package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
)

type showEvents struct {
	Stream    string        `placeholder:"NAME" help:"Only events of this stream; of all whose names begin so, if it ends with *."`
	Type      string        `placeholder:"TYPE" help:"Only events of this type."`
	Account   string        `placeholder:"ID" help:"Only events that name this account in their stream, data or metadata."`
	After     string        `placeholder:"POSITION" help:"Only events after this position of the log."`
	Until     string        `placeholder:"POSITION" help:"Only events up to this position."`
	Follow    bool          `help:"Go on with what is written later, also after a restart of recitald, until Ctrl-C."`
	MaxOutage time.Duration `default:"2m" help:"How long recitald may be away while it is followed; 0 is without limit."`
	Format    format        `default:"table" enum:"table,json,csv" help:"table, json (an object for each line) or csv."`
}

// Help is shown below the flags.
func (*showEvents) Help() string {
	return `Examples:
  recitalctl events --account 0190b0c0111172228333444455556666
  recitalctl events --stream alerts --follow
  recitalctl events --type account-closed --format json

Events are shown as they are in the log: what is sealed stays sealed. --wide shows their data, too.`
}

// Validate is called by kong.
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

// Run shows the events, each as it arrives.
func (c *showEvents) Run(ctx context.Context, s settings, to terminal) error {
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	show := newEventPrinter(c.Format, to)
	after, err := admin.events(ctx, c.query(c.After), show)
	if !c.Follow {
		if errors.Is(err, logcopy.ErrCut) {
			return failForNow(exitFailed, "the events were cut off; go on with --after %s", after)
		}
		return err
	}
	return c.follow(ctx, admin, after, err, show, to)
}

// follow goes on where a stream was cut.
func (c *showEvents) follow(ctx context.Context, admin *client, after string, err error, show func(eventlog.Recorded) error, to terminal) error {
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
			fmt.Fprintln(to.notes, "The connection was lost; it goes on when recitald is back.")
			noted = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second / 2):
		}
		before := after
		began := time.Now()
		if after, err = admin.events(ctx, c.query(after), show); after != before || time.Since(began) > admin.Timeout {
			lost, noted = time.Now(), false
		}
	}
}

func (c *showEvents) query(after string) url.Values {
	query := url.Values{}
	for name, value := range map[string]string{"stream": c.Stream, "type": c.Type, "account": c.Account, "after": after, "until": c.Until} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if c.Follow {
		query.Set("follow", "true")
	}
	return query
}

// isPassing reports whether another attempt may go on: the stream was cut, or recitald cannot be reached now.
func isPassing(err error) bool {
	var f *failure
	return errors.Is(err, logcopy.ErrCut) || errors.As(err, &f) && f.passing
}

// events calls show for each event of the admin API's log, and returns the position after which to go on. Errors:
// logcopy.ErrCut, also if recitald falls silent while it is followed; those of show and of the API.
func (c *client) events(ctx context.Context, query url.Values, show func(eventlog.Recorded) error) (last string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, err := c.stream(ctx, "/admin/log?"+query.Encode())
	if err != nil {
		return query.Get("after"), err
	}
	defer body.Close()
	var from io.Reader = body
	if query.Has("follow") { // then recitald says every few seconds that it is there
		silence := time.AfterFunc(c.Timeout, cancel)
		defer silence.Stop()
		from = heard{body, func() { silence.Reset(c.Timeout) }}
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

// cut takes a connection that was lost for what it is to a reader: a stream that was cut.
func cut(err error) error {
	if errors.Is(err, logcopy.ErrDamaged) || errors.Is(err, logcopy.ErrFormat) || errors.Is(err, logcopy.ErrCut) {
		return err
	}
	return fmt.Errorf("%w: %w", logcopy.ErrCut, err)
}

// heard calls each for every piece that arrives.
type heard struct {
	io.Reader
	each func()
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	h.each()
	return n, err
}

// eventObject is an event for programs. Data and metadata that are not JSON are in base64.
type eventObject struct {
	Position string          `json:"position"`
	ID       string          `json:"id"`
	Stream   string          `json:"stream"`
	Revision uint64          `json:"revision"`
	Type     string          `json:"type"`
	Created  time.Time       `json:"created"`
	Data     json.RawMessage `json:"data"`
	Metadata json.RawMessage `json:"metadata"`
}

func newEventPrinter(f format, to terminal) func(eventlog.Recorded) error {
	switch f {
	case jsonValue:
		encoder := json.NewEncoder(to.out)
		encoder.SetEscapeHTML(false)
		return func(e eventlog.Recorded) error {
			return encoder.Encode(eventObject{
				e.Position.String(), e.ID.String(), e.Stream, e.Revision, e.Type, e.Created, rawOr64(e.Data), rawOr64(e.Metadata),
			})
		}
	case csvRows:
		rows := csv.NewWriter(to.out)
		head := []string{"position", "id", "stream", "revision", "type", "created", "data", "metadata"}
		return func(e eventlog.Recorded) error {
			if head != nil {
				_ = rows.Write(head) // rows.Error has it
				head = nil
			}
			_ = rows.Write([]string{e.Position.String(), e.ID.String(), printable(e.Stream), strconv.FormatUint(e.Revision, 10), printable(e.Type),
				e.Created.Format(time.RFC3339Nano), printable(string(rawOr64(e.Data))), printable(string(rawOr64(e.Metadata)))})
			rows.Flush()
			return rows.Error()
		}
	default:
		return newEventTable(to)
	}
}

// newEventTable prints events as they come, so the columns have fixed widths.
func newEventTable(to terminal) func(eventlog.Recorded) error {
	widths, first := []int{19, 19, 28, 48}, true
	print := func(cells ...string) error {
		if !to.wide {
			return printRow(to, cells[:len(widths)], widths)
		}
		_, err := fmt.Fprintf(to.out, "%-19s  %-19s  %-28s  %-48s  %8s  %s\n", cells[0], cells[1], cells[2], cells[3], cells[4], cells[5])
		return err
	}
	return func(e eventlog.Recorded) error {
		if first {
			first = false
			if err := print("POSITION", "TIME", "TYPE", "STREAM", "REVISION", "DATA"); err != nil {
				return err
			}
		}
		return print(e.Position.String(), e.Created.Local().Format(time.DateTime), printable(e.Type), printable(e.Stream),
			strconv.FormatUint(e.Revision, 10), printable(string(rawOr64(e.Data))))
	}
}

func rawOr64(raw []byte) json.RawMessage {
	if json.Valid(raw) {
		return raw
	}
	encoded, _ := json.Marshal(raw) // a []byte always is a string in base64
	return encoded
}
