package eventnode

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/recital-tts/recital/internal/testing/bintest"
)

// smallDisk mounts an in-memory file system of the given size.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "node")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	err = syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
	if errors.Is(err, syscall.EPERM) {
		bintest.Missing(t, "mounting a small disk needs root")
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// takeSpace fills a disk up to its last byte with a file.
func takeSpace(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	block := make([]byte, 64<<10)
	for len(block) > 0 {
		if _, err := f.Write(block); err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			block = block[:len(block)/2]
		}
	}
}

// fill appends until the node refuses, and returns the acknowledged ids.
func fill(t *testing.T, client *esdb.Client, most int) (ids []uuid.UUID, err error) {
	t.Helper()
	for len(ids) < most {
		event := someEvent(500 << 10)
		if err := write(client, "a", esdb.Any{}, event); err != nil {
			return ids, err
		}
		ids = append(ids, event.EventID)
	}
	t.Fatal("the disk does not become full")
	return nil, nil
}

// A real disk fills up, and other files also use up the reserve. Reads continue, and appends when space is available
// again. With the reserve all refusals are clean. Without it Pebble reaches the end of the disk at any point of a
// write.
func TestRealFullDisk(t *testing.T) {
	for name, c := range map[string]struct {
		reserve uint64
		refusal codes.Code
	}{
		"with the reserve":    {SpaceReserve, codes.ResourceExhausted},
		"without the reserve": {0, codes.Aborted},
	} {
		t.Run(name, func(t *testing.T) {
			mount := smallDisk(t, "256m")
			cfg := failureConfig(t)
			cfg.Dir = filepath.Join(mount, "log")
			n, err := open(cfg, vfs.Default, verifyPatience)
			require.NoError(t, err)
			defer func() { require.NoError(t, n.Close()) }()
			n.store.disk.reserve = c.reserve
			client := failureClient(t, cfg.Socket)

			ids, err := fill(t, client, 500)
			require.Equal(t, c.refusal, status.Code(err), "%v", err)
			takeSpace(t, filepath.Join(mount, "others"))
			_, err = client.AppendToStream(context.Background(), "a", esdb.AppendToStreamOptions{}, someEvent(1))
			require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
			require.Equal(t, ids, eventIDs(t, client, "a"))

			require.NoError(t, os.Remove(filepath.Join(mount, "others")))
			require.NoError(t, syscall.Mount("tmpfs", mount, "tmpfs", syscall.MS_REMOUNT, "size=1g"))

			last := someEvent(1)
			require.Eventually(t, func() bool {
				return write(client, "b", esdb.NoStream{}, last) == nil
			}, failureWait, 10*time.Millisecond)
			require.Equal(t, []uuid.UUID{last.EventID}, eventIDs(t, client, "b"))
			now := eventIDs(t, client, "a")
			require.Equal(t, ids, now[:len(ids)])
			require.LessOrEqual(t, len(now), len(ids)+1, "no more than the append that was held up")
			require.NoError(t, n.Err())
		})
	}
}
