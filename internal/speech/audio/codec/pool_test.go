//go:build linux && cgo

package codec_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/procfs/procfstest"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/codec"
	"github.com/recital-tts/recital/internal/speech/audio/codec/protocol"
)

const soon = time.Minute // bounds waits on a slow machine

var mp3 = audio.Spec{Format: audio.MP3, SampleRate: 24000}

func openStream(t testing.TB, pool *codec.Pool) audio.Encoder {
	t.Helper()
	stream, err := pool.Open(context.Background(), mp3, engineRate)
	require.NoError(t, err)
	t.Cleanup(stream.Close)
	return stream
}

func requireRunning(t testing.TB, pool *codec.Pool, processes int) {
	t.Helper()
	require.Eventually(t, func() bool { return pool.Stats().Running == processes }, soon, 5*time.Millisecond)
}

func requireStreams(t testing.TB, pool *codec.Pool, streams int) {
	t.Helper()
	require.Eventually(t, func() bool { return pool.Stats().Streams == streams }, soon, 5*time.Millisecond)
}

func requireRestarts(t testing.TB, pool *codec.Pool, restarts uint64) {
	t.Helper()
	require.Eventually(t, func() bool { return pool.Stats().Restarts == restarts }, soon, 5*time.Millisecond)
}

func TestStreamsAreSpreadAndRunSideBySide(t *testing.T) {
	pool := openPool(t, 2, time.Minute)
	input := tone(engineRate, 1)
	want, _ := encode(t, pool, mp3, input)

	var running sync.WaitGroup
	results := make([][]byte, 64)
	for i := range results {
		running.Go(func() { results[i], _ = encode(t, pool, mp3, split(input, 2162)...) })
	}
	running.Wait()

	for _, got := range results {
		require.Equal(t, want, got)
	}
	requireStreams(t, pool, 0)
}

func TestAKilledProcessCostsItsOwnStreams(t *testing.T) {
	// given 20 streams in the middle of their speech, ten in each of two processes
	pool := openPool(t, 2, time.Minute)
	ctx := context.Background()
	input := tone(engineRate, 2)
	want, _ := encode(t, pool, mp3, input)
	half := len(input) / 4 * 2
	requireStreams(t, pool, 0)
	streams, encoded := make([]audio.Encoder, 20), make([][]byte, 20)
	for i := range streams {
		streams[i] = openStream(t, pool)
		var err error
		encoded[i], err = streams[i].Encode(ctx, input[:half:half])
		require.NoError(t, err)
	}

	// when one process is killed
	require.NoError(t, syscall.Kill(pool.PIDs()[0], syscall.SIGKILL))
	requireRestarts(t, pool, 1)

	// then ten streams fail, with a readable error, and ten end normally
	lost := 0
	for i, stream := range streams {
		part, err := stream.Encode(ctx, input[half:])
		if err != nil {
			require.ErrorIs(t, err, codec.ErrCodecFailed)
			require.NotErrorIs(t, err, io.EOF, "that is how streams end well")
			_, err = stream.Finish(ctx)
			require.ErrorIs(t, err, codec.ErrCodecFailed)
			lost++
			continue
		}
		last, err := stream.Finish(ctx)
		require.NoError(t, err)
		require.Equal(t, want, append(append(encoded[i], part...), last...))
	}
	require.Equal(t, 10, lost)

	// and the pool continues immediately, and soon with two processes again
	got, _ := encode(t, pool, mp3, input)
	require.Equal(t, want, got)
	requireRunning(t, pool, 2)
	requireRestarts(t, pool, 1)
}

func TestOpeningGoesOnWhileProcessesDie(t *testing.T) {
	pool := openPool(t, 2, time.Minute)
	for range 5 {
		for _, pid := range pool.PIDs()[:1] {
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}
		stream, err := pool.Open(context.Background(), mp3, engineRate)
		require.NoError(t, err)
		stream.Close()
		requireRunning(t, pool, 2)
	}
}

// A stopped process never answers, and here no request's time is limited.
func TestAFrozenProcessIsReplaced(t *testing.T) {
	// given streams in two processes, of which one stops without dying
	t.Parallel() // it waits until that is noticed
	pool := openPool(t, 2, time.Hour)
	input := tone(engineRate, 0.5)
	streams := []audio.Encoder{openStream(t, pool), openStream(t, pool), openStream(t, pool), openStream(t, pool)}
	procfstest.Stop(t, pool.PIDs()[0])

	// when all continue, then those of the stopped process fail instead of waiting for ever
	failed := 0
	for _, stream := range streams {
		if _, err := stream.Encode(context.Background(), input); err != nil {
			require.ErrorIs(t, err, codec.ErrCodecFailed)
			failed++
		}
	}
	require.Equal(t, 2, failed)
	requireRestarts(t, pool, 1)
	encode(t, pool, mp3, input)
}

func TestAStalledProcessIsNoticedWhenItsCallersHaveLeft(t *testing.T) {
	t.Parallel() // it waits for the timeout
	pool := openPool(t, 1, 2*time.Second)
	stream := openStream(t, pool)
	procfstest.Stop(t, pool.PIDs()[0])
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()

	_, err := stream.Encode(ctx, tone(engineRate, 0.1))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	stream.Close()

	requireRestarts(t, pool, 1)
}

func TestAnEndedContextEndsTheStreamAlone(t *testing.T) {
	pool := openPool(t, 1, time.Minute)
	stream, other := openStream(t, pool), openStream(t, pool)
	ended, end := context.WithCancel(context.Background())
	end()

	_, err := stream.Encode(ended, tone(engineRate, 0.1))
	require.ErrorIs(t, err, context.Canceled)
	_, err = stream.Encode(context.Background(), tone(engineRate, 0.1))
	require.ErrorIs(t, err, context.Canceled, "a gap in the speech would go unnoticed")
	_, err = pool.Open(ended, mp3, engineRate)
	require.ErrorIs(t, err, context.Canceled)
	stream.Close()
	requireStreams(t, pool, 1)

	_, err = other.Encode(context.Background(), tone(engineRate, 0.1))
	require.NoError(t, err)
	require.Zero(t, pool.Stats().Restarts)
}

func TestAStreamThatEndedTakesNothingMore(t *testing.T) {
	pool := openPool(t, 1, time.Minute)
	ctx := context.Background()
	stream := openStream(t, pool)
	_, err := stream.Finish(ctx)
	require.NoError(t, err)

	_, err = stream.Encode(ctx, tone(engineRate, 0.1))
	require.Error(t, err)
	_, err = stream.Finish(ctx)
	require.Error(t, err)
	stream.Close()
	stream.Close()
	requireStreams(t, pool, 0)
	require.Zero(t, pool.Stats().Restarts)
}

func TestWhatNoCodecMakesIsRefused(t *testing.T) {
	pool := openPool(t, 1, time.Minute)
	for name, opening := range map[string]protocol.Opening{
		"format":      {Format: "ogg", SampleRate: 24000, InputRate: engineRate},
		"made in Go":  {Format: audio.WAV, SampleRate: 24000, InputRate: engineRate},
		"sample rate": {Format: audio.MP3, SampleRate: 11025, InputRate: engineRate},
		"input rate":  {Format: audio.MP3, SampleRate: 24000, InputRate: 192000},
	} {
		t.Run(name, func(t *testing.T) {
			spec := audio.Spec{Format: opening.Format, SampleRate: opening.SampleRate}
			_, err := pool.Open(context.Background(), spec, opening.InputRate)
			require.ErrorIs(t, err, audio.ErrUnsupported)
		})
	}
}

func TestCloseEndsOpenStreams(t *testing.T) {
	pool := openPool(t, 2, time.Minute)
	stream := openStream(t, pool)
	pids := pool.PIDs()

	pool.Close()
	pool.Close()

	_, err := stream.Encode(context.Background(), tone(engineRate, 0.1))
	require.ErrorIs(t, err, codec.ErrCodecFailed)
	_, err = pool.Open(context.Background(), mp3, engineRate)
	require.ErrorIs(t, err, codec.ErrClosed)
	require.False(t, pool.Healthy())
	for _, pid := range pids {
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "no process is left")
	}
}

func TestAProgramThatIsNoCodecIsNoticedAtTheStart(t *testing.T) {
	for name, command := range map[string]workers.Command{
		"missing":       {Path: "./no-such-program"},
		"exits at once": {Path: "false"},
		"echoes":        {Path: "cat"},
		"talks":         {Path: "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := codec.Open(codec.Config{Command: command, Size: 2})
			require.Error(t, err)
		})
	}
}

func TestAPoolWithoutProcessesRecovers(t *testing.T) {
	// given a pool whose program disappears from the disk
	program, err := os.Executable()
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "codec")
	require.NoError(t, os.Symlink(program, link))
	command := worker()
	command.Path = link
	pool, err := codec.Open(codec.Config{Command: command, Size: 1})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, os.Remove(link))

	// when its only process dies, then streams wait for a new one until their timeout
	require.NoError(t, syscall.Kill(pool.PIDs()[0], syscall.SIGKILL))
	requireRunning(t, pool, 0)
	require.False(t, pool.Healthy())
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = pool.Open(ctx, mp3, engineRate)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	// and when the program is back, the pool is too
	require.NoError(t, os.Symlink(program, link))
	encode(t, pool, mp3, tone(engineRate, 0.1))
	require.True(t, pool.Healthy())
}
