package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/chain"
)

type auditHeads struct {
	Export string `placeholder:"FILE" help:"${audit_heads_export}"`
	Last   int    `default:"20" help:"How many of the newest are listed without --export; 0: all."`
	listForm
}

// Help is shown below the flags.
func (*auditHeads) Help() string {
	return `A head says what the log was up to one of its events, and is signed. The heads in the log prove that nobody
without the key has changed it. Those that you keep elsewhere prove that nobody has: not even somebody with the key,
and nobody who has taken the end of the log away.

Examples:
  recitalctl audit heads --export heads.jsonl            daily, from a machine of yours
  recitalctl audit verify --heads heads.jsonl            whenever you like`
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

// exportHeads adds heads to a file. What is in it is never changed: where the log has other heads, that is an error,
// since one of the two was tampered with.
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

// keptHeads returns the heads of a file, and where they end. An export that was cut short has left a part of one, which
// is written over.
func keptHeads(file *os.File) (kept []audit.Head, end int64, err error) {
	decoder := json.NewDecoder(bufio.NewReader(file))
	for {
		var head audit.Head
		switch err := decoder.Decode(&head); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			if end > 0 {
				end++ // the end of the line
			}
			if err := file.Truncate(end); err != nil {
				return nil, 0, err
			}
			_, err = file.Seek(end, io.SeekStart)
			return kept, end, err
		case err != nil:
			return nil, 0, errors.New("it is no file of heads")
		}
		kept, end = append(kept, head), decoder.InputOffset()
	}
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
				"the log has another head of %d events than the file has of %d: the log, or the file, is not what it was. "+
					"Find out with recitalctl audit verify --heads", head.Count, kept[0].Count)
		default:
			kept = kept[1:]
		}
	}
	if len(kept) > 0 {
		return added, fail(exitFailed,
			"the log lacks %d heads that are in the file, the first of %d events: its end is gone", len(kept), kept[0].Count)
	}
	return added, nil
}

// headRow is a head in a list.
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
