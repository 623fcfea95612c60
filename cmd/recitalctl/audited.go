package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/backup"
	"github.com/recital-tts/recital/internal/events/chain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
	"github.com/recital-tts/recital/internal/http/adminapi"
)

// audited is a log to check, of a running recitald or in a backup.
type audited interface {
	io.Closer
	id(ctx context.Context) (string, error)
	// keys returns the public keys that the log itself names, in hex.
	keys(ctx context.Context) ([]string, error)
	// heads yields the heads in the log, starting at a revision of their stream.
	heads(ctx context.Context, from uint64) iter.Seq2[chain.LoggedHead, error]
	// events yields the events after a position. After the last event, until returns the position that was reached.
	events(ctx context.Context, after eventlog.Position) (
		events iter.Seq2[eventlog.Recorded, error], until func() eventlog.Position,
	)
}

// liveLog is the log of a running recitald.
type liveLog struct{ *client }

// Close implements io.Closer.
func (liveLog) Close() error { return nil }

func (l liveLog) key(ctx context.Context) (adminapi.KeyReply, error) {
	return get[adminapi.KeyReply](ctx, l.client, "reading whose log it is", "/admin/audit/key")
}

func (l liveLog) id(ctx context.Context) (string, error) {
	key, err := l.key(ctx)
	return key.Log, err
}

func (l liveLog) keys(ctx context.Context) ([]string, error) {
	key, err := l.key(ctx)
	return []string{key.Key}, err
}

// sizeOfHeads returns how many heads a page has, and where the next one begins.
func sizeOfHeads(p adminapi.HeadsReply) (int, *string) {
	if p.Next == nil {
		return len(p.Heads), nil
	}
	return len(p.Heads), new(strconv.FormatUint(*p.Next, 10))
}

func (l liveLog) heads(ctx context.Context, from uint64) iter.Seq2[chain.LoggedHead, error] {
	return func(yield func(chain.LoggedHead, error) bool) {
		first := url.Values{"from": {strconv.FormatUint(from, 10)}}
		list := listing{doing: "reading the heads", path: "/admin/audit/heads", query: first, token: "from"}
		for page, err := range pages(ctx, l.client, list, sizeOfHeads) {
			if err != nil {
				yield(chain.LoggedHead{}, err)
				return
			}
			for _, one := range page.Heads {
				position, err := eventlog.ParsePosition(one.Position)
				head := chain.LoggedHead{Head: one.Head, Revision: one.Revision, Position: position}
				if !yield(head, err) || err != nil {
					return
				}
			}
		}
	}
}

func (l liveLog) events(ctx context.Context, after eventlog.Position) (
	iter.Seq2[eventlog.Recorded, error], func() eventlog.Position,
) {
	var until eventlog.Position
	return func(yield func(eventlog.Recorded, error) bool) {
		body, err := l.stream(ctx, "/admin/log?after="+after.String())
		if err != nil {
			yield(eventlog.Recorded{}, err)
			return
		}
		defer body.Close()
		reader, err := logcopy.NewReader(body)
		if err != nil {
			yield(eventlog.Recorded{}, fmt.Errorf("reading the log: %w", err))
			return
		}
		until = reader.Header().Until
		for event, err := range reader.Events() {
			if !yield(event, err) || err != nil {
				return
			}
		}
	}, func() eventlog.Position { return until }
}

// readHeads yields the heads of an exported file, which has one per line.
func readHeads(from io.Reader) iter.Seq2[audit.Head, error] {
	return func(yield func(audit.Head, error) bool) {
		decoder := json.NewDecoder(from)
		for line := 1; ; line++ {
			var head audit.Head
			err := decoder.Decode(&head)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				err = fmt.Errorf("exported head %d cannot be read", line)
			}
			if !yield(head, err) || err != nil {
				return
			}
		}
	}
}

// savedLog is the log in a backup.
type savedLog struct {
	*backup.Folder
	manifest backup.Manifest
}

func openSaved(dir string) (savedLog, error) {
	folder, m, err := backup.OpenToRead(dir)
	return savedLog{folder, m}, err
}

func (l savedLog) id(context.Context) (string, error) { return l.manifest.LogID.String(), nil }

// keys returns the keys of all heads, because the key may have been replaced.
func (l savedLog) keys(ctx context.Context) (keys []string, err error) {
	return keysOf(l.heads(ctx, 0), func(logged chain.LoggedHead) audit.Head { return logged.Head })
}

func (l savedLog) heads(ctx context.Context, from uint64) iter.Seq2[chain.LoggedHead, error] {
	return func(yield func(chain.LoggedHead, error) bool) {
		events, _ := l.events(ctx, eventlog.Start())
		for event, err := range events {
			if err == nil && (event.Stream != audit.HeadStream || event.Revision < from) {
				continue
			}
			if !yield(chain.LoggedHeadOf(event), err) || err != nil {
				return
			}
		}
	}
}

func (l savedLog) events(ctx context.Context, after eventlog.Position) (
	iter.Seq2[eventlog.Recorded, error], func() eventlog.Position,
) {
	var last eventlog.Position
	return func(yield func(eventlog.Recorded, error) bool) {
		for event, err := range l.Events(l.manifest) {
			err = errors.Join(err, ctx.Err())
			last = event.Position
			if err == nil && last.Compare(after) <= 0 {
				continue
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}, func() eventlog.Position { return last }
}

type auditHeads struct {
	Export string `placeholder:"FILE" help:"${audit_heads_export}"`
	Last   int    `default:"20" help:"Number of the newest heads to list without --export; 0 means all."`
	listForm
}

// Help implements kong.HelpProvider.
func (*auditHeads) Help() string {
	return `A head is a signed hash of the log up to one of its events. The heads in the log prove that it was not changed
without the key. Heads that you keep elsewhere prove that it was not changed even with the key, and that its end was
not cut off.

Examples:
  recitalctl audit heads --export heads.jsonl            daily, on another machine
  recitalctl audit verify --heads heads.jsonl            at any time`
}

// Run lists or exports the heads.
func (c *auditHeads) Run(ctx context.Context, admin auditor, to terminal) error {
	heads := liveLog(admin).heads(ctx, 0)
	if c.Export != "" {
		return exportHeads(c.Export, heads, to)
	}
	newest := []chain.LoggedHead{}
	for head, err := range heads {
		if err != nil {
			return err
		}
		newest = append(newest, head)
		if c.Last > 0 && len(newest) > c.Last {
			newest = newest[1:]
		}
	}
	return show(c.Format, to, newest, headRows(newest))
}

// exportHeads appends new heads to a file. It never changes existing ones: if the log's heads differ, it returns an
// error, because either the log or the file was changed.
func exportHeads(path string, heads iter.Seq2[chain.LoggedHead, error], to terminal) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("opening the file of heads: %w", err)
	}
	kept, end, err := keptHeads(file)
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	out := bufio.NewWriter(file)
	added, err := addHeads(out, kept, heads)
	err = errors.Join(err, out.Flush(), file.Sync(), file.Close())
	if err != nil {
		return errors.Join(fmt.Errorf("exporting the heads: %w", err), os.Truncate(path, end))
	}
	_, err = fmt.Fprintf(to.out, "%d heads were added to %s, which has %d\n", added, path, len(kept)+added)
	return err
}

// keptHeads returns the heads of a file, and the offset of their end. It removes an incomplete head of an interrupted
// export.
func keptHeads(file *os.File) (kept []audit.Head, end int64, err error) {
	decoder := json.NewDecoder(bufio.NewReader(file))
	for {
		var head audit.Head
		switch err := decoder.Decode(&head); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			end, err := endLine(file, end)
			return kept, end, err
		case err != nil:
			return nil, 0, errors.New("it is not a file of heads")
		}
		kept, end = append(kept, head), decoder.InputOffset()
	}
}

// endLine cuts a file after its last head, which ends at end, and ends the line. An interrupted export, or an editor,
// may have left out the newline. It returns the new end of the file.
func endLine(file *os.File, end int64) (int64, error) {
	if err := file.Truncate(end); err != nil {
		return 0, err
	}
	if _, err := file.Seek(end, io.SeekStart); err != nil || end == 0 {
		return end, err
	}
	n, err := file.WriteString("\n")
	return end + int64(n), err
}

func addHeads(out io.Writer, kept []audit.Head, heads iter.Seq2[chain.LoggedHead, error]) (added int, err error) {
	lines := json.NewEncoder(out)
	for head, err := range heads {
		switch {
		case err != nil:
			return added, err
		case len(kept) == 0:
			added++
			if err := lines.Encode(head.Head); err != nil {
				return added, err
			}
		case head.Head != kept[0]:
			return added, fail(exitFailed,
				"the log has a head of %d events where the file has another one of %d: the log or the file was changed. "+
					"Check with recitalctl audit verify --heads", head.Count, kept[0].Count)
		default:
			kept = kept[1:]
		}
	}
	if len(kept) > 0 {
		return added, fail(exitFailed,
			"the log lacks %d heads of the file, the first of %d events: its end is missing", len(kept), kept[0].Count)
	}
	return added, nil
}

// headRow is a row of the list of heads.
type headRow struct {
	Events uint64    `col:"events"`
	Signed time.Time `col:"signed"`
	Hash   string    `col:"hash"`
	Key    string    `col:"key,wide"`
}

func headRows(heads []chain.LoggedHead) (rows []headRow) {
	for _, h := range heads {
		rows = append(rows, headRow{h.Count, h.At.UTC(), h.Hash, h.Key})
	}
	return rows
}
