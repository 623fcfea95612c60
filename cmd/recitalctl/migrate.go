package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/logcopy"
	"github.com/recital-tts/recital/internal/process/datafolder"
)

type logs struct {
	Migrate migrateLog `cmd:"" help:"Move the log of the embedded node into an EventStoreDB or KurrentDB."`
}

type migrateLog struct {
	To      string `required:"" env:"RECITAL_EVENTSTORE" placeholder:"esdb://…" help:"${migrate_log_to}"`
	Offline bool   `help:"${migrate_log_offline}"`
}

// Help implements kong.HelpProvider.
func (*migrateLog) Help() string {
	return `Examples:
  recitalctl log migrate --to 'esdb://user:password@db1:2113'              while recitald is running
  recitalctl log migrate --to 'esdb://user:password@db1:2113' --offline    the rest, after it is stopped

Ids, order, revisions, data and metadata of events are copied byte for byte. The same command continues an interrupted
migration. At the end it compares both logs. With --offline it then opens the log in its new place: a recitald with
RECITAL_EVENTSTORE rebuilds its read models from there. Metadata of streams ($maxCount and the like) is not copied.
Recital sets none.`
}

// source reads a log from its start up to a position, or up to its head if until is the start. It may be called several
// times.
type source func(ctx context.Context, until eventlog.Position) (
	logcopy.Header, iter.Seq2[eventlog.Recorded, error], error,
)

// Run copies the log, compares the copy, and opens it.
func (c *migrateLog) Run(ctx context.Context, s settings, to terminal) error {
	target, err := esdb.Open(esdb.Config{ConnectionString: c.To})
	if err != nil {
		return fail(exitUsage, "--to: %w", err)
	}
	defer target.Close()
	registry, err := eventlog.NewRegistry(eventlog.LogOpenedType())
	if err != nil {
		return err
	}
	from, done, err := c.source(s, registry, to)
	if err != nil {
		return err
	}
	defer func() { _ = done() }() // the source was only read
	node := filepath.Join(s.DataDir, "eventnode")
	m := migration{
		from: from, to: target, registry: registry, by: s.offline(), notes: to.notes, progress: newStage(to),
		seal: func() error { return errors.Join(eventnode.Seal(node), datafolder.Sync(node)) },
	}
	if err := m.run(ctx, c.Offline); err != nil {
		return fmt.Errorf("migrating the log: %w", err)
	}
	return nil
}

func (c *migrateLog) source(s settings, registry *eventlog.Registry, to terminal) (source, func() error, error) {
	if c.Offline {
		if err := datafolder.CheckFormat(s.DataDir); err != nil {
			return nil, nil, err
		}
		return offline(filepath.Join(s.DataDir, "eventnode"), registry, to)
	}
	admin, err := newClient(s)
	if err != nil {
		return nil, nil, err
	}
	return admin.wholeLog, func() error { return nil }, nil
}

// wholeLog is the source for a running recitald.
func (c *client) wholeLog(ctx context.Context, until eventlog.Position) (
	logcopy.Header, iter.Seq2[eventlog.Recorded, error], error,
) {
	body, err := c.stream(ctx, "/admin/log?until="+until.String())
	if err != nil {
		return logcopy.Header{}, nil, err
	}
	context.AfterFunc(ctx, func() { _ = body.Close() }) // the source was only read
	reader, err := logcopy.NewReader(body)
	if err != nil {
		return logcopy.Header{}, nil, err
	}
	return reader.Header(), reader.Events(), nil
}

// offline returns the source for a folder that no recitald is using.
func offline(folder string, registry *eventlog.Registry, to terminal) (source, func() error, error) {
	if _, err := os.Stat(folder); err != nil {
		return nil, nil, fail(exitUsage, "there is no log of an embedded node: %w", err)
	}
	warnings := slog.New(slog.NewTextHandler(to.notes, &slog.HandlerOptions{Level: slog.LevelWarn}))
	log, end, err := openNode(folder, warnings)
	if err != nil {
		return nil, nil, fail(exitFailed, "%w; --offline needs a recitald that is stopped", err)
	}
	read := func(ctx context.Context, until eventlog.Position) (
		logcopy.Header, iter.Seq2[eventlog.Recorded, error], error,
	) {
		identity, found, err := eventlog.ReadIdentity(ctx, log, registry)
		if err == nil && !found {
			err = errors.New("the log has no identity, so it is not a log of Recital")
		}
		if err == nil && until == eventlog.Start() {
			until, err = log.Head(ctx)
		}
		return logcopy.Header{Identity: identity, Until: until}, logcopy.Read(ctx, log, eventlog.Start(), until), err
	}
	return read, end, nil
}

// migration is a running migration.
type migration struct {
	from     source
	to       eventlog.Log
	registry *eventlog.Registry // only knows LogOpened
	by       eventlog.Actor
	notes    io.Writer
	progress *stage
	seal     func() error // keeps recitald from starting on the source
}

func (m *migration) run(ctx context.Context, last bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer m.progress.close()
	header, events, err := m.from(ctx, eventlog.Start())
	if err != nil {
		return err
	}
	there, found, err := eventlog.ReadIdentity(ctx, m.to, m.registry)
	if err != nil {
		return err
	}
	if found && there.LogID == header.Identity.LogID && there.Epoch > header.Identity.Epoch {
		return errors.New("the event store is already in use as the new place of this log; " +
			"nothing more is copied into it")
	}
	if err := logcopy.Append(ctx, m.to, events, m.shown("copying the log", header.Until)); err != nil {
		return err
	}
	_, events, err = m.from(ctx, header.Until)
	if err != nil {
		return err
	}
	if err := logcopy.Compare(ctx, m.to, events, m.shown("comparing the logs", header.Until)); err != nil {
		return err
	}
	m.progress.close()
	if !last {
		fmt.Fprintf(m.notes, "The event store has the log up to position %s. The embedded node is still in use: stop "+
			"recitald, and repeat with --offline to copy the rest.\n", header.Until)
		return nil
	}
	if err := m.seal(); err != nil { // must happen before NextEpoch
		return err
	}
	if _, err := eventlog.NextEpoch(ctx, m.to, m.registry, header.Identity, m.by, time.Now()); err != nil {
		return err
	}
	fmt.Fprintln(m.notes, "The log is in the event store. Set RECITAL_EVENTSTORE (--eventstore) of recitald to its "+
		"connection string and start it; it rebuilds the read models.\n"+
		"It no longer starts with the embedded node, whose log would diverge. Keep the node's folder until you are "+
		"content, then remove it.")
	return nil
}

// shown returns a function that shows the progress of copying or comparing.
func (m *migration) shown(doing string, until eventlog.Position) func(uint64, eventlog.Position) {
	m.progress.begin(doing, int64(until.Commit))
	return func(_ uint64, last eventlog.Position) { m.progress.set(int64(last.Commit)) }
}
