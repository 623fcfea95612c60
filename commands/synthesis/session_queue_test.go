package synthesis_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// gate is a Listener that accepts no output until it is open.
type gate struct {
	ctx  context.Context
	open chan struct{}
}

func (g gate) Audio(synthesis.Chunk) error { return g.pass() }
func (g gate) Flushed(*int64) error        { return g.pass() }
func (g gate) Cleared(*int64) error        { return g.pass() }

func (g gate) pass() error {
	select {
	case <-g.open:
		return nil
	case <-g.ctx.Done():
		return g.ctx.Err()
	}
}

// mute is a session with commands queued behind a listener that accepts no output. It never speaks, so it needs no
// processes.
type mute struct {
	*synthesis.Session
	gate
	done chan error
}

func converseMute(t testing.TB) *mute {
	t.Helper()
	m := &mute{gate: gate{ctx: t.Context(), open: make(chan struct{})}, done: make(chan error, 1)}
	var err error
	m.Session, err = (&synthesis.Synthesiser{Voices: &enginetest.SystemVoices{}}).Converse(t.Context(),
		synthesis.Synthesis{Voice: "leah", Language: "en-us"}, false, nil)
	require.NoError(t, err)
	go func() { m.done <- m.Speak(m.ctx, m.gate) }()
	return m
}

// A client that sends commands or tiny pieces of text, and accepts no output, is not read any further once its queue is
// full.
func TestWhatAClientMayQueueIsBounded(t *testing.T) {
	takes := func(m *mute) error { close(m.open); return nil }
	resets := func(m *mute) error { return m.Reset(m.ctx, nonce(2)) }
	for name, c := range map[string]struct {
		send func(*mute) error
		most int // accepted
		then func(*mute) error
	}{
		"flushes": {func(m *mute) error { return m.Flush(m.ctx, nonce(1)) }, 3000, takes},
		"resets":  {func(m *mute) error { return m.Reset(m.ctx, nonce(1)) }, 3000, takes},
		"flushes that resets overtake": {func(m *mute) error {
			for range 10 {
				if err := m.Flush(m.ctx, nonce(1)); err != nil {
					return err
				}
			}
			return m.Reset(m.ctx, nonce(1))
		}, 3000 / 10, takes},
		"text": {func(m *mute) error { return m.Add(m.ctx, "a") }, 40_000, resets},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// given a client that accepts no output
				m := converseMute(t)
				require.NoError(t, m.Reset(m.ctx, nonce(1)))
				synctest.Wait()

				// when it sends much more, then it is stopped
				before := heap()
				accepted := 0
				ended := make(chan error, 1)
				go func() {
					var err error
					for ; accepted < 2*c.most && err == nil; accepted++ {
						err = c.send(m)
					}
					ended <- err
				}()
				synctest.Wait()
				require.LessOrEqual(t, accepted, c.most)
				require.Less(t, heap()-before, int64(1<<20), "bytes")

				// and it continues when it accepts output, or drops its text
				stopped := accepted
				require.NoError(t, c.then(m))
				synctest.Wait()
				require.Greater(t, accepted, stopped)
			})
		})
	}
}

// heap returns the bytes in use after a collection.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// The work of many commands is measured in allocated bytes: 8 times as many may cost about 8 times as much.
func TestTheWorkOfManyCommandsIsInProportion(t *testing.T) {
	for name, send := range map[string]func(*mute) error{
		"resets": func(m *mute) error { return m.Reset(m.ctx, nonce(1)) },
		"resets of flushes": func(m *mute) error {
			if err := m.Flush(m.ctx, nonce(1)); err != nil {
				return err
			}
			return m.Reset(m.ctx, nonce(1))
		},
		"flushes without text": func(m *mute) error { return m.Flush(m.ctx, nonce(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			require.Less(t, work(t, 8000, send)/work(t, 1000, send), 12.0)
		})
	}
}

// work returns the bytes allocated for n commands, with the maximum queued before the client accepts output.
func work(t *testing.T, n int, send func(*mute) error) (bytes float64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := converseMute(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sent := make(chan error, 1)
		go func() { sent <- sendAll(m, n, send) }()
		synctest.Wait()
		close(m.open)
		require.NoError(t, <-sent)
		require.NoError(t, <-m.done)
		runtime.ReadMemStats(&after)
		bytes = float64(after.TotalAlloc - before.TotalAlloc)
	})
	return bytes
}

func sendAll(m *mute, n int, send func(*mute) error) error {
	for range n {
		if err := send(m); err != nil {
			return err
		}
	}
	return m.Finish(m.ctx)
}

// BenchmarkResets measures 1,000 and 8,000 resets on one session: each costs the same.
func BenchmarkResets(b *testing.B) {
	reset := func(m *mute) error { return m.Reset(m.ctx, nonce(1)) }
	perReset := func(n int) float64 {
		m := converseMute(b)
		began := time.Now()
		sent := make(chan error, 1)
		go func() { sent <- sendAll(m, n, reset) }()
		close(m.open)
		require.NoError(b, <-sent)
		require.NoError(b, <-m.done)
		return float64(time.Since(began).Nanoseconds()) / float64(n)
	}
	var few, many float64
	for b.Loop() {
		few += perReset(1000)
		many += perReset(8000)
	}
	benchtest.Compare(b, "ns/reset", many/float64(b.N), few/float64(b.N))
	benchtest.Finish(b)
}
