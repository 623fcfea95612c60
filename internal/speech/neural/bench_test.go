package neural_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// sentence returns a sentence with this number of words.
func sentence(words int) string {
	return map[int]string{
		5:  "Please call me back tomorrow.",
		12: "The weather will be cold and windy, with some rain in Scotland.",
		25: "The quick brown fox jumps over the lazy dog while seven wizards watch from the old stone wall, and nobody in " +
			"town knows why they laugh.",
	}[words]
}

// families are the real voices that are measured.
func families() map[string]string {
	return map[string]string{"vits": neuraltest.VITS, "kokoro": neuraltest.RealKokoro}
}

// BenchmarkParts compares the processor time and the samples of a model's parts with those of the whole model in ONNX
// Runtime, by family and number of words.
func BenchmarkParts(b *testing.B) {
	sizes := []int{5, 12, 25}
	for name, variable := range families() {
		for _, words := range sizes[:benchtest.Size(len(sizes), 1)] {
			b.Run(fmt.Sprintf("%s/%d", name, words), func(b *testing.B) {
				folder := neuraltest.Weights(b, variable)
				var ratios, decibels, costs []float64
				for b.Loop() {
					process := ready(b, folder)
					found := check(b, process, "en-us", sentence(words), sentence(words)) // the first one warms it up
					process.Kill()
					ratios, decibels = append(ratios, found.Ratio), append(decibels, found.Difference)
					costs = append(costs, found.Cost)
				}
				b.ReportMetric(median(ratios), "ratio-cpu")
				b.ReportMetric(slices.Max(decibels), "dB")
				b.ReportMetric(median(costs), "cpu-s/audio-s")
				benchtest.Finish(b)
			})
		}
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// ready returns a process with the voice of a folder that has sent its hello.
func ready(tb testing.TB, folder string) *workers.Process {
	tb.Helper()
	process, _, err := engineproto.Start(tb.Context(), command(tb, folder))
	require.NoError(tb, err)
	tb.Cleanup(process.End)
	return process
}

// check requests the check of texts from a process.
func check(tb testing.TB, process *workers.Process, language string, texts ...string) engineproto.Checked {
	tb.Helper()
	require.NoError(tb, process.In.WriteJSON(engineproto.KindCheck,
		engineproto.Sentences{Language: language, Texts: texts}))
	answer, err := process.Out.Read()
	require.NoError(tb, err)
	checked, err := engineproto.ParseChecked(answer)
	require.NoError(tb, err, language)
	return checked
}

// BenchmarkProcess measures the start of a voice's process, and the memory of two processes together, as two voices
// have them, after the first sentence and after four.
func BenchmarkProcess(b *testing.B) {
	for name, variable := range families() {
		b.Run(name, func(b *testing.B) {
			folder := neuraltest.Weights(b, variable)
			var waits, first, fourth []float64
			for b.Loop() {
				begun := time.Now()
				processes := []*workers.Process{ready(b, folder)}
				waits = append(waits, time.Since(begun).Seconds())
				processes = append(processes, ready(b, folder))
				sayAll(b, processes)
				first = append(first, resident(b, processes))
				for range 3 {
					sayAll(b, processes)
				}
				fourth = append(fourth, resident(b, processes))
				for _, p := range processes {
					p.Kill()
				}
			}
			b.ReportMetric(median(waits), "ready-s")
			b.ReportMetric(median(first), "two-first-MiB")
			b.ReportMetric(median(fourth), "two-fourth-MiB")
			benchtest.Finish(b)
		})
	}
}

func sayAll(tb testing.TB, processes []*workers.Process) {
	tb.Helper()
	for _, p := range processes {
		say(tb, p, sentence(25))
	}
}

// say makes a process speak a text.
func say(tb testing.TB, process *workers.Process, text string) {
	tb.Helper()
	require.NoError(tb, process.In.WriteJSON(engineproto.KindJob, engineproto.NewJob(speech.Job{
		Text: text, Voice: toy, Language: "en-us", Speed: 1, Phrases: []speech.Phrase{speech.OwnPhrase(len(text))},
	})))
	var frame workers.Frame
	var err error
	for frame.Kind != engineproto.KindEnd {
		frame, err = process.Out.Read()
		require.NoError(tb, err)
		require.NotEqual(tb, engineproto.KindRefused, frame.Kind, string(frame.Payload))
	}
}

// resident returns the memory that processes of one program take together, in MiB. Pages of files, which they share,
// are counted once.
func resident(tb testing.TB, processes []*workers.Process) float64 {
	tb.Helper()
	var own, shared float64
	for _, p := range processes {
		own += status(tb, p, "RssAnon:")
		shared = max(shared, status(tb, p, "RssFile:"))
	}
	return own + shared
}

// status returns a size in the status of a process, in MiB.
func status(tb testing.TB, process *workers.Process, name string) float64 {
	tb.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process.PID()))
	require.NoError(tb, err)
	_, rest, found := strings.Cut(string(content), name)
	require.True(tb, found)
	var kib float64
	_, err = fmt.Sscan(rest, &kib)
	require.NoError(tb, err)
	return kib / 1024
}
