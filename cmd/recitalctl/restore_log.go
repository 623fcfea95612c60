package main

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode"
)

// openLog opens the log that is restored into: the event store that is named, or a node on the data folder that runs for the restore
// alone.
func (r *restoring) openLog(context.Context) error {
	config := esdb.Config{ConnectionString: r.settings.To, Logger: slog.New(slog.DiscardHandler)}
	if r.settings.To == "" {
		if err := r.openNode(&config); err != nil {
			return err
		}
	}
	client, err := esdb.Open(config)
	if err != nil {
		return fmt.Errorf("opening the event store: %w", err)
	}
	r.target = client
	r.closing = append([]func() error{client.Close}, r.closing...)
	return nil
}

// maxSocketPath is what fits into a sockaddr_un on Linux, in bytes.
const maxSocketPath = 107

func (r *restoring) openNode(config *esdb.Config) error {
	dir := r.folder.Path("eventnode")
	socket := filepath.Join(dir, "node.sock")
	if len(socket) > maxSocketPath {
		short, err := os.MkdirTemp("", "recital-") // 0700
		if err != nil {
			return fmt.Errorf("making a folder for the event node's socket: %w", err)
		}
		r.closing = append(r.closing, func() error { return os.RemoveAll(short) })
		socket = filepath.Join(short, "node.sock")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of the event node: %w", err)
	}
	node, err := eventnode.Open(eventnode.Config{Dir: dir, Socket: socket, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("opening the event node: %w", err)
	}
	r.closing = append([]func() error{node.Close}, r.closing...)
	config.Socket = socket
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
