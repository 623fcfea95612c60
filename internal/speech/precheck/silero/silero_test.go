package silero_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/acoustics/acousticstest"
	"github.com/recital-tts/recital/internal/speech/audio/decode"
	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/precheck"
	"github.com/recital-tts/recital/internal/speech/precheck/classic"
	"github.com/recital-tts/recital/internal/speech/precheck/silero"
	"github.com/recital-tts/recital/internal/speech/resample"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
	"github.com/recital-tts/recital/internal/testing/bintest"
	"github.com/recital-tts/recital/internal/testing/testlog"
)

var speechworker bintest.Program

func TestMain(m *testing.M) { workertest.Main(m, &speechworker, []string{"neuralworker"}) }

// listener returns a listener with a model, and what it logs.
func listener(t testing.TB, model []byte) (*silero.Listener, *testlog.Buffer) {
	folder, logged := t.TempDir(), &testlog.Buffer{}
	runtime := filepath.Join(folder, "libonnxruntime.so")
	require.NoError(t, os.Symlink(neuraltest.Runtime(t), runtime))
	if model != nil {
		require.NoError(t, os.WriteFile(filepath.Join(folder, silero.ModelFile), model, 0o600))
	}
	return &silero.Listener{
		Runtime: runtime, Speechworker: speechworker.Path(), Logger: slog.New(slog.NewTextHandler(logged, nil)),
	}, logged
}

// tone returns a second of a tone with an amplitude, 1 for the loudest.
func tone(amplitude float64) []int16 {
	samples := make([]int16, 16000)
	for i := range samples {
		samples[i] = int16(32000 * amplitude * math.Sin(float64(i)/8))
	}
	return samples
}

func pcm(samples ...int16) (bytes []byte) {
	for _, s := range samples {
		bytes = binary.LittleEndian.AppendUint16(bytes, uint16(s))
	}
	return bytes
}

// The toy takes what is loud for speech.
func TestTheShareOfSpeechIsHeard(t *testing.T) {
	l, logged := listener(t, neuraltest.ToyActivity())
	hearing := l.Listen(t.Context())
	for rest := pcm(append(tone(0.9), tone(0.1)...)...); len(rest) > 0; { // in pieces that cut samples
		size := min(len(rest), 1001)
		n, err := hearing.Write(rest[:size])
		require.NoError(t, err)
		require.Equal(t, size, n)
		rest = rest[size:]
	}
	share, heard := hearing.Speech()
	require.True(t, heard)
	require.InDelta(t, 0.5, share, 0.05)
	require.Empty(t, logged.String())
}

func TestARecordingThatIsNotHeard(t *testing.T) {
	tests := map[string]struct {
		model   []byte
		context func(context.Context) context.Context
		logged  string
	}{
		"no model":          {},
		"a file of another": {model: []byte("model"), logged: "could not be heard"},
		"another model":     {model: neuraltest.Toy(), logged: "could not be heard"},
		"the client has gone": {model: neuraltest.ToyActivity(),
			context: func(ctx context.Context) context.Context {
				gone, cancel := context.WithCancel(ctx)
				cancel()
				return gone
			}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l, logged := listener(t, test.model)
			ctx := t.Context()
			if test.context != nil {
				ctx = test.context(ctx)
			}
			hearing := l.Listen(ctx)
			for range 40 {
				_, err := hearing.Write(pcm(tone(0.9)...))
				require.NoError(t, err)
			}
			_, heard := hearing.Speech()
			require.False(t, heard)
			if test.logged == "" {
				require.Empty(t, logged.String())
			}
			require.Contains(t, logged.String(), test.logged)
		})
	}
}

// What is measured as speech and not heard as speech is none.
func TestTheCheckBelievesTheListener(t *testing.T) {
	l, _ := listener(t, neuraltest.ToyActivity())
	checker := &classic.Checker{Decoder: decode.NewPool(decode.Config{Command: workertest.Mode(speechworker, "decode")}),
		Longest: time.Minute, Listener: l}
	u := utterances(t, 1)[0]
	for _, loud := range []bool{true, false} {
		spoken := u
		spoken.Samples = scaled(u.Samples, loud)
		result, err := checker.Check(t.Context(), bytes.NewReader(spoken.WAV()))
		require.NoError(t, err)
		if loud {
			require.NotContains(t, result.Warning, "no speech")
			require.Greater(t, result.End, 1.0)
			continue
		}
		require.Equal(t, precheck.Result{DNSMOS: 1, Warning: "There is no speech in the recording"}, result)
	}
}

// scaled returns samples of which the loudest is 8 times the full scale, or a tenth of it.
func scaled(samples []int16, loud bool) []int16 {
	most := 0.0
	for _, s := range samples {
		most = max(most, math.Abs(float64(s)))
	}
	factor := 3200 / most
	if loud {
		factor = 8 * 32000 / most
	}
	out := make([]int16, len(samples))
	for i, s := range samples {
		out[i] = int16(min(max(factor*float64(s), -32000), 32000))
	}
	return out
}

// utterances returns sentences of some voices of espeak-ng.
func utterances(t testing.TB, voices int) []acousticstest.Utterance {
	engine, err := worker.Open(worker.Config{Command: workertest.Command(speechworker)})
	require.NoError(t, err)
	defer engine.Close()
	spoken, err := acousticstest.Speak(t.Context(), engine, speech.Voices()[:voices])
	require.NoError(t, err)
	return spoken
}

// BenchmarkListener shows how much of sentences in noise, and of other sounds, Silero's model hears as speech.
func BenchmarkListener(b *testing.B) {
	model, err := os.ReadFile(neuraltest.Weights(b, neuraltest.Activity))
	require.NoError(b, err)
	l, _ := listener(b, model)
	spoken := utterances(b, benchtest.Size(8, 2))
	var others time.Duration
	least, most := 1.0, 0.0
	for b.Loop() {
		for i, u := range spoken {
			noise := acousticstest.Noises()[i%len(acousticstest.Noises())]
			sound := acousticstest.Add(u.Samples, u.Rate, noise, 5, acousticstest.Others(spoken, u))
			length := float64(len(sound)) / float64(u.Rate)
			share, _ := heard(b, l, resampled(sound, u.Rate))
			least = min(least, share*length/(u.End-u.Start))
		}
		for _, sound := range sounds() {
			share, took := heard(b, l, sound)
			most, others = max(most, share), others+took
		}
	}
	b.ReportMetric(100*least, "speech-least-%")
	b.ReportMetric(100*most, "sounds-most-%")
	b.ReportMetric(1000*others.Seconds()/float64(b.N*len(sounds())*seconds), "ms/audio-s")
	benchtest.Finish(b)
}

// heard returns the share of a sound that is heard as speech, and the time that it takes.
func heard(b *testing.B, l *silero.Listener, samples []int16) (float64, time.Duration) {
	start := time.Now()
	hearing := l.Listen(b.Context())
	_, err := hearing.Write(pcm(samples...))
	require.NoError(b, err)
	share, heard := hearing.Speech()
	require.True(b, heard)
	return share, time.Since(start)
}

func resampled(samples []int16, rate int) (out []int16) {
	input := make([]float64, len(samples))
	for i, s := range samples {
		input[i] = float64(s)
	}
	r := resample.New(rate, 16000)
	for _, v := range append(r.Add(input), r.Finish()...) {
		out = append(out, int16(v))
	}
	return out
}

// seconds is the length of the sounds.
const seconds = 8

// sounds are music, and knocks, which by their levels are speech.
func sounds() [][]int16 {
	knocks := make([]int16, seconds*16000)
	for i := range knocks {
		since := math.Mod(float64(i)/16000, 0.7)
		knocks[i] = int16(12000 * math.Exp(-40*since) * math.Sin(2*math.Pi*180*since))
	}
	all := [][]int16{knocks}
	for _, music := range acousticstest.AllMusic() {
		all = append(all, acousticstest.Play(music, 16000, seconds))
	}
	return all
}
