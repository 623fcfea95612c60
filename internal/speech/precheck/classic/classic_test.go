package classic_test

import (
	"bytes"
	"context"
	"io"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/acoustics/acousticstest"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/decode"
	"github.com/recital-tts/recital/internal/speech/precheck"
	"github.com/recital-tts/recital/internal/speech/precheck/classic"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

var speechworker bintest.Program

func TestMain(m *testing.M) { workertest.Main(m, &speechworker, nil) }

// utterances returns sentences in all voices of both engines.
func utterances(t *testing.T) (all []acousticstest.Utterance) {
	for _, command := range []workers.Command{workertest.Command(speechworker), workertest.Flite(speechworker)} {
		engine, err := worker.Open(worker.Config{Command: command})
		require.NoError(t, err)
		defer engine.Close()
		spoken, err := acousticstest.Speak(t.Context(), engine, speech.Voices())
		require.NoError(t, err)
		all = append(all, spoken...)
	}
	return all
}

// More noise never improves the score, for any noise and voice, and at 20 dB it does not hide the range of the speech.
// The end of a word may drown in babble. Each voice speaks one sentence in every other noise, and the next voice
// another one in the noises between.
func TestMoreNoiseIsWorse(t *testing.T) {
	all := utterances(t)
	for n, noise := range acousticstest.Noises() {
		t.Run(string(noise), func(t *testing.T) {
			t.Parallel()
			heard, missed := 0, 0
			for i, u := range all {
				voice, sentence := i/acousticstest.Sentences, i%acousticstest.Sentences
				if sentence != (voice+n)%acousticstest.Sentences || !takesPart(voice, n) {
					continue
				}
				heard++
				if !worsens(t, u, noise, acousticstest.Others(all, u)) {
					missed++
				}
			}
			require.Greater(t, heard, 1)
			if noise == acousticstest.Babble {
				require.LessOrEqual(t, missed, heard/20)
				return
			}
			require.Zero(t, missed)
		})
	}
}

// takesPart reports whether a voice is heard in a noise.
func takesPart(voice, noise int) bool {
	if testing.Short() {
		return voice%13 == 0
	}
	return (voice+noise)%2 == 0
}

// worsens requires that more noise makes an utterance worse, and reports whether its speech is found at 20 dB.
func worsens(t *testing.T, u acousticstest.Utterance, noise acousticstest.Noise, others [][]int16) (found bool) {
	t.Helper()
	clean := classic.Score(analyse(u.Samples, u.Rate))
	before := clean
	ratios := []float64{30, 20, 15, 10, 5}
	if testing.Short() {
		ratios = []float64{20, 5}
	}
	for _, ratio := range ratios {
		r := analyse(acousticstest.Add(u.Samples, u.Rate, noise, ratio, others), u.Rate)
		score := classic.Score(r)
		require.LessOrEqual(t, score, before, "%s at %v dB", u.Name, ratio)
		before = score
		if ratio == 20 {
			found = max(math.Abs(r.Start-u.Start), math.Abs(r.End-u.End)) <= 0.1
		}
	}
	require.Greater(t, clean, before+2, u.Name)
	return found
}

func analyse(samples []int16, rate int) acoustics.Report {
	r, _ := acousticstest.Analyse(samples, acoustics.Config{Rate: rate})
	return r
}

func open() *classic.Checker {
	decoder := decode.NewPool(decode.Config{Command: workertest.Mode(speechworker, "decode")})
	return &classic.Checker{Decoder: decoder, Longest: time.Minute, Listener: deaf{}}
}

// file returns a recording as a WAV file.
func file(u acousticstest.Utterance) *bytes.Reader { return bytes.NewReader(u.WAV()) }

func utterance(t *testing.T) acousticstest.Utterance {
	engine, err := worker.Open(worker.Config{Command: workertest.Command(speechworker)})
	require.NoError(t, err)
	defer engine.Close()
	spoken, err := acousticstest.Speak(t.Context(), engine, speech.Voices()[:1])
	require.NoError(t, err)
	return spoken[0]
}

func TestAFileIsChecked(t *testing.T) {
	u := utterance(t)
	result, err := open().Check(t.Context(), file(u))
	require.NoError(t, err)
	require.InDelta(t, u.Start, result.Start, 0.05)
	require.InDelta(t, u.End, result.End, 0.05)
	require.Greater(t, result.DNSMOS, 4.5)

	u.Samples = u.Samples[:u.Rate/2] // before the speech
	result, err = open().Check(t.Context(), file(u))
	require.NoError(t, err)
	require.Equal(t, precheck.Result{DNSMOS: 1, Warning: "There is no speech in the recording"}, result)

	var unusable *audio.UnusableError
	_, err = open().Check(t.Context(), bytes.NewReader([]byte("not audio")))
	require.ErrorAs(t, err, &unusable)
}

func TestScore(t *testing.T) {
	good := acoustics.Report{Seconds: 10, Speech: 8, SNR: 50, Bandwidth: 7500}
	require.Greater(t, classic.Score(good), 4.7)
	for name, change := range map[string]func(*acoustics.Report){
		"noise":     func(r *acoustics.Report) { r.SNR = 20 },
		"clipping":  func(r *acoustics.Report) { r.Clipped = 0.01 },
		"telephone": func(r *acoustics.Report) { r.Bandwidth = 3400 },
		"silence":   func(r *acoustics.Report) { r.Speech = 0.3 },
	} {
		worse := good
		change(&worse)
		require.Less(t, classic.Score(worse), classic.Score(good)-0.5, name)
	}
}

// deaf hears nothing.
type deaf struct{ io.Writer }

func (deaf) Listen(context.Context) precheck.Hearing { return deaf{io.Discard} }

func (deaf) Speech() (share float64, heard bool) { return 0, false }
