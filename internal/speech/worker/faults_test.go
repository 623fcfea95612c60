package worker_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/procfs/procfstest"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// A text that takes a worker far longer than a test needs to act.
var longText = strings.Repeat("nine hundred and ninety-nine thousand, ", 200)

// startLongJob returns when the first audio of the job has arrived.
func startLongJob(t *testing.T, pool *worker.Pool) speech.Utterance {
	t.Helper()
	u, err := pool.Speak(t.Context(), enginetest.Job(longText))
	require.NoError(t, err)
	t.Cleanup(u.Close)
	_, err = u.Next(t.Context())
	require.NoError(t, err)
	return u
}

func requireEngineFailed(t *testing.T, u speech.Utterance) {
	t.Helper()
	var err error
	for err == nil {
		_, err = u.Next(t.Context())
	}
	require.ErrorIs(t, err, speech.ErrEngineFailed)
}

func TestAKilledWorkerCostsItsJobOnly(t *testing.T) {
	pool := openPool(t, 1)
	u := startLongJob(t, pool)
	processes := engineProcesses(t)
	descendants := childrenOf(t, processes[0])

	signalAll(processes, syscall.SIGKILL)

	requireEngineFailed(t, u)
	requireGone(t, append(processes, descendants...))
	_, err := enginetest.Speak(t.Context(), pool, enginetest.Job(enginetest.Sentence))
	require.NoError(t, err)
	stats := pool.Stats()
	require.EqualValues(t, 1, stats.Failed)
	require.EqualValues(t, 1, stats.Respawns)
}

func TestAJobsProcessThatIsKilledCostsItsJobOnly(t *testing.T) {
	pool := openPool(t, 1)
	u := startLongJob(t, pool)

	signalAll(childrenOf(t, engineProcesses(t)[0]), syscall.SIGKILL)

	requireEngineFailed(t, u)
	_, err := enginetest.Speak(t.Context(), pool, enginetest.Job(enginetest.Sentence))
	require.NoError(t, err)
}

func TestAWorkerThatIsKilledWhileIdleIsReplaced(t *testing.T) {
	pool := openPool(t, 2)
	require.Eventually(t, func() bool { return pool.Stats().Alive == 2 }, patience, time.Millisecond)
	before := engineProcesses(t)

	signalAll(before, syscall.SIGKILL)

	requireGone(t, before)
	require.Eventually(t, func() bool {
		stats := pool.Stats()
		return stats.Respawns == 2 && stats.Alive == 2
	}, patience, time.Millisecond)
	require.True(t, pool.Healthy())
	_, err := enginetest.Speak(t.Context(), pool, enginetest.Job(enginetest.Sentence))
	require.NoError(t, err)
}

func TestAWorkerThatStallsIsKilledAfterTheTimeLimit(t *testing.T) {
	pool := openConfig(t, worker.Config{Size: 1, JobTimeout: time.Second})
	stalled := engineProcesses(t)
	procfstest.Stop(t, stalled...)

	_, err := enginetest.Speak(t.Context(), pool, enginetest.Job(enginetest.Sentence))

	require.ErrorIs(t, err, speech.ErrEngineFailed)
	requireGone(t, stalled)
	_, err = enginetest.Speak(t.Context(), pool, enginetest.Job(enginetest.Sentence))
	require.NoError(t, err)
}

// Stopped processes never end by themselves, and here no job's time is limited.
func TestAFrozenWorkerIsReplacedAndItsJobRepeated(t *testing.T) {
	longtest.Only(t)
	for name, frozen := range map[string]func(testing.TB) []int{
		"the process":         engineProcesses,
		"its child for a job": func(t testing.TB) []int { return childrenOf(t, engineProcesses(t)[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			pool := openConfig(t, worker.Config{Size: 1, JobTimeout: time.Hour})
			var stopped []int
			require.Eventually(t, func() bool { stopped = frozen(t); return len(stopped) > 0 }, patience, time.Millisecond)
			procfstest.Stop(t, stopped...)

			job := enginetest.Job(enginetest.Sentence)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			stream := speech.NewSpeaker(pool).Speak(ctx, speech.Request{
				Text: job.Text, Voice: job.Voice, Language: job.Language,
			})
			defer stream.Close()
			samples := 0
			for {
				piece, err := stream.Next(ctx)
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err)
				samples += len(piece.PCM)
			}
			require.Positive(t, samples)
			requireGone(t, stopped)
			require.EqualValues(t, 1, pool.Stats().Respawns)
		})
	}
}

func TestWorkersThatDieUnderLoadCostTheirJobsOnly(t *testing.T) {
	pool := openPool(t, 2)
	want, err := enginetest.Speak(t.Context(), pool, enginetest.Job(enginetest.Sentence))
	require.NoError(t, err)
	var spoken, failed atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for ctx.Err() == nil {
				got, err := enginetest.Speak(t.Context(), pool, enginetest.Job(enginetest.Sentence))
				switch {
				case errors.Is(err, speech.ErrEngineFailed):
					failed.Add(1)
				case err != nil:
					t.Errorf("a job failed in another way: %v", err)
				case string(got.PCM) != string(want.PCM):
					t.Error("a job came out differently")
				default:
					spoken.Add(1)
				}
			}
		})
	}
	for round := range int64(10) {
		until := spoken.Load() + 10
		require.Eventually(t, func() bool { return spoken.Load() >= until }, patience, time.Millisecond, "round %d", round)
		signalAll(engineProcesses(t)[:1], syscall.SIGKILL)
	}
	stop()
	clients.Wait()
	require.LessOrEqual(t, failed.Load(), int64(10), "a kill costs at most one job")
}

func TestASegmentWithTooMuchAudioFails(t *testing.T) {
	pool := openConfig(t, worker.Config{Size: 1, MaxAudioBytes: 500_000})
	_, err := enginetest.Speak(t.Context(), pool, enginetest.Job(longText))
	require.ErrorIs(t, err, speech.ErrTooMuchAudio)
	_, err = enginetest.Speak(t.Context(), pool, enginetest.Job(enginetest.Sentence))
	require.NoError(t, err)
}

func TestAWorkerThatSendsMarksWithoutEndFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "endless")
	hello := `printf 'h\0\0\0\0\4\0\0\0\042\126\0\0'`                                               // 22,050 Hz
	marks := `while printf 'm\0\0\0\0\0\020\0\0' 2>/dev/null && head -c 4096 /dev/zero; do :; done` // 512 in each frame
	install(t, path, "#!/bin/sh\n"+hello+"\n"+marks+"\n")
	pool := openConfig(t, worker.Config{Size: 1, Command: workers.Command{Path: path}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	_, err := enginetest.Speak(ctx, pool, enginetest.Job(enginetest.Sentence))

	require.ErrorIs(t, err, speech.ErrEngineFailed)
}

func TestOpenTellsWhatIsWrongWithTheBinary(t *testing.T) {
	tests := map[string]workers.Command{
		"no path":             {},
		"no such file":        {Path: filepath.Join(t.TempDir(), "missing")},
		"it ends at once":     {Path: "/bin/true"},
		"it fails":            {Path: "/bin/false"},
		"it is another tool":  {Path: "/bin/echo", Args: []string{"hello to you all there"}},
		"the mode is unknown": workertest.Mode(binary, "sing"),
	}
	for name, command := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := worker.Open(worker.Config{Command: command})
			require.Error(t, err)
			require.Empty(t, engineProcesses(t))
		})
	}
}

// A failed deployment: the binary is replaced by one that does not work, and later by a good one.
func TestABinaryThatBreaksIsStartedAgainWithPauses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "speechworker")
	starts := filepath.Join(t.TempDir(), "starts")
	install(t, path, "#!/bin/sh\nexec '"+binary.Path()+"' engine\n")
	pool := openConfig(t, worker.Config{Size: 1, Command: workers.Command{Path: path}})
	install(t, path, "#!/bin/sh\necho >>'"+starts+"'\nexit 1\n")

	signalAll(engineProcesses(t), syscall.SIGKILL)

	require.Eventually(t, func() bool { return countLines(starts) >= 4 }, patience, time.Millisecond)
	require.False(t, pool.Healthy())
	began := time.Now()
	from := countLines(starts)
	_, err := pool.Speak(t.Context(), enginetest.Job(enginetest.Sentence))
	require.ErrorIs(t, err, speech.ErrEngineFailed, "a job does not wait for better times")
	require.LessOrEqual(t, countLines(starts)-from, 1+int(time.Since(began)/(50*time.Millisecond)), "it spins")
	require.Zero(t, pool.Stats().Queued)

	install(t, path, "#!/bin/sh\nexec '"+binary.Path()+"' engine\n")
	require.Eventually(t, pool.Healthy, patience, time.Millisecond)
	_, err = enginetest.Speak(t.Context(), pool, enginetest.Job(enginetest.Sentence))
	require.NoError(t, err)
}

// install puts a script in place atomically, so that no half-written one is started.
func install(t *testing.T, path, script string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", []byte(script), 0o755))
	require.NoError(t, os.Rename(path+".new", path))
}

func countLines(path string) int {
	data, _ := os.ReadFile(path)
	return strings.Count(string(data), "\n")
}

func TestCloseEndsJobsAndProcesses(t *testing.T) {
	pool, err := worker.Open(worker.Config{Command: workertest.Command(binary), Size: 1})
	require.NoError(t, err)
	running := startLongJob(t, pool)
	queued := make(chan error, 1)
	go func() {
		_, err := pool.Speak(t.Context(), enginetest.Job(enginetest.Sentence))
		queued <- err
	}()
	require.Eventually(t, func() bool { return pool.Stats().Queued == 1 }, patience, time.Millisecond)
	processes := engineProcesses(t)
	processes = append(processes, childrenOf(t, processes[0])...)

	require.NoError(t, pool.Close())

	require.ErrorIs(t, <-queued, speech.ErrEngineClosed)
	for err == nil {
		_, err = running.Next(t.Context())
	}
	require.ErrorIs(t, err, speech.ErrEngineClosed)
	requireGone(t, processes)
	_, err = pool.Speak(t.Context(), enginetest.Job(enginetest.Sentence))
	require.ErrorIs(t, err, speech.ErrEngineClosed)
	require.False(t, pool.Healthy())
	require.NoError(t, pool.Close())
}

func TestAPoolThatIsClosedAtOnceLeavesNothing(t *testing.T) {
	for range 10 {
		pool, err := worker.Open(worker.Config{Command: workertest.Command(binary), Size: 2})
		require.NoError(t, err)
		require.NoError(t, pool.Close())
		require.Empty(t, engineProcesses(t))
	}
}

// As if recitald had been killed: the worker's input ends and its output is not read.
func TestAWorkerEndsWithItsParent(t *testing.T) {
	tests := map[string]string{"idle": "", "in the middle of a job": longText}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			output, writeOutput, err := os.Pipe()
			require.NoError(t, err)
			readInput, input, err := os.Pipe()
			require.NoError(t, err)
			process, err := os.StartProcess(binary.Path(), []string{binary.Path(), "engine"},
				&os.ProcAttr{Files: []*os.File{readInput, writeOutput, nil}})
			require.NoError(t, err)
			require.NoError(t, readInput.Close())
			require.NoError(t, writeOutput.Close())
			hello, err := workers.NewReader(io.LimitReader(output, 13)).Read()
			require.NoError(t, err)
			require.Equal(t, byte('h'), hello.Kind)
			if text != "" {
				startJob(t, input, output, text)
			}

			require.NoError(t, output.Close())
			require.NoError(t, input.Close())

			ended := make(chan error, 1)
			go func() {
				_, err := process.Wait()
				ended <- err
			}()
			select {
			case err := <-ended:
				require.NoError(t, err)
			case <-time.After(patience):
				_ = process.Kill()
				t.Fatal("the worker outlives its parent")
			}
			require.Empty(t, engineProcesses(t))
		})
	}
}

// startJob sends the worker a job and waits for the first bytes of the answer, which then fills the pipe.
func startJob(t *testing.T, input io.Writer, output io.Reader, text string) {
	t.Helper()
	require.NoError(t, workers.NewWriter(input).WriteJSON(engineproto.KindJob, engineproto.NewJob(enginetest.Job(text))))
	_, err := io.ReadFull(output, make([]byte, 100))
	require.NoError(t, err)
}
