package flite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
)

// TestSoakTexts tries hostile texts with flite for the duration RECITAL_SOAK. No crash is known.
func TestSoakTexts(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("RECITAL_SOAK"))
	if err != nil {
		t.Skip("RECITAL_SOAK is not set to a duration")
	}
	binary, remove, err := workertest.Build()
	require.NoError(t, err)
	t.Cleanup(remove)
	pool, err := worker.Open(worker.Config{Command: workertest.Flite(binary), Size: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })

	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	var crashes []string
	texts := 0
	for end := time.Now().Add(length); time.Now().Before(end); texts++ {
		job := enginetest.Job(enginetest.HostileText(random))
		job.Speed = speech.MaxSpeed // to try more of them
		job.Careful = texts%4 == 0
		if _, err := enginetest.Speak(t.Context(), pool, job); errors.Is(err, speech.ErrEngineFailed) {
			crashes = append(crashes, fmt.Sprintf("%+q", job.Text))
		}
	}
	t.Logf("seed %d: %d texts, %d crashes", seed, texts, len(crashes))
	require.Empty(t, crashes)
}
