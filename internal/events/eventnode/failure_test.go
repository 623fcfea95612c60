package eventnode

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/recital-tts/recital/internal/events/eventlog"
	adapter "github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// failureWait bounds waits; it only matters if a test fails.
const failureWait = 30 * time.Second

// failing returns a file system whose writes fail with an error while broken is set.
func failing(broken *atomic.Bool, err error, kinds ...errorfs.OpKind) vfs.FS {
	fails := map[errorfs.OpKind]bool{}
	for _, kind := range kinds {
		fails[kind] = true
	}
	return errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && fails[op.Kind] {
			return &os.PathError{Op: "write", Path: op.Path, Err: err}
		}
		return nil
	}))
}

// needSpace has the operations that fail on a full disk.
var needSpace = []errorfs.OpKind{
	errorfs.OpCreate, errorfs.OpReuseForWrite, errorfs.OpLink, errorfs.OpMkdirAll, errorfs.OpRename,
	errorfs.OpFilePreallocate, errorfs.OpFileWrite, errorfs.OpFileWriteAt,
}

func failureConfig(t *testing.T) Config {
	t.Helper()
	dir, err := os.MkdirTemp("", "node")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return Config{Dir: filepath.Join(dir, "log"), Socket: filepath.Join(dir, "socket"),
		Logger: slog.New(slog.DiscardHandler)}
}

func failureClient(t *testing.T, socket string) *esdb.Client {
	t.Helper()
	configuration, err := esdb.ParseConnectionString("esdb://localhost?tls=false")
	require.NoError(t, err)
	configuration.Address = "unix://" + socket
	configuration.Logger = esdb.NoopLogging()
	deadline := failureWait // the client's default is 10 s
	configuration.DefaultDeadline = &deadline
	client, err := esdb.NewClient(configuration)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func write(client *esdb.Client, stream string, expected esdb.ExpectedRevision, events ...esdb.EventData) error {
	ctx, cancel := context.WithTimeout(context.Background(), failureWait)
	defer cancel()
	_, err := client.AppendToStream(ctx, stream, esdb.AppendToStreamOptions{ExpectedRevision: expected}, events...)
	return err
}

// someEvent returns an event with incompressible data, so that it takes up space.
func someEvent(size int) esdb.EventData {
	data := make([]byte, size)
	_, _ = crand.Read(data) // never fails
	return esdb.EventData{EventID: uuid.New(), EventType: "x", ContentType: esdb.ContentTypeBinary, Data: data}
}

// eventIDs returns the ids in a stream, whose revisions must have no gap.
func eventIDs(t *testing.T, client *esdb.Client, stream string) []uuid.UUID {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), failureWait)
	defer cancel()
	read, err := client.ReadStream(ctx, stream, esdb.ReadStreamOptions{}, 1<<40)
	require.NoError(t, err)
	defer read.Close()
	var ids []uuid.UUID
	for {
		event, err := read.Recv()
		if errors.Is(err, io.EOF) {
			return ids
		}
		require.NoError(t, err)
		require.Equal(t, uint64(len(ids)), event.Event.EventNumber)
		ids = append(ids, event.Event.EventID)
	}
}

// When the disk fails, the append is not acknowledged, calls end, and Done and Err notify the owner. Acknowledged
// events exist when the node is opened again on a working disk.
func TestDiskFailure(t *testing.T) {
	cfg := failureConfig(t)
	var broken atomic.Bool
	n, err := open(cfg, failing(&broken, syscall.EIO, errorfs.OpFileWrite, errorfs.OpFileSync, errorfs.OpFileSyncData),
		verifyPatience)
	require.NoError(t, err)
	client := failureClient(t, cfg.Socket)
	for range 10 {
		require.NoError(t, write(client, "a", esdb.Any{}, someEvent(1)))
	}
	subscription, err := client.SubscribeToAll(context.Background(), esdb.SubscribeToAllOptions{From: esdb.End{}})
	require.NoError(t, err)
	require.NotNil(t, subscription.Recv().CaughtUp)

	broken.Store(true)
	err = write(client, "a", esdb.Any{}, someEvent(1))

	var known *esdb.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, esdb.ErrorUnavailable, known.Code())
	<-n.Done()
	require.ErrorContains(t, n.Err(), syscall.EIO.Error())
	require.NotNil(t, subscription.Recv().SubscriptionDropped)
	require.NoError(t, client.Close())
	require.NoError(t, n.Close())

	n, err = Open(cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, n.Close()) }()
	client = failureClient(t, cfg.Socket)
	require.NoError(t, write(client, "a", esdb.Any{}, someEvent(1)))
	require.GreaterOrEqual(t, len(eventIDs(t, client, "a")), 11)
}

// requireEnds appends until the node ends with an error, and closes it.
func requireEnds(t *testing.T, cfg Config, n *Node, reason error) {
	t.Helper()
	client := failureClient(t, cfg.Socket)
	for i := 0; ; i++ {
		err := write(client, "large", esdb.Any{}, someEvent(900<<10))
		if err != nil {
			var known *esdb.Error
			require.ErrorAs(t, err, &known)
			require.Equal(t, esdb.ErrorUnavailable, known.Code(), "%v", err)
			break
		}
		require.Less(t, i, 1000, "the node continues without its files")
	}
	<-n.Done()
	require.ErrorIs(t, n.Err(), reason)
	require.NoError(t, client.Close())
	require.NoError(t, n.Close())
}

// Once its data folder is deleted, the node ends when it needs a new log file.
func TestDataFolderIsDeleted(t *testing.T) {
	cfg := failureConfig(t)
	n, err := Open(cfg)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(cfg.Dir))
	requireEnds(t, cfg, n, os.ErrNotExist)
}

// The disk fails in one kind of operation only, while log files are switched and tables written.
func TestOperationsThatFail(t *testing.T) {
	for name, kinds := range map[string][]errorfs.OpKind{
		"creating files": {errorfs.OpCreate, errorfs.OpReuseForWrite},
		"writing":        {errorfs.OpFileWrite, errorfs.OpFileWriteAt},
		"syncing":        {errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := failureConfig(t)
			var broken atomic.Bool
			n, err := open(cfg, failing(&broken, syscall.EIO, kinds...), verifyPatience)
			require.NoError(t, err)
			broken.Store(true)
			requireEnds(t, cfg, n, syscall.EIO)
		})
	}
}

// usageFS reports a settable amount of free space.
type usageFS struct {
	vfs.FS
	free *atomic.Uint64
}

func (fs usageFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: fs.free.Load()}, nil
}

// Appends leave a reserve on the disk. Without it they are refused and leave nothing behind, while reads, repeated
// appends and conflicts are answered as usual; they continue as soon as there is space.
func TestLittleSpace(t *testing.T) {
	cfg := failureConfig(t)
	var free atomic.Uint64
	free.Store(1 << 40)
	n, err := open(cfg, usageFS{FS: vfs.Default, free: &free}, verifyPatience)
	require.NoError(t, err)
	defer func() { require.NoError(t, n.Close()) }()
	client := failureClient(t, cfg.Socket)
	first, second := someEvent(10), someEvent(10)
	require.NoError(t, write(client, "a", esdb.NoStream{}, first))

	free.Store(SpaceReserve - 1)

	err = write(client, "a", esdb.Revision(0), second)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorContains(t, err, "disk of the event store is full")
	_, err = client.DeleteStream(context.Background(), "a", esdb.DeleteStreamOptions{})
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.NoError(t, write(client, "a", esdb.NoStream{}, first), "a repeat needs no space")
	var known *esdb.Error
	require.ErrorAs(t, write(client, "a", esdb.NoStream{}, second), &known)
	require.Equal(t, esdb.ErrorCodeWrongExpectedVersion, known.Code())
	require.Equal(t, []uuid.UUID{first.EventID}, eventIDs(t, client, "a"))

	free.Store(SpaceReserve)

	require.NoError(t, write(client, "a", esdb.Revision(0), second))
	require.Equal(t, []uuid.UUID{first.EventID, second.EventID}, eventIDs(t, client, "a"))
}

// For the rest of the program a full disk is an outage, which routes answer with 503.
func TestLittleSpaceIsAnOutage(t *testing.T) {
	cfg := failureConfig(t)
	var free atomic.Uint64
	free.Store(1 << 40)
	n, err := open(cfg, usageFS{FS: vfs.Default, free: &free}, verifyPatience)
	require.NoError(t, err)
	defer func() { require.NoError(t, n.Close()) }()
	log, err := adapter.Open(adapter.Config{Socket: cfg.Socket})
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	propose := func() []eventlog.Proposed {
		return []eventlog.Proposed{{ID: uuid.New(), Type: "x", Data: []byte("{}"), Metadata: []byte("{}")}}
	}
	first, err := log.Append(context.Background(), "a", eventlog.NoStream, propose())
	require.NoError(t, err)

	free.Store(0)

	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, err = log.Append(ctx, "a", first.Revision, propose())
	require.ErrorIs(t, err, eventlog.ErrUnavailable)

	free.Store(1 << 40)
	require.Eventually(t, func() bool {
		_, err = log.Append(context.Background(), "a", first.Revision, propose())
		return err == nil
	}, failureWait, 10*time.Millisecond)
}

func TestOpenOnFullDisk(t *testing.T) {
	cfg := failureConfig(t)
	var free atomic.Uint64
	free.Store(3 << 20)
	_, err := open(cfg, usageFS{FS: vfs.Default, free: &free}, verifyPatience)
	require.ErrorContains(t, err, "the disk has 3 MiB left; 64 MiB are needed")
}

// The disk fills up in the middle of a write, in spite of the reserve. The append in progress is not acknowledged,
// further ones are refused, reads and subscriptions continue. When space is available again, appends continue, and
// the delayed one is there once.
func TestFullDisk(t *testing.T) {
	cfg := failureConfig(t)
	var full atomic.Bool
	n, err := open(cfg, failing(&full, syscall.ENOSPC, needSpace...), verifyPatience)
	require.NoError(t, err)
	defer func() { require.NoError(t, n.Close()) }()
	client := failureClient(t, cfg.Socket)
	before, heldUp, refused, after := someEvent(1), someEvent(1), someEvent(1), someEvent(1)
	require.NoError(t, write(client, "a", esdb.NoStream{}, before))
	subscription, err := client.SubscribeToAll(context.Background(), esdb.SubscribeToAllOptions{From: esdb.End{}})
	require.NoError(t, err)
	defer func() { _ = subscription.Close() }()
	require.NotNil(t, subscription.Recv().CaughtUp)

	full.Store(true)

	err = write(client, "a", esdb.Revision(0), heldUp)
	require.Equal(t, codes.Aborted, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "disk of the event store is full")
	err = write(client, "a", esdb.Revision(0), refused)
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
	require.Equal(t, []uuid.UUID{before.EventID}, eventIDs(t, client, "a"), "unacknowledged events are not visible")
	live, err := client.SubscribeToAll(context.Background(), esdb.SubscribeToAllOptions{From: esdb.Start{}})
	require.NoError(t, err)
	defer func() { _ = live.Close() }()
	require.Equal(t, before.EventID, live.Recv().EventAppeared.Event.EventID)

	full.Store(false)

	require.Eventually(t, func() bool {
		return write(client, "a", esdb.Revision(0), heldUp) == nil
	}, failureWait, 10*time.Millisecond)
	require.NoError(t, write(client, "a", esdb.Revision(1), after))
	require.Equal(t, []uuid.UUID{before.EventID, heldUp.EventID, after.EventID}, eventIDs(t, client, "a"))
	require.Equal(t, heldUp.EventID, subscription.Recv().EventAppeared.Event.EventID)
	require.Equal(t, after.EventID, subscription.Recv().EventAppeared.Event.EventID)
	require.NoError(t, n.Err())
}

// A node with a full disk can be closed, and loses no acknowledged event.
func TestCloseOnFullDisk(t *testing.T) {
	cfg := failureConfig(t)
	var full atomic.Bool
	n, err := open(cfg, failing(&full, syscall.ENOSPC, needSpace...), verifyPatience)
	require.NoError(t, err)
	client := failureClient(t, cfg.Socket)
	kept := someEvent(1)
	require.NoError(t, write(client, "a", esdb.NoStream{}, kept))
	full.Store(true)
	require.Error(t, write(client, "a", esdb.Revision(0), someEvent(1)))
	require.NoError(t, client.Close())

	require.NoError(t, n.Close())
	full.Store(false)

	n, err = Open(cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, n.Close()) }()
	client = failureClient(t, cfg.Socket)
	ids := eventIDs(t, client, "a")
	require.Equal(t, kept.EventID, ids[0])
	require.NoError(t, write(client, "a", esdb.Revision(uint64(len(ids)-1)), someEvent(1)))
}

// The disk fills up repeatedly at random moments, while Pebble switches log files, writes tables and merges them.
// Each writer repeats its append until it is acknowledged; everything is there once, in order, also after a restart.
func TestDiskFullAgainAndAgain(t *testing.T) {
	longtest.Only(t)
	const writers, each, size = 4, 30, 900 << 10
	cfg := failureConfig(t)
	var full atomic.Bool
	n, err := open(cfg, failing(&full, syscall.ENOSPC, needSpace...), verifyPatience)
	require.NoError(t, err)

	done := make(chan struct{})
	var toggling sync.WaitGroup
	toggling.Go(func() {
		for {
			select {
			case <-done:
				full.Store(false)
				return
			case <-time.After(time.Duration(rand.IntN(int(2 * spacePause)))):
				full.Store(!full.Load())
			}
		}
	})
	written := make([][]uuid.UUID, writers)
	var running sync.WaitGroup
	for w := range writers {
		client := failureClient(t, cfg.Socket)
		running.Go(func() { written[w] = writeStubbornly(t, client, fmt.Sprintf("w-%d", w), each, size) })
	}
	running.Wait()
	close(done)
	toggling.Wait()
	require.NoError(t, n.Err())
	client := failureClient(t, cfg.Socket)
	for w := range writers {
		require.Equal(t, written[w], eventIDs(t, client, fmt.Sprintf("w-%d", w)))
	}
	require.NoError(t, client.Close())
	require.NoError(t, n.Close())

	n, err = Open(cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, n.Close()) }()
	client = failureClient(t, cfg.Socket)
	for w := range writers {
		require.Equal(t, written[w], eventIDs(t, client, fmt.Sprintf("w-%d", w)))
	}
}

// writeStubbornly repeats each append, at its exact revision, until it is acknowledged.
func writeStubbornly(t *testing.T, client *esdb.Client, stream string, count, size int) []uuid.UUID {
	var ids []uuid.UUID
	for i := range count {
		var expected esdb.ExpectedRevision = esdb.NoStream{}
		if i > 0 {
			expected = esdb.Revision(uint64(i - 1))
		}
		event := someEvent(size)
		for deadline := time.Now().Add(2 * failureWait); ; {
			err := write(client, stream, expected, event)
			if err == nil {
				break
			}
			if code := status.Code(err); code != codes.Aborted && code != codes.ResourceExhausted || time.Now().After(deadline) {
				t.Errorf("append: %v", err)
				return ids
			}
		}
		ids = append(ids, event.EventID)
	}
	return ids
}
