package installed_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/process/procfs"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/speech/installed"
	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/voicepack"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// binary is the real speechworker, beside which the neuralworker lies.
var binary bintest.Program

func TestMain(m *testing.M) { workertest.Main(m, &binary, []string{"neuralworker"}) }

func newEngines(t *testing.T, runtime string) *installed.Engines {
	t.Helper()
	e := installed.New(installed.Config{Runtime: runtime, Speechworker: binary.Path(), SampleRate: neuraltest.ToyRate,
		Memory: 1 << 30, Patience: 50 * time.Millisecond})
	t.Cleanup(func() { require.NoError(t, e.CloseAll()) })
	return e
}

func toy(t *testing.T) voicepack.Voice {
	return voicepack.Voice{ID: "toy", Languages: []string{"en-us"}, Package: thePackage,
		Folder: neuraltest.Package(t, "toy"), Cost: 1000}
}

// read reads a stream to its end.
func read(ctx context.Context, stream *speech.Stream) error {
	for {
		if _, err := stream.Next(ctx); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

func TestStreamsHavePlaces(t *testing.T) {
	e := newEngines(t, neuraltest.Runtime(t))
	v := toy(t)
	measured, err := e.Measure(t.Context(), v)
	require.NoError(t, err)
	require.Positive(t, measured.Cost)
	require.Contains(t, string(measured.Sound), `"speech":`)
	require.NoError(t, e.Open(v)) // with a place for one stream: it costs much
	require.NoError(t, e.Open(v))
	first, err := worker.Open(worker.Config{Size: 1, Command: workertest.Command(binary)})
	require.NoError(t, err)
	defer func() { require.NoError(t, first.Close()) }()
	speaker := speech.NewSpeaker(first).WithInstalled(e)
	request := speech.Request{Text: enginetest.Sentence, Language: "en-us", Voice: speech.Voice{
		ID: "toy", Variant: "f2", Installed: &speech.Installed{ID: "toy", Languages: v.Languages, Gain: measured.Gain}}}

	one := speaker.Speak(t.Context(), request)
	_, err = one.Next(t.Context())
	require.NoError(t, err)
	other := speaker.Speak(t.Context(), request)
	require.Equal(t, domain.Unavailable, domain.CodeOf(read(t.Context(), other)), "the place is taken")
	other.Close()
	require.NoError(t, read(t.Context(), one), "and whoever has it is not disturbed")
	one.Close()
	stats := e.Stats()
	require.Equal(t, 1, stats.Voices)
	require.Equal(t, 1, stats.Places)
	require.Equal(t, uint64(1), stats.Streamed)
	require.Equal(t, uint64(1), stats.Refused)
	require.Greater(t, stats.Samples, uint64(2*neuraltest.ToyRate), "of the sentence")
	require.Positive(t, stats.BusyTime)
	require.Eventually(t, func() bool {
		again := speaker.Speak(t.Context(), request)
		defer again.Close()
		return read(t.Context(), again) == nil
	}, time.Minute, time.Millisecond, "the place is given back")

	requireAStandIn(t, e, speaker, request)
	german := request
	german.Language = "de"
	substituted := speaker.Speak(t.Context(), german)
	require.NoError(t, read(t.Context(), substituted))
	substituted.Close()
	require.Equal(t, uint64(5), e.Stats().Substituted)

	require.NoError(t, e.Close("toy"))
	_, found := e.Engine(speech.Installed{ID: "toy"})
	require.False(t, found)
	require.Zero(t, e.Stats().Places)
	require.GreaterOrEqual(t, e.Stats().Samples, stats.Samples, "what was counted is kept")
}

// requireAStandIn checks that a system voice speaks itself if its installed voice has no place. A voice with its own
// name is not replaced, and neither is the voice of a client that would get no warning.
func requireAStandIn(t *testing.T, e *installed.Engines, speaker *speech.Speaker, own speech.Request) {
	t.Helper()
	system := own
	system.Voice = speech.Voices()[0]
	want := listen(t, speaker, system)
	system.Voice.Installed = own.Voice.Installed
	system.Substitutes, own.Substitutes = true, true

	require.Eventually(t, func() bool { return e.Stats().Streams == 0 }, time.Minute, time.Millisecond)
	one := speaker.Speak(t.Context(), system)
	defer one.Close()
	_, err := one.Next(t.Context())
	require.NoError(t, err)
	warning, err := one.Warning(t.Context())
	require.NoError(t, err)
	require.Empty(t, warning, "it has a place")

	other := speaker.Speak(t.Context(), system)
	warning, err = other.Warning(t.Context())
	require.NoError(t, err)
	require.Contains(t, warning, "another one speaks in its place")
	other.Close()
	require.True(t, string(want) == string(listen(t, speaker, system)), "the system voice is heard")
	require.EqualValues(t, 2, e.Stats().PassedOn)

	requireAClone(t, e, speaker, own)
	untold := system
	untold.Substitutes = false
	for _, r := range []speech.Request{own, untold} {
		refused := speaker.Speak(t.Context(), r)
		require.ErrorIs(t, read(t.Context(), refused), speech.ErrEngineBusy)
		refused.Close()
	}
	require.NoError(t, read(t.Context(), one), "and whoever has the place is not disturbed")
}

// requireAClone checks that a clone speaks without its installed base if the base has no place, or is of another
// package. The base has no place.
func requireAClone(t *testing.T, e *installed.Engines, speaker *speech.Speaker, own speech.Request) {
	t.Helper()
	clone := own
	clone.Voice = speech.Voice{ID: "0123456789abcdef", Variant: "m3", Timbre: &speech.Timbre{
		PitchLow: 80, PitchHigh: 120, Formants: 1, Pace: 1}}
	want := listen(t, speaker, clone)
	moved := *own.Voice.Installed
	moved.Moved = &speech.Moved{Package: thePackage, Pitch: 1.1, Pace: 1}
	clone.Voice.Installed = &moved
	_, runs := e.Engine(moved)
	require.True(t, runs)
	require.True(t, string(want) == string(listen(t, speaker, clone)), "for want of a place")

	another := moved
	another.Moved = &speech.Moved{Package: "another", Pitch: 1.1, Pace: 1}
	clone.Voice.Installed = &another
	_, runs = e.Engine(another)
	require.False(t, runs)
	require.True(t, string(want) == string(listen(t, speaker, clone)), "for want of the package")
}

// thePackage is the hash of the package of the voice of these tests.
const thePackage = "toy's"

// listen returns the samples of a request.
func listen(t *testing.T, speaker *speech.Speaker, r speech.Request) (pcm []byte) {
	t.Helper()
	stream := speaker.Speak(t.Context(), r)
	defer stream.Close()
	for {
		piece, err := stream.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return pcm
		}
		require.NoError(t, err)
		pcm = append(pcm, piece.PCM...)
	}
}

func TestAVoiceWithStylesIsMeasured(t *testing.T) {
	v := voicepack.Voice{ID: "toy", Languages: []string{"en-us"}, Folder: neuraltest.KokoroFolder(t, "toy")}
	e := newEngines(t, neuraltest.Runtime(t))
	measured, err := e.Measure(t.Context(), v)
	require.NoError(t, err)
	require.Positive(t, measured.Cost)
	require.Empty(t, measured.Missing)
	require.NoError(t, os.WriteFile(filepath.Join(v.Folder, voicepack.StylesFile), neuraltest.Styles(2)[8:], 0o600))
	_, err = e.Measure(t.Context(), v)
	require.ErrorContains(t, err, "styles")
}

// Voices with different styles share one copy of their model, even after the removal of the voice that loaded it.
func TestVoicesWithTheSameModelShareIt(t *testing.T) {
	runtime, folder := neuraltest.Runtime(t), t.TempDir()
	var voices []voicepack.Voice
	for i, id := range []string{"one", "other"} {
		v := voicepack.Voice{ID: id, Languages: []string{"en-us"}, Folder: filepath.Join(folder, id), Cost: 0.1}
		require.NoError(t, os.CopyFS(v.Folder, os.DirFS(neuraltest.KokoroFolder(t, id))))
		styles := neuraltest.Styles(uint64(i + 1))
		require.NoError(t, os.WriteFile(filepath.Join(v.Folder, voicepack.StylesFile), styles, 0o600))
		voices = append(voices, v)
	}
	say := func(e *installed.Engines, v voicepack.Voice) []byte {
		engine, found := e.Engine(speech.Installed{ID: v.ID})
		require.True(t, found)
		job := speech.Job{Text: enginetest.Sentence, Language: "en-us", Speed: 1}
		pcm, _, err := speech.Synthesise(t.Context(), engine, job)
		require.NoError(t, err)
		return pcm
	}
	var alone [][]byte
	for _, v := range voices {
		e := newEngines(t, runtime)
		require.NoError(t, e.Open(v))
		alone = append(alone, say(e, v))
		require.NoError(t, e.CloseAll())
	}
	require.NotEqual(t, alone[0], alone[1])

	each, err := voices[0].Memory()
	require.NoError(t, err)
	e := installed.New(installed.Config{Runtime: runtime, Speechworker: binary.Path(), SampleRate: neuraltest.ToyRate,
		Memory: each})
	defer func() { require.NoError(t, e.CloseAll()) }()
	for _, v := range voices {
		require.NoError(t, e.Open(v))
	}
	require.Equal(t, 1, e.Stats().Size)
	for i, v := range voices {
		require.True(t, string(alone[i]) == string(say(e, v)), v.ID)
	}
	gone, _ := e.Engine(speech.Installed{ID: "one"})
	require.NoError(t, e.Close("one"))
	require.NoError(t, os.RemoveAll(voices[0].Folder))
	_, err = gone.Speak(t.Context(), speech.Job{Text: enginetest.Sentence, Language: "en-us", Speed: 1})
	require.ErrorIs(t, err, speech.ErrEngineClosed)
	for _, pid := range procfs.Children(os.Getpid()) {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	require.Eventually(t, func() bool { return e.Stats().Respawns == 1 }, time.Minute, time.Millisecond)
	require.True(t, string(alone[1]) == string(say(e, voices[1])), "a new process knows another folder")
}

func TestWithoutARuntimeNothingRuns(t *testing.T) {
	e := newEngines(t, "")
	require.ErrorIs(t, e.Open(toy(t)), voicepack.ErrNoRuntime)
	_, err := e.Measure(t.Context(), toy(t))
	require.ErrorIs(t, err, voicepack.ErrNoRuntime)
}

func TestAVoiceOfAnotherRateIsRefused(t *testing.T) {
	e := installed.New(installed.Config{Runtime: neuraltest.Runtime(t), Speechworker: binary.Path(), SampleRate: 24000,
		Memory: 1 << 30})
	require.ErrorContains(t, e.Open(toy(t)), "22050 Hz")
}

func TestVoicesForWhichThereIsNoMemoryDoNotRun(t *testing.T) {
	each, err := toy(t).Memory()
	require.NoError(t, err)
	e := installed.New(installed.Config{Runtime: neuraltest.Runtime(t), Speechworker: binary.Path(),
		SampleRate: neuraltest.ToyRate, Memory: each + each/2})
	t.Cleanup(func() { require.NoError(t, e.CloseAll()) })
	one, other := toy(t), toy(t)
	other.ID = "other"
	require.NoError(t, os.WriteFile(filepath.Join(other.Folder, voicepack.ModelFile), neuraltest.OtherToy(), 0o600))
	neuraltest.Describe(t, other.Folder, "other", "Other")
	require.NoError(t, e.Open(one))
	require.ErrorContains(t, e.Open(other), "RECITAL_NEURAL_MEMORY")
	require.Contains(t, e.Running(), "toy")
	require.NoError(t, e.Close("toy"))
	require.NoError(t, e.Open(other))
}

func TestAVoiceThatCannotSpeakIsRefused(t *testing.T) {
	v := toy(t)
	e := newEngines(t, neuraltest.Runtime(t))
	strange := neuraltest.ConfigFrom(neuraltest.Symbols)
	require.NoError(t, os.WriteFile(filepath.Join(v.Folder, voicepack.ConfigFile), strange, 0o600))
	_, err := e.Measure(t.Context(), v)
	require.ErrorContains(t, err, "checking a voice")
	require.NotErrorIs(t, err, speech.ErrEngineFailed, "which would say that the service is at fault")
}

func TestSymbolsThatAVoiceLacksAreCounted(t *testing.T) {
	v := toy(t)
	e := newEngines(t, neuraltest.Runtime(t))
	measured, err := e.Measure(t.Context(), v)
	require.NoError(t, err)
	require.Empty(t, measured.Missing)

	path := filepath.Join(v.Folder, voicepack.ConfigFile)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	content = bytes.ReplaceAll(content, []byte(`"ʃ"`), []byte(`"x"`))
	require.NoError(t, os.WriteFile(path, content, 0o600))
	measured, err = e.Measure(t.Context(), v)
	require.NoError(t, err)
	require.Len(t, measured.Missing, 1)
	require.Positive(t, measured.Missing["ʃ"])
}

// Two texts in which two voices speak in turn do not wait for each other, each with the place of one voice.
func TestTextsOfTheSameVoicesDoNotWaitForEachOther(t *testing.T) {
	e := installed.New(installed.Config{Runtime: neuraltest.Runtime(t), Speechworker: binary.Path(),
		SampleRate: neuraltest.ToyRate, Memory: 1 << 30, Patience: time.Hour})
	t.Cleanup(func() { require.NoError(t, e.CloseAll()) })
	cast := map[string]speech.Voice{}
	for _, id := range []string{"one", "two"} {
		v := toy(t) // which has a place for one stream
		v.ID = id
		if id == "two" {
			require.NoError(t, os.WriteFile(filepath.Join(v.Folder, voicepack.ModelFile), neuraltest.OtherToy(), 0o600))
			neuraltest.Describe(t, v.Folder, id, "Other")
		}
		require.NoError(t, e.Open(v))
		cast[id] = speech.Voice{ID: id, Variant: "f2", Installed: &speech.Installed{ID: id, Languages: v.Languages}}
	}
	first, err := worker.Open(worker.Config{Size: 1, Command: workertest.Command(binary)})
	require.NoError(t, err)
	defer func() { require.NoError(t, first.Close()) }()
	speaker := speech.NewSpeaker(first).WithInstalled(e)
	say := func(one, other string) *speech.Stream {
		markup, err := speech.ParseMarkup("<speak><voice name='"+one+"'>I begin.</voice><voice name='"+other+
			"'>You answer.</voice><voice name='"+one+"'>I have heard it.</voice></speak>", "en-us")
		require.NoError(t, err)
		return speaker.Speak(t.Context(), speech.Request{
			Language: "en-us", Voice: speech.Voices()[0], Markup: markup, Cast: cast})
	}
	var streams [8]*speech.Stream
	for i := range streams {
		names := []string{"one", "two"}
		streams[i] = say(names[i%2], names[1-i%2])
	}
	var reading errgroup.Group
	for _, s := range streams {
		reading.Go(func() error {
			defer s.Close()
			return read(t.Context(), s)
		})
	}
	require.NoError(t, reading.Wait())
}

// A voice is measured with sentences of its language: English ones have no ñ.
func TestAVoiceIsMeasuredInItsLanguage(t *testing.T) {
	v := toy(t)
	v.Languages = []string{"es"}
	measured, err := newEngines(t, neuraltest.Runtime(t)).Measure(t.Context(), v)
	require.NoError(t, err)
	require.Contains(t, measured.Missing, "ɲ")
}
