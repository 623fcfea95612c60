package eventnode

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/protocol"
)

// An append is acknowledged after its fsync: a power cut directly afterwards loses nothing, on a file system that
// loses everything that was not synced.
func TestAcknowledgedIsSynced(t *testing.T) {
	fs := vfs.NewCrashableMem()
	require.NoError(t, fs.MkdirAll("log", 0o700))
	s, c := openCommitter(t, fs)
	for i := range 20 {
		stream := fmt.Sprintf("s-%d", i%3)
		r := &request{ctx: context.Background(), stream: stream, expected: expectAny, answer: make(chan outcome, 1)}
		for range 1 + i%3 {
			id := uuid.New()
			r.ids = append(r.ids, id)
			r.events = append(r.events, propose(stream, id, "kind", protocol.ContentTypeJSON, nil, []byte("{}")))
		}
		require.NoError(t, c.commit([]*request{r}))
		answer := <-r.answer
		require.NoError(t, answer.err)

		cut := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0, RNG: rand.New(rand.NewPCG(1, 2))})

		after, survivor := openCommitter(t, cut)
		require.Equal(t, answer.position, survivor.last)
		last, err := after.lastRevision(stream, survivor.last)
		require.NoError(t, err)
		require.Equal(t, answer.last, last)
		require.NoError(t, after.close())
	}
	require.NoError(t, s.close())
}

// The power is cut during appends, and any part of the unsynced data may have reached the disk. The log opens, has all
// events that were acknowledged before the cut, and either all or none of the append in progress.
func TestPowerCut(t *testing.T) {
	fs := vfs.NewCrashableMem()
	require.NoError(t, fs.MkdirAll("log", 0o700))
	s, c := openCommitter(t, fs)
	w := &written{}
	var acknowledged atomic.Int64
	done := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				w.append(t, c, []int{rand.IntN(300), rand.IntN(9_000), rand.IntN(2)})
				acknowledged.Store(int64(len(w.ids)))
			}
		}
	})
	var cuts []*vfs.MemFS
	var least []int64
	for i := range 25 {
		for until := acknowledged.Load() + rand.Int64N(30); acknowledged.Load() < until && !t.Failed(); {
			runtime.Gosched()
		}
		least = append(least, acknowledged.Load())
		cuts = append(cuts, fs.CrashClone(vfs.CrashCloneCfg{
			UnsyncedDataPercent: 25 * (i % 5), RNG: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
		}))
	}
	close(done)
	writing.Wait()
	require.NoError(t, s.close())

	for i, cut := range cuts {
		found, err := contentOf(t, cut)
		require.NoError(t, err)
		require.GreaterOrEqual(t, int64(len(found)), least[i])
		require.Zero(t, len(found)%3, "an append is there in part")
		require.Equal(t, w.ids[:len(found)], found)
	}
}

func openCommitter(t *testing.T, fs vfs.FS) (*store, *committer) {
	t.Helper()
	s, err := openStore(fs, "log", slog.New(slog.DiscardHandler), func(error) {})
	require.NoError(t, err)
	c, err := newCommitter(s)
	require.NoError(t, err)
	return s, c
}
