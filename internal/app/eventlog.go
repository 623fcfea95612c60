package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/process/lifecycle"
	"github.com/recital-tts/recital/internal/process/pause"
	"github.com/recital-tts/recital/internal/process/tracing"
)

// openLog connects to the configured event log, or to an embedded node, and reads its identity.
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
	// Missing permissions of the user are reported here, and not later by the subscription.
	if a.began, err = client.Head(ctx); err != nil {
		return err
	}
	registry, err := Registry()
	if err != nil {
		return err
	}
	a.journal = &journal.Journal{
		Log: observedLog{client, a.appended}, Registry: registry, Observe: a.metrics.observeCommand,
	}
	if err := a.openSkips(ctx); err != nil {
		return err
	}
	a.identity, err = eventlog.Identify(ctx, client, registry, uuid.New(), time.Now())
	return err
}

func (a *App) openNode(config *esdb.Config) error {
	folder := a.folder.Path(nodeFolder)
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
	node, err := eventnode.Open(eventnode.Config{
		Dir: folder, Socket: socket, Address: a.cfg.EventNodeAddr, Logger: a.log,
		Synced: a.metrics.observeSyncs(),
	})
	if err != nil {
		return err
	}
	a.running.Add(lifecycle.Part{Name: "the event node", Stop: node.Close, Run: func(context.Context) error {
		<-node.Done()
		return node.Err()
	}})
	a.nodeStats = node.Stats
	a.metrics.scrape(func() []prometheus.Metric { return nodeMetrics(node.Stats()) })
	config.Socket = socket
	return nil
}

// requireUnsealed returns an error if the log was moved elsewhere, because appends here would create two different
// logs.
func (a *App) requireUnsealed(folder string) error {
	err := eventnode.RequireUnsealed(folder)
	if err == nil {
		return nil
	}
	if a.cfg.Unseal {
		a.log.Warn("the log of the embedded node was moved to another event store, and goes on here all the same",
			"folder", folder)
		return eventnode.Unseal(folder)
	}
	return fmt.Errorf("%w; set --eventstore (RECITAL_EVENTSTORE) to its address, "+
		"or, to go on with two logs, --eventnode-unseal", err)
}

// maxSocketPath is the maximum length of a path in sockaddr_un on Linux, in bytes.
const maxSocketPath = 107

// socketPath returns a path in the folder, or in a short private folder if that would be too long.
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

// observedLog traces appends, and reports their outcome.
type observedLog struct {
	eventlog.Log
	appended func(took time.Duration, events int, err error)
}

// Append implements eventlog.Log.
func (l observedLog) Append(
	ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) (eventlog.Appended, error) {
	ctx, span := tracing.Start(ctx, "append")
	kind, _, _ := strings.Cut(stream, "-") // the rest is an id
	span.Set("recital.stream", kind)
	span.Count("recital.events", len(events))
	begun := time.Now()
	done, err := l.Log.Append(ctx, stream, expected, events)
	span.End(err)
	if len(events) > 0 {
		l.appended(time.Since(begun), len(events), err)
	}
	return done, err
}

// appended records the outcome of an append.
func (a *App) appended(took time.Duration, events int, err error) {
	a.readiness.appended(err)
	a.metrics.observeAppend(took, events, err)
}

const (
	nodeFolder = "eventnode" // in the data folder

	seenName  = "seen.json" // in the data folder
	seenEvery = 10 * time.Second
	// seenPause is the time that a node of an event store may lag behind the others.
	seenPause = 5 * time.Second
)

// mark records the furthest known position of the log. A log that ends before its mark was replaced by an older copy.
type mark struct {
	Log      eventlog.Identity `json:"log"`
	Position eventlog.Position `json:"position"`
	Head     audit.Head        `json:"head"` // the last signed head; zero before the first
	At       time.Time         `json:"at"`
	Node     bool              `json:"node,omitempty"` // the log is the embedded node's
}

// seen records the furthest position of the log that this instance has seen, and the loss if the log was put back. It
// is not safe for concurrent use.
type seen struct {
	noted    mark             // zero until the first was written
	inFolder bool             // noted is in the data folder
	inTable  bool             // noted is in Postgres
	missing  *alerts.Occasion // nil unless the log is an older copy
}

// compareWithFolder compares the log with the mark in the data folder. It refuses an unfinished copy of the embedded
// node's log, which may lack its last events. The positions of read models mean other events there.
func (a *App) compareWithFolder(ctx context.Context) error {
	content, err := os.ReadFile(a.folder.Path(seenName))
	var before mark
	if err != nil || json.Unmarshal(content, &before) != nil { // there is no mark
		return nil
	}
	if _, err := os.Stat(a.folder.Path(nodeFolder)); err == nil && before.Node && a.cfg.EventStore != "" &&
		before.Log == a.identity {
		return errors.New("the event store has an unfinished copy of the embedded node's log; " +
			"complete it with recitalctl log migrate --offline")
	}
	return a.compare(ctx, before)
}

// compareWithTable compares the log with the mark in Postgres, before Postgres may be used.
func (a *App) compareWithTable(ctx context.Context) error {
	a.seenMu.Lock()
	a.seen.inTable = false // the database may be another one
	a.seenMu.Unlock()
	var before mark
	err := a.bootstrapPool.QueryRow(ctx, "select mark from feed.log_seen").Scan(&before)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading how far the log was seen: %w", err)
	}
	return a.compare(ctx, before)
}

func (a *App) compare(ctx context.Context, before mark) error {
	if before.Log != a.identity { // a restore opens an epoch
		return nil
	}
	now, missing, err := a.lacks(ctx, before)
	for until := time.Now().Add(seenPause); err == nil && missing && a.cfg.EventStore != "" && time.Now().Before(until); {
		if err := pause.For(ctx, answerTimeout/10); err != nil {
			return err
		}
		now, missing, err = a.lacks(ctx, before)
	}
	if err != nil || !missing {
		return err
	}
	a.seenMu.Lock()
	defer a.seenMu.Unlock()
	if a.seen.missing == nil {
		a.seen.missing = putBack(before, now)
	}
	return nil
}

// lacks reports whether the log ends before a mark or lacks its head, and returns the end of the log.
func (a *App) lacks(ctx context.Context, before mark) (now eventlog.Position, missing bool, err error) {
	if now, err = a.journal.Log.Head(ctx); err != nil {
		return now, false, fmt.Errorf("asking for the head of the log: %w", err)
	}
	if now.Compare(before.Position) < 0 || before.Head.Count == 0 {
		return now, now.Compare(before.Position) < 0, nil
	}
	for event, err := range a.journal.Log.ReadStream(ctx, before.Head.Last.Stream, before.Head.Last.Revision) {
		return now, err == nil && event.ID.String() != before.Head.Last.ID, err
	}
	return now, true, nil
}

// putBack returns the alert of a log that ends at now, before a mark.
func putBack(before mark, now eventlog.Position) *alerts.Occasion {
	what := fmt.Sprintf("the last event of the signed head of %d events, of %s,",
		before.Head.Count, before.Head.At.UTC().Format(time.RFC3339))
	if now.Compare(before.Position) < 0 {
		what = fmt.Sprintf("%d bytes of acknowledged events", before.Position.Commit-now.Commit)
	}
	return &alerts.Occasion{
		Source: alert.LogSource, Subject: fmt.Sprintf("at %s, before %s", now, before.Position),
		Reason: alert.PutBack, At: time.Now(),
		Detail: fmt.Sprintf("%s are missing, which were there at %s: the log is an older copy. "+
			"To have them again stop all instances, and put the newest copy of the log back, or restore the last backup. "+
			"To go on without them, clear this alert", what, before.At.UTC().Format(time.RFC3339)),
	}
}

// keepSeen starts the job that records the mark. An alert about missing events is recorded first.
func (a *App) keepSeen(context.Context) error {
	a.metrics.expectAlert(alert.LogSource, alert.PutBack)
	job := lifecycle.Job{Name: "the note how far the log is seen", Every: seenEvery, Do: a.noteSeen, Logger: a.log}.Part()
	job.Stop = func() error {
		if err := a.noteSeen(context.Background()); err != nil {
			a.log.Warn("how far the log was seen is not noted", "error", err)
		}
		return nil
	}
	a.running.Add(job)
	return nil
}

// noteSeen records the head of the log, if it has moved. A log that is replaced under a running instance is detected at
// the next start.
func (a *App) noteSeen(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	a.seenMu.Lock()
	defer a.seenMu.Unlock()
	s := &a.seen
	if s.missing != nil {
		if err := a.alerts.Raise(ctx, *s.missing); err != nil {
			return err
		}
		s.missing = nil
	}
	position, err := a.journal.Log.Head(ctx)
	if err != nil {
		return err
	}
	if position.Compare(s.noted.Position) > 0 {
		unsigned, err := a.lastHead(ctx)
		if err != nil {
			return err
		}
		*s = seen{noted: mark{Log: a.identity, Position: position, Head: unsigned, At: time.Now().UTC(),
			Node: a.cfg.EventStore == ""}}
	}
	return a.writeSeen(ctx)
}

// lastHead returns the last signed head of any key that is not skipped and can be decoded.
func (a *App) lastHead(ctx context.Context) (audit.Head, error) {
	for event, err := range a.journal.Log.ReadStreamBackwards(ctx, audit.HeadStream) {
		if err != nil {
			return audit.Head{}, err
		}
		decoded, err := a.journal.Registry.Decode(event)
		if head, ok := decoded.Event.(audit.Head); ok && err == nil {
			return head, nil
		}
	}
	return audit.Head{}, nil
}

func (a *App) writeSeen(ctx context.Context) error {
	s := &a.seen
	content, err := json.Marshal(s.noted)
	if err != nil {
		return err
	}
	if !s.inFolder {
		if err := a.folder.Replace(seenName, append(content, '\n')); err != nil {
			return err
		}
		s.inFolder = true
	}
	select {
	case <-a.database:
	default:
		return nil
	}
	if s.inTable {
		return nil
	}
	_, err = a.bootstrapPool.Exec(ctx, `insert into feed.log_seen (mark) values ($1)
		on conflict (single) do update set mark = excluded.mark`, content)
	s.inTable = err == nil
	return err
}
