package neural_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/procfs"
	"github.com/recital-tts/recital/internal/process/procfs/procfstest"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/worker"
)

// patience bounds waits for events that should take milliseconds.
const patience = 2 * time.Minute

// longText has one segment that takes far longer than a test needs to act.
var longText = strings.Repeat("nine hundred and ninety-nine thousand, ", 100)

func speakPart(ctx context.Context, pool *worker.Pool) *speech.Stream {
	return speech.NewSpeaker(pool).SpeakPart(ctx, speech.Request{Voice: toy, Language: "en-us"},
		speech.Part{Segment: speech.Segment{Text: longText}, First: true, Last: true})
}

// read reads a stream to its end. It calls act after the first piece.
func read(t *testing.T, pool *worker.Pool, act func()) (pcm []byte, err error) {
	t.Helper()
	stream := speakPart(t.Context(), pool)
	defer stream.Close()
	for {
		piece, err := stream.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return pcm, nil
		}
		if err != nil {
			return pcm, err
		}
		if pcm = append(pcm, piece.PCM...); act != nil {
			act()
			act = nil
		}
	}
}

func TestAUnitGoesOnWhereItsWorkerDied(t *testing.T) {
	pool := open(t, neuraltest.Folder(t), 1)
	want, err := read(t, pool, nil)
	require.NoError(t, err)
	for name, act := range map[string]func(){
		"it is killed": func() { kill(procfs.Children(os.Getpid())...) },
		"it is frozen": func() { procfstest.Stop(t, procfs.Children(os.Getpid())...) },
	} {
		t.Run(name, func(t *testing.T) {
			before := pool.Stats()
			got, err := read(t, pool, act)
			require.NoError(t, err)
			require.Equal(t, before.Failed+1, pool.Stats().Failed, "it had not ended")
			require.True(t, string(want) == string(got), "it is heard")
		})
	}
}

func TestAUnitWhoseWorkersDieIsCut(t *testing.T) {
	pool := open(t, neuraltest.Folder(t), 1)
	want, err := read(t, pool, nil)
	require.NoError(t, err)
	stop := make(chan struct{})
	defer close(stop)
	got, err := read(t, pool, func() {
		go func() { // each process that has begun a job
			for begun := pool.Stats().Jobs - 1; ; {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
				if jobs := pool.Stats().Jobs; jobs > begun {
					begun = jobs
					kill(procfs.Children(os.Getpid())...)
				}
			}
		}()
	})
	require.ErrorIs(t, err, speech.ErrEngineFailed)
	require.True(t, strings.HasPrefix(string(want), string(got)), "nothing is heard that is not of it")
	require.EqualValues(t, 2, pool.Stats().Failed)
}

// When a client disconnects, the current job is lost, but not the process, which has loaded the model.
func TestAJobThatIsGivenUpEnds(t *testing.T) {
	for family, folder := range map[string]string{
		"VITS": neuraltest.Folder(t), "StyleTTS 2": neuraltest.KokoroFolder(t, toy.ID),
	} {
		t.Run(family, func(t *testing.T) {
			if testing.Short() && family != "VITS" {
				t.Skip("it takes longer to compute")
			}
			pool, err := worker.Open(worker.Config{Size: 1, HelloTimeout: time.Minute, Command: command(t, folder),
				GivesUp: true, JobTimeout: time.Hour, AbandonTimeout: time.Hour})
			require.NoError(t, err)
			defer func() { require.NoError(t, pool.Close()) }()
			want, err := read(t, pool, nil)
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				before := pool.Stats().Samples
				stream := speakPart(t.Context(), pool)
				_, err := stream.Next(t.Context())
				require.NoError(t, err)
				stream.Close()
				require.Eventually(t, func() bool { return pool.Stats().Busy == 0 }, patience, time.Millisecond)
				return pool.Stats().Samples-before < uint64(len(want)/2)
			}, patience, time.Millisecond, "all of it is computed")
			got, err := read(t, pool, nil)
			require.NoError(t, err)
			require.True(t, string(want) == string(got), "what follows is whole")
			require.Zero(t, pool.Stats().Respawns)
			require.Zero(t, pool.Stats().Failed)
		})
	}
}

// A crash of espeak-ng costs another transcriber process, but not the process that has loaded the model.
func TestAPhonemiserThatDiesCostsNoModel(t *testing.T) {
	pool := open(t, neuraltest.Folder(t), 1)
	want, err := read(t, pool, nil)
	require.NoError(t, err)
	models := procfs.Children(os.Getpid())
	require.Len(t, models, 1)
	times := 5
	if testing.Short() {
		times = 2
	}
	for range times {
		require.Eventually(t, func() bool {
			phonemisers := procfs.Children(models[0])
			kill(phonemisers...)
			return len(phonemisers) > 0
		}, patience, time.Millisecond)
		got, err := read(t, pool, nil)
		require.NoError(t, err)
		require.True(t, string(want) == string(got), "it is heard")
	}
	job := speech.Job{Text: strings.Repeat("s'", 200), Voice: toy, Language: "en-us", Speed: 1}
	_, _, err = speech.Synthesise(t.Context(), pool, job)
	require.NoError(t, err)
	require.Equal(t, models, procfs.Children(os.Getpid()))
	require.Zero(t, pool.Stats().Respawns)
}

func kill(pids ...int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
