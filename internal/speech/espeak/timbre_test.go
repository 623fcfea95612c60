package espeak

import (
	"bytes"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
	"github.com/recital-tts/recital/internal/speech/enginetest"
)

func cloned(change func(*speech.Timbre)) speech.Voice {
	timbre := speech.Timbre{PitchLow: 90, PitchHigh: 130, Formants: 1, Pace: 1}
	change(&timbre)
	return speech.Voice{Variant: "m3", Timbre: &timbre}
}

func say(t *testing.T, engine speech.Engine, voice speech.Voice, text string) enginetest.Speech {
	t.Helper()
	job := enginetest.Job(text)
	job.Voice = voice
	s, err := enginetest.Speak(t.Context(), engine, job)
	require.NoError(t, err)
	return s
}

func TestATimbreMovesPitchAndFormants(t *testing.T) {
	pool := openPool(t, 1)
	pitch := func(low, high float64) float64 {
		return enginetest.MedianPitch(say(t, pool, cloned(func(timbre *speech.Timbre) {
			timbre.PitchLow, timbre.PitchHigh = low, high
		}), enginetest.Sentence).PCM, pool.SampleRate())
	}
	require.InDelta(t, 12, pitch(160, 240)-pitch(80, 120), 1, "an octave in semitones")

	spoken := map[string]string{}
	for name, change := range map[string]func(*speech.Timbre){
		"as it is": func(*speech.Timbre) {},
		"shorter":  func(timbre *speech.Timbre) { timbre.Formants = 1.15 },
		"longer":   func(timbre *speech.Timbre) { timbre.Formants = 0.85 },
		"breathy":  func(timbre *speech.Timbre) { timbre.Breath = 1 },
	} {
		pcm := string(say(t, pool, cloned(change), enginetest.Sentence).PCM)
		require.Empty(t, spoken[pcm], "%s sounds like another one", name)
		spoken[pcm] = name
	}
}

// The bytes of a timbre are the same in every process, whatever that spoke before and other processes speak meanwhile,
// also with rehearsals. System voices are not affected by it.
func TestATimbreSpeaksTheSameEverywhere(t *testing.T) {
	texts := []string{enginetest.Sentence, "Hello.", "नमस्ते दुनिया", "Это NATO 😀"}
	var jobs []speech.Job
	for i := range 24 {
		job := enginetest.Job(texts[i%len(texts)])
		job.Voice = cloned(func(timbre *speech.Timbre) {
			timbre.PitchLow += float64(i)
			timbre.PitchHigh += float64(2 * i)
			timbre.Formants += float64(i%5-2) / 20
		})
		if i%3 == 0 {
			job.Voice = speech.Voices()[i%9]
		}
		jobs = append(jobs, job)
	}
	alone := openPool(t, 1)
	want := make([]enginetest.Speech, len(jobs))
	for i, job := range jobs {
		s, err := enginetest.Speak(t.Context(), alone, job)
		require.NoError(t, err)
		want[i] = s
	}
	together := openPool(t, 2)
	random := rand.New(rand.NewPCG(1, 2))
	var speakers sync.WaitGroup
	for _, i := range random.Perm(len(jobs)) {
		speakers.Go(func() {
			got, err := enginetest.Speak(t.Context(), together, jobs[i])
			if err != nil || !bytes.Equal(got.PCM, want[i].PCM) {
				t.Errorf("job %d differs: %v", i, err)
			}
		})
	}
	speakers.Wait()
}

func TestATimbreOutOfRangeIsRefused(t *testing.T) {
	pool := openPool(t, 1)
	for name, change := range map[string]func(*speech.Timbre){
		"too low":         func(timbre *speech.Timbre) { timbre.PitchLow = 1 },
		"upside down":     func(timbre *speech.Timbre) { timbre.PitchHigh = 50 },
		"too high":        func(timbre *speech.Timbre) { timbre.PitchHigh = 1e9 },
		"no formants":     func(timbre *speech.Timbre) { timbre.Formants = 0 },
		"not a number":    func(timbre *speech.Timbre) { timbre.Formants = math.NaN() },
		"too much breath": func(timbre *speech.Timbre) { timbre.Breath = 2 },
		"negative breath": func(timbre *speech.Timbre) { timbre.Breath = -1 },
		"no pace":         func(timbre *speech.Timbre) { timbre.Pace = 0 },
	} {
		job := enginetest.Job("Hello.")
		job.Voice = cloned(change)
		_, err := enginetest.Speak(t.Context(), pool, job)
		require.ErrorIs(t, err, speech.ErrRefused, name)
	}
	job := enginetest.Job("Hello.")
	job.Voice = cloned(func(*speech.Timbre) {})
	job.Voice.Variant = "../../../../../etc/passwd"
	_, err := enginetest.Speak(t.Context(), pool, job)
	require.ErrorIs(t, err, speech.ErrRefused, "a path as variant")
	say(t, pool, cloned(func(*speech.Timbre) {}), "Hello.")
}

// With the numbers of its variant, a timbre speaks like the system voice of that variant, in every language.
func TestATimbreBeginsWithItsVariant(t *testing.T) {
	pool := openPool(t, 2)
	for _, language := range slices.Sorted(maps.Keys(languageFiles)) {
		job := enginetest.Job("Taxi 12, radio.")
		job.Language = language
		job.Voice = speech.Voice{Variant: "m3"} // which has neither echo nor breath
		want, err := enginetest.Speak(t.Context(), pool, job)
		require.NoError(t, err, language)
		job.Voice.Timbre = &speech.Timbre{PitchLow: 80, PitchHigh: 122, Formants: 1, Pace: 1}
		got, err := enginetest.Speak(t.Context(), pool, job)
		require.NoError(t, err, language)
		if !bytes.Equal(want.PCM, got.PCM) {
			t.Errorf("%s differs", language)
		}
	}
}

// Every timbre within the limits is a variant that fits into a job.
func TestEveryTimbreFitsIntoAJob(t *testing.T) {
	_, err := open()
	require.NoError(t, err)
	languages := slices.Sorted(maps.Keys(languageFiles))
	rapid.Check(t, func(t *rapid.T) {
		timbre := speech.Timbre{
			PitchLow:  rapid.Float64Range(speech.MinTimbrePitch, speech.MaxTimbrePitch).Draw(t, "low"),
			PitchHigh: speech.MaxTimbrePitch,
			Formants:  rapid.Float64Range(speech.MinFormants, speech.MaxFormants).Draw(t, "formants"),
			Breath:    rapid.Float64Range(0, 1).Draw(t, "breath"), Pace: 1,
		}
		of := task{Job: engineproto.Job{
			Variant: rapid.SampledFrom(speech.Voices()).Draw(t, "voice").Variant, Timbre: &timbre,
		}}
		voice, err := of.voice(rapid.SampledFrom(languages).Draw(t, "language"))
		require.NoError(t, err)
		require.NotEmpty(t, voice.lines)
		require.Less(t, len(voice.lines), 1<<14)
	})
}

func TestATimbreSpeaksAtItsOwnPace(t *testing.T) {
	pool := openPool(t, 1)
	seconds := func(pace, speed float64) float64 {
		job := enginetest.Job(enginetest.Sentence)
		job.Voice, job.Speed = cloned(func(timbre *speech.Timbre) { timbre.Pace = pace }), speed
		s, err := enginetest.Speak(t.Context(), pool, job)
		require.NoError(t, err)
		return s.Seconds(pool)
	}
	for _, speed := range []float64{speech.MinSpeed, 1, speech.MaxSpeed} {
		for _, pace := range []float64{speech.MinTimbrePace, speech.MaxTimbrePace} {
			require.InEpsilon(t, seconds(1, 1)/pace/speed, seconds(pace, speed), 0.1, "pace %v at speed %v", pace, speed)
		}
	}
}
