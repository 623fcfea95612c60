package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/process/lifecycle"
)

// openLog connects to the event log, that of an embedded node unless one is configured, and reads its identity.
func (a *App) openLog(ctx context.Context) error {
	a.metrics = newMetrics(func(ctx context.Context) (feed.Overview, error) { return a.projector.Overview(ctx) })
	config := esdb.Config{ConnectionString: a.cfg.EventStore, Logger: a.log}
	if a.cfg.EventStore == "" {
		if err := a.openNode(&config); err != nil {
			return err
		}
	}
	client, err := esdb.Open(config)
	if err != nil {
		return err
	}
	a.onClose("the event log's client", client.Close)
	a.storeSilence = client.Silence
	a.metrics.observeLog(client.Silence)
	if _, err := client.Head(ctx); err != nil { // what its user may not do is said at once, and not by what follows the log
		return err
	}
	registry, err := Registry()
	if err != nil {
		return err
	}
	a.journal = &journal.Journal{Log: observedLog{tracedLog{client}, a.appended}, Registry: registry, Observe: a.metrics.observeCommand}
	if err := a.openSkips(ctx); err != nil {
		return err
	}
	a.identity, err = eventlog.Identify(ctx, client, registry, uuid.New(), time.Now())
	return err
}

func (a *App) openNode(config *esdb.Config) error {
	folder := a.folder.Path("eventnode")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := a.requireUnsealed(folder); err != nil {
		return err
	}
	socket, remove, err := socketPath(folder)
	if err != nil {
		return err
	}
	a.onClose("the event node's socket", remove)
	node, err := eventnode.Open(eventnode.Config{Dir: folder, Socket: socket, Address: a.cfg.EventNodeAddr, Logger: a.log, Synced: func(took time.Duration) { a.metrics.synced.Observe(took.Seconds()) }})
	if err != nil {
		return err
	}
	a.running.Add(lifecycle.Part{Name: "the event node", Stop: node.Close, Run: func(context.Context) error {
		<-node.Done()
		return node.Err()
	}})
	a.nodeStats = node.Stats
	a.metrics.observeNode(node.Stats)
	config.Socket = socket
	return nil
}

// requireUnsealed refuses a log that was moved: appended to, it would have another future than the one in its new
// place.
func (a *App) requireUnsealed(folder string) error {
	err := eventnode.RequireUnsealed(folder)
	if err == nil {
		return nil
	}
	if a.cfg.Unseal {
		a.log.Warn("the log of the embedded node was moved to another event store, and goes on here all the same", "folder", folder)
		return eventnode.Unseal(folder)
	}
	return fmt.Errorf("%w; set --eventstore (RECITAL_EVENTSTORE) to its address, or, to go on with two logs, --eventnode-unseal", err)
}

// maxSocketPath is what fits into a sockaddr_un on Linux, in bytes.
const maxSocketPath = 107

// socketPath returns a path in the folder, or in a short private one when that would be too long.
func socketPath(folder string) (path string, remove func() error, err error) {
	path = filepath.Join(folder, "node.sock")
	if len(path) <= maxSocketPath {
		return path, func() error { return nil }, nil
	}
	short, err := os.MkdirTemp("", "recital-") // 0700
	if err != nil {
		return "", nil, fmt.Errorf("making a folder for the event node's socket: %w", err)
	}
	return filepath.Join(short, "node.sock"), func() error { return os.RemoveAll(short) }, nil
}
