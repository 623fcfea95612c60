package neural_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// Text is transcribed at the highest speed, which takes the least time.
func TestPhonemesAreTheSameAtEverySpeed(t *testing.T) {
	content, err := os.ReadFile("../reporttest/texts/calibration.tsv")
	require.NoError(t, err)
	process, _, err := engineproto.Start(t.Context(), workertest.Mode(binary, "phonemes"))
	require.NoError(t, err)
	t.Cleanup(process.End)
	for _, line := range longtest.Sample(slices.Collect(strings.Lines(string(content))), 12) {
		language, text, _ := strings.Cut(strings.TrimSpace(line), "\t")
		job := speech.Job{Text: text, Language: language, Voice: speech.Voices()[0], Speed: 1}
		slow := transcription(t, process, job)
		job.Speed = speech.MaxSpeed
		require.Equal(t, slow, transcription(t, process, job), language)
	}
}

// heard is the transcription of a text: phonemes, and the starts of its words.
type heard struct {
	phonemes []string
	words    []int
}

func transcription(t *testing.T, process *workers.Process, job speech.Job) (got heard) {
	t.Helper()
	require.NoError(t, process.In.WriteJSON(engineproto.KindJob, engineproto.NewJob(job)))
	var frame workers.Frame
	var err error
	for frame.Kind != engineproto.KindEnd {
		frame, err = process.Out.Read()
		require.NoError(t, err)
		switch frame.Kind {
		case engineproto.KindClause:
			clause, err := engineproto.ParseClause(frame)
			require.NoError(t, err)
			got.phonemes = append(got.phonemes, clause.IPA)
		case engineproto.KindMarks:
			marks, err := engineproto.ParseMarks(frame)
			require.NoError(t, err)
			for _, m := range marks {
				if !m.Silence {
					got.words = append(got.words, m.Rune)
				}
			}
		case engineproto.KindRefused:
			require.Fail(t, "refused", job.Language)
		}
	}
	require.NotEmpty(t, got.phonemes, job.Language)
	return got
}
