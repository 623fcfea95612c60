package eventnode

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
)

var errDiskFull = errors.New("no space left on device")

// fullDisk is a file system on which writing and syncing fail once full is set.
func fullDisk(full *atomic.Bool) vfs.FS {
	return errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileWrite, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			if full.Load() {
				return errDiskFull
			}
		}
		return nil
	}))
}

// When the disk fails, the append is not acknowledged, calls end, and Done and Err tell the owner. What was
// acknowledged is there when the node is opened again on a disk that works.
func TestDiskFailure(t *testing.T) {
	dir, err := os.MkdirTemp("", "node")
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(dir)) }()
	cfg := Config{Dir: filepath.Join(dir, "log"), Socket: filepath.Join(dir, "socket"), Logger: slog.New(slog.DiscardHandler)}
	var full atomic.Bool
	n, err := open(cfg, fullDisk(&full))
	require.NoError(t, err)
	client := failureClient(t, cfg.Socket)
	write := func(client *esdb.Client) error {
		_, err := client.AppendToStream(context.Background(), "a", esdb.AppendToStreamOptions{}, esdb.EventData{EventType: "x"})
		return err
	}
	for range 10 {
		require.NoError(t, write(client))
	}
	subscription, err := client.SubscribeToAll(context.Background(), esdb.SubscribeToAllOptions{From: esdb.End{}})
	require.NoError(t, err)
	require.NotNil(t, subscription.Recv().CaughtUp)

	full.Store(true)
	err = write(client)

	var known *esdb.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, esdb.ErrorUnavailable, known.Code())
	<-n.Done()
	require.ErrorContains(t, n.Err(), errDiskFull.Error())
	require.NotNil(t, subscription.Recv().SubscriptionDropped)
	require.NoError(t, client.Close())
	require.NoError(t, n.Close())

	n, err = Open(cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, n.Close()) }()
	client = failureClient(t, cfg.Socket)
	require.NoError(t, write(client))
	read, err := client.ReadAll(context.Background(), esdb.ReadAllOptions{From: esdb.Start{}}, 100)
	require.NoError(t, err)
	defer read.Close()
	count := 0
	for _, err := read.Recv(); err == nil; _, err = read.Recv() {
		count++
	}
	require.GreaterOrEqual(t, count, 11)
}

func failureClient(t *testing.T, socket string) *esdb.Client {
	t.Helper()
	configuration, err := esdb.ParseConnectionString("esdb://localhost?tls=false")
	require.NoError(t, err)
	configuration.Address = "unix://" + socket
	configuration.Logger = esdb.NoopLogging()
	client, err := esdb.NewClient(configuration)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}
