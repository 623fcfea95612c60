package reader_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/process/procfs"
	"github.com/recital-tts/recital/internal/process/procfs/procfstest"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/japanese/reader"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// binary is the real program.
var binary bintest.Program

func TestMain(m *testing.M) {
	program, remove, err := bintest.Build("japanesereader")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = program
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		remove()
		os.Exit(code)
	}))
}

const text, spoken = "一人で東京へ。", " ヒトリ デ トーキョー エ。"

func open(t *testing.T, config reader.Config) *reader.Reader {
	t.Helper()
	if config.Command.Path == "" {
		config.Command.Path = binary.Path()
	}
	config.Loading, config.Timeout = cmp.Or(config.Loading, time.Minute), cmp.Or(config.Timeout, time.Minute)
	config.Logger = slog.New(slog.DiscardHandler)
	r := reader.New(config)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func requireRead(t *testing.T, r *reader.Reader) {
	t.Helper()
	readings, err := r.Read(t.Context(), text)
	require.NoError(t, err)
	var written, said strings.Builder
	for _, one := range readings {
		written.WriteString(one.Original)
		said.WriteString(one.Spoken)
	}
	require.Equal(t, text, written.String())
	require.Equal(t, spoken, said.String())
}

// running returns the process id of the only reader.
func running(t *testing.T) int {
	t.Helper()
	children := procfs.Children(os.Getpid())
	require.Len(t, children, 1)
	return children[0]
}

// Each process loads the dictionary, which takes most of the time of these tests, so the first one serves several.
func TestTheProcessStartsWithTheFirstTextAndIsReplaced(t *testing.T) {
	r := open(t, reader.Config{})
	require.Equal(t, reader.Stats{}, r.Stats())
	requireRead(t, r)
	requireRead(t, r)
	require.Equal(t, reader.Stats{Running: true, Starts: 1, Texts: 2}, r.Stats())
	first := running(t)

	t.Run("it is confined", func(t *testing.T) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", first))
		require.NoError(t, err)
		require.Contains(t, string(status), "Seccomp:\t2\n")
	})
	t.Run("it reads texts concurrently", func(t *testing.T) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 10 {
					readings, err := r.Read(t.Context(), text)
					if err != nil || len(readings) != 5 {
						t.Errorf("%d readings, %v", len(readings), err)
					}
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, r.Stats().Starts)
	})
	t.Run("it is replaced when it was killed", func(t *testing.T) {
		require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
		requireRead(t, r)
		require.NotEqual(t, first, running(t))
		require.Equal(t, reader.Stats{Running: true, Starts: 2, Texts: 83}, r.Stats())
	})
	t.Run("it is killed when it hangs, and the next one reads the text", func(t *testing.T) {
		procfstest.Stop(t, running(t))
		requireRead(t, r)
		require.EqualValues(t, 3, r.Stats().Starts)
	})
	t.Run("it ends with the reader, after which nothing is read", func(t *testing.T) {
		require.NoError(t, r.Close())
		_, err := r.Read(t.Context(), text)
		require.Error(t, err)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = r.Read(ended, text)
		require.Error(t, err)
		require.Empty(t, procfs.Children(os.Getpid()))
	})
}

func TestAnIdleProcessEnds(t *testing.T) {
	r := open(t, reader.Config{Idle: 50 * time.Millisecond})
	requireRead(t, r)
	require.Eventually(t, func() bool { return !r.Stats().Running }, time.Minute, 10*time.Millisecond)
	require.Empty(t, procfs.Children(os.Getpid()))
	requireRead(t, r)
}

// A program that cannot be started, or does not get ready, is an error without the text, and the next texts do not wait
// for it.
func TestAProgramThatCannotBeStartedIsLeftAlone(t *testing.T) {
	for name, path := range map[string]string{"missing": "/none/reader", "silent": "/bin/cat", "ends": "/bin/true"} {
		t.Run(name, func(t *testing.T) {
			r := open(t, reader.Config{
				Command: workers.Command{Path: path}, Loading: 50 * time.Millisecond, Pause: time.Hour,
			})
			for range 3 {
				_, err := r.Read(t.Context(), text)
				require.Error(t, err)
				require.NotContains(t, err.Error(), "東京")
			}
			require.EqualValues(t, 3, r.Stats().Failed)
			require.LessOrEqual(t, r.Stats().Starts, uint64(2))
			require.False(t, r.Stats().Running)
		})
	}
}

func TestWhatIsTooLongIsNotRead(t *testing.T) {
	_, err := open(t, reader.Config{}).Read(t.Context(), strings.Repeat("a", reader.MaxText+1))
	require.Error(t, err)
}
