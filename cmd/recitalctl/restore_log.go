package main

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"strings"

	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
)

// openLog opens the log that is restored into: the event store that is named, or a node on the data folder that runs
// for the restore alone.
func (r *restoring) openLog(context.Context) error {
	silent := slog.New(slog.DiscardHandler)
	if r.settings.To != "" {
		client, err := esdb.Open(esdb.Config{ConnectionString: r.settings.To, Logger: silent})
		if err != nil {
			return fmt.Errorf("opening the event store: %w", err)
		}
		r.target = client
		r.closing = append(r.closing, client.Close)
		return nil
	}
	dir := r.folder.Path("eventnode")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of the event node: %w", err)
	}
	log, end, err := openNode(dir, silent)
	if err != nil {
		return err
	}
	r.target = log
	r.closing = append(r.closing, end)
	return nil
}

// latestClips is how many clips the drill may look at.
const latestClips = 100

// events yields the events of the backup, and remembers the latest clips.
func (r *restoring) events() iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		for event, err := range r.from.Events(r.manifest) {
			if err == nil && event.Type == "clip-saved" {
				r.done.clips = append(r.done.clips, strings.TrimPrefix(event.Stream, clip.StreamPrefix))
				r.done.clips = r.done.clips[max(0, len(r.done.clips)-latestClips):]
			}
			if !yield(event, err) {
				return
			}
		}
	}
}
