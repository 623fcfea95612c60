package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode"
)

// openNode runs an event node on its folder while the returned log is used. Its socket is in a folder of its own,
// because the path of a socket must be short.
func openNode(dir string, log *slog.Logger) (_ *esdb.Client, end func() error, err error) {
	place, err := os.MkdirTemp("", "recitalctl-") // 0700
	if err != nil {
		return nil, nil, fmt.Errorf("making a folder for the event node's socket: %w", err)
	}
	removePlace := func() error { return os.RemoveAll(place) }
	socket := filepath.Join(place, "node.sock")
	node, err := eventnode.Open(eventnode.Config{Dir: dir, Socket: socket, Logger: log})
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("opening the event node: %w", err), removePlace())
	}
	opened, err := esdb.Open(esdb.Config{Socket: socket, Logger: log})
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("opening the event node: %w", err), node.Close(), removePlace())
	}
	return opened, func() error { return errors.Join(opened.Close(), node.Close(), removePlace()) }, nil
}
