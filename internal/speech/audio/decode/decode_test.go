//go:build cgo

package decode_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/process/procfs"
	"github.com/recital-tts/recital/internal/process/procfs/procfstest"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/decode"
	"github.com/recital-tts/recital/internal/speech/audio/libav/libavtest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

func TestEveryKindOfFileBecomesTheSameSound(t *testing.T) {
	for i, kind := range kinds() {
		for _, channels := range []int{1, 2} {
			if testing.Short() && channels != 1+i%2 {
				continue
			}
			t.Run(kind.name+map[int]string{1: "", 2: " in stereo"}[channels], func(t *testing.T) {
				pcm, decoded, err := decodeFile(t, tone(t, kind.encoder, 2, 48000, channels), limits())
				require.NoError(t, err)
				require.InDelta(t, 2*rate, len(pcm)/2, rate/10, "the length")
				requireTone(t, pcm)
				require.Equal(t, audio.Decoded{
					Container: kind.container, Codec: kind.codec, Rate: 48000, Channels: channels, Samples: int64(len(pcm) / 2),
				}, decoded)
			})
		}
	}
}

func TestOtherRatesAndChannels(t *testing.T) {
	for _, file := range []struct{ rate, channels int }{{4000, 1}, {8000, 1}, {44100, 2}, {48000, 6}, {48000, 8},
		{192000, 1}} {
		pcm, decoded, err := decodeFile(t,
			tone(t, libavtest.Kind{Muxer: "wav", Codec: "pcm_s16le"}, 2, file.rate, file.channels), limits())
		require.NoError(t, err)
		require.Equal(t, file.rate, decoded.Rate)
		require.Equal(t, file.channels, decoded.Channels)
		require.InDelta(t, 2*rate, len(pcm)/2, rate/100)
	}
}

func TestAnUploadThatIsTooLargeIsRefusedUnread(t *testing.T) {
	limited := limits()
	limited.Bytes = 10
	pool := decode.NewPool(decode.Config{Command: workers.Command{Path: "/nowhere"}})
	_, err := pool.Decode(t.Context(), bytes.NewReader(make([]byte, 11)), nil, limited)
	requireFault(t, audio.TooLarge, err)
}

func TestAnUploadThatIsTooLongEndsAtTheLimit(t *testing.T) {
	limited := limits()
	limited.Longest = time.Second
	for _, kind := range longtest.Sample(kinds(), 6) {
		t.Run(kind.name, func(t *testing.T) {
			pcm, _, err := decodeFile(t, tone(t, kind.encoder, 3, 48000, 1), limited)
			requireFault(t, audio.TooLong, err)
			require.EqualError(t, err, "The audio is longer than 1s")
			require.LessOrEqual(t, len(pcm), 2*rate)
		})
	}
}

var errDisk = errors.New("the disk is full")

type failing struct{ bytes.Reader }

func (*failing) ReadAt([]byte, int64) (int, error) { return 0, errDisk }
func (*failing) Write([]byte) (int, error)         { return 0, errDisk }

func TestErrorsOfTheUploadAndOfTheWriterAreTheirOwn(t *testing.T) {
	pool := decode.NewPool(decode.Config{Command: command()})
	_, err := pool.Decode(t.Context(), &failing{}, nil, limits())
	require.ErrorIs(t, err, errDisk)
	file := tone(t, kinds()[0].encoder, 1, 48000, 1)
	_, err = pool.Decode(t.Context(), bytes.NewReader(file), &failing{}, limits())
	require.ErrorIs(t, err, errDisk)
	require.Zero(t, pool.Running())
}

func TestADecoderThatDoesNotStartIsUnavailable(t *testing.T) {
	file := tone(t, kinds()[0].encoder, 1, 48000, 1)
	for _, path := range []string{filepath.Join(t.TempDir(), "speechworker"), "/bin/true"} {
		_, err := decode.NewPool(decode.Config{Command: workers.Command{Path: path}}).Decode(t.Context(),
			bytes.NewReader(file), nil, limits())
		require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)
	}
}

// upload calls a function at its second read. The first is recitald's own.
type upload struct {
	*bytes.Reader
	reads  int
	second func()
}

func (u *upload) ReadAt(p []byte, offset int64) (int, error) {
	if u.reads++; u.reads == 2 {
		u.second()
	}
	return u.Reader.ReadAt(p, offset)
}

func TestAProcessThatSomebodyKillsIsNotTheUploadsFault(t *testing.T) {
	killed := &upload{
		Reader: bytes.NewReader(tone(t, kinds()[0].encoder, 1, 48000, 1)),
		second: func() { signalDecoder(t, syscall.SIGKILL) },
	}
	_, err := decode.NewPool(decode.Config{Command: command()}).Decode(t.Context(), killed, &bytes.Buffer{}, limits())
	require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)
}

func TestAProcessThatCrashesIsTheUploadsFault(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGBUS, syscall.SIGSYS} {
		crashing := &upload{
			Reader: bytes.NewReader(tone(t, kinds()[0].encoder, 1, 48000, 1)), second: func() { signalDecoder(t, signal) },
		}
		_, err := decode.NewPool(decode.Config{Command: command()}).Decode(t.Context(), crashing, &bytes.Buffer{}, limits())
		requireFault(t, audio.Broken, err)
	}
}

func TestAProcessThatUsesUpItsTimeIsTheUploadsFault(t *testing.T) {
	endless := &upload{
		Reader: bytes.NewReader(tone(t, kinds()[0].encoder, 1, 48000, 1)),
		second: func() { signalDecoder(t, syscall.SIGXCPU) },
	}
	_, err := decode.NewPool(decode.Config{Command: command()}).Decode(t.Context(), endless, &bytes.Buffer{}, limits())
	requireFault(t, audio.TooLarge, err)
}

func TestACallerThatLeavesEndsTheProcess(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	left := &upload{Reader: bytes.NewReader(tone(t, kinds()[0].encoder, 1, 48000, 1)), second: cancel}
	pool := decode.NewPool(decode.Config{Command: command(), Processes: 1})
	_, err := pool.Decode(ctx, left, &bytes.Buffer{}, limits())
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, procfs.Children(os.Getpid()))
	_, err = pool.Decode(ctx, left, &bytes.Buffer{}, limits())
	require.ErrorIs(t, err, context.Canceled)
}

func TestAnUploadHasATimeout(t *testing.T) {
	stopped := &upload{
		Reader: bytes.NewReader(tone(t, kinds()[0].encoder, 1, 48000, 1)),
		second: func() { procfstest.Stop(t, decoder(t)) },
	}
	pool := decode.NewPool(decode.Config{Command: command(), Timeout: 500 * time.Millisecond})
	_, err := pool.Decode(t.Context(), stopped, &bytes.Buffer{}, limits())
	require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)
}

// slowly is an upload that is read slowly.
type slowly struct {
	*bytes.Reader
	begun time.Time
	reads int
	pause time.Duration
}

func (s *slowly) ReadAt(p []byte, offset int64) (int, error) {
	s.reads++
	time.Sleep(time.Until(s.begun.Add(time.Duration(s.reads) * s.pause)))
	return s.Reader.ReadAt(p, offset)
}

// A file that takes long to decode must not get an error that asks for a retry again and again. Its process is ended by
// its processor time instead.
func TestAProcessThatWorksHasTheTimeThatItNeeds(t *testing.T) {
	longtest.Only(t)
	const timeout = 5 * time.Second
	working := &slowly{
		Reader: bytes.NewReader(tone(t, kinds()[0].encoder, 4, 48000, 1)), begun: time.Now(), pause: timeout / 10,
	}
	pool := decode.NewPool(decode.Config{Command: command(), Timeout: timeout})
	_, err := pool.Decode(t.Context(), working, &bytes.Buffer{}, limits())
	require.Greater(t, time.Since(working.begun), timeout)
	require.NoError(t, err)
}

func TestUploadsWaitForAProcess(t *testing.T) {
	pool := decode.NewPool(decode.Config{Command: command(), Processes: 1})
	file := tone(t, kinds()[0].encoder, 1, 48000, 1)
	waiting := make(chan error, 1)
	first := &upload{Reader: bytes.NewReader(file), second: func() {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := pool.Decode(ctx, bytes.NewReader(file), &bytes.Buffer{}, limits())
		waiting <- err
	}}
	_, err := pool.Decode(t.Context(), first, &bytes.Buffer{}, limits())
	require.NoError(t, err)
	require.ErrorIs(t, <-waiting, context.DeadlineExceeded)
}

// The process does not get recitald's environment, which may contain the service's keys.
func TestTheProcessDoesNotSeeTheEnvironment(t *testing.T) {
	t.Setenv("RECITAL_STRIPE_KEY", "sk_test_secret")
	var seen []byte
	looking := &upload{Reader: bytes.NewReader(tone(t, kinds()[0].encoder, 1, 48000, 1)), second: func() {
		for _, pid := range procfs.Children(os.Getpid()) {
			environment, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "environ"))
			require.NoError(t, err)
			seen = append(seen, environment...)
		}
	}}
	_, err := decode.NewPool(decode.Config{Command: command()}).Decode(t.Context(), looking, &bytes.Buffer{}, limits())
	require.NoError(t, err)
	require.Contains(t, string(seen), "LD_LIBRARY_PATH")
	require.NotContains(t, string(seen), "secret")
}

// The limits are in force before the first byte of an upload is read.
func TestTheProcessIsConfined(t *testing.T) {
	var status, limited string
	looking := &upload{Reader: bytes.NewReader(tone(t, kinds()[0].encoder, 1, 48000, 1)), second: func() {
		status, limited = ofDecoder(t, "status"), ofDecoder(t, "limits")
	}}
	_, err := decode.NewPool(decode.Config{Command: command()}).Decode(t.Context(), looking, &bytes.Buffer{}, limits())
	require.NoError(t, err)
	require.Contains(t, status, "Seccomp:\t2", "a filter of system calls")
	require.Contains(t, status, "NoNewPrivs:\t1")
	require.Regexp(t, `Max open files +0 +0 `, limited)
	require.Regexp(t, `Max core file size +0 +0 `, limited)
	require.Regexp(t, `Max data size +268435456 +268435456 `, limited)
	require.Regexp(t, `Max cpu time +11 +13 `, limited)
}
