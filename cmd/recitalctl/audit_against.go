package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logdiff"
)

// against is a comparison with a backup.
type against struct {
	*logdiff.Comparison
	saved savedLog
}

// compareWith begins or continues a comparison of a log with a backup of it.
func compareWith(ctx context.Context, dir, log string, from *logdiff.Checkpoint) (*against, error) {
	saved, err := openSaved(dir)
	if err != nil {
		return nil, err
	}
	c, err := saved.compare(ctx, log, from)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("comparing with %s: %w", dir, err), saved.Close())
	}
	return &against{c, saved}, nil
}

func (l savedLog) compare(ctx context.Context, log string, from *logdiff.Checkpoint) (*logdiff.Comparison, error) {
	own := l.manifest.Identity()
	if own.LogID.String() != log {
		return nil, fmt.Errorf("it is the backup of another log, %s, and not of %s", own.LogID, log)
	}
	after := func(position eventlog.Position) iter.Seq2[eventlog.Recorded, error] {
		events, _ := l.events(ctx, position)
		return events
	}
	return logdiff.New(fmt.Sprintf("log %s, epoch %d", own.LogID, own.Epoch), after, from)
}

func (a *against) close() error { return errors.Join(a.Close(), a.saved.Close()) }

// maxPrinted is how many differences are printed. The form for programs has all that are known.
const maxPrinted = 100

func printDifferences(out io.Writer, r logdiff.Report) {
	fmt.Fprintf(out, "%d events were compared with the backup; the log has %d later ones\n", r.Compared, r.Later)
	for _, d := range r.Differences[:min(len(r.Differences), maxPrinted)] {
		fmt.Fprintln(out, printable("FOUND: "+d.String()))
	}
	if hidden := len(r.Differences) - maxPrinted + int(r.More); len(r.Differences) > maxPrinted {
		fmt.Fprintf(out, "and %d differences more\n", hidden)
	}
}
