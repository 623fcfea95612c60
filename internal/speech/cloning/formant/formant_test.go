package formant_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/cloning"
	"github.com/recital-tts/recital/internal/speech/cloning/formant"
	"github.com/recital-tts/recital/internal/speech/cloning/likenesstest"
	"github.com/recital-tts/recital/internal/speech/loudness"
	"github.com/recital-tts/recital/internal/speech/loudness/loudnesstest"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

const rate = 22050

func open(t testing.TB, command workers.Command) speech.Engine {
	t.Helper()
	pool, err := worker.Open(worker.Config{Command: command, Size: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	return pool
}

// newCloner returns a cloner with an engine of its own, and the engine.
func newCloner(t testing.TB) (*formant.Cloner, speech.Engine) {
	engine := open(t, workertest.Command(workerBinary))
	return formant.New(engine), engine
}

func say(t testing.TB, engine speech.Engine, voice speech.Voice, texts ...string) (all [][]byte) {
	t.Helper()
	return sayIn(t, engine, "en-us", voice, texts...)
}

func sayIn(t testing.TB, engine speech.Engine, language string, voice speech.Voice, texts ...string) (all [][]byte) {
	t.Helper()
	return sayWith(t, speech.NewSpeaker(engine), language, voice, texts...)
}

func sayWith(
	t testing.TB, speaker *speech.Speaker, language string, voice speech.Voice, texts ...string,
) (all [][]byte) {
	t.Helper()
	for _, text := range texts {
		stream := speaker.Speak(t.Context(), speech.Request{Text: text, Voice: voice, Language: language})
		var pcm []byte
		for {
			piece, err := stream.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			pcm = append(pcm, piece.PCM...)
		}
		stream.Close()
		all = append(all, pcm)
	}
	return all
}

// given are the sentences of the recordings, and heldOut the sentences for judging clones.
func given() []string {
	return []string{
		"The quick brown fox jumps over the lazy dog while seven wizards watch from the old stone wall.",
		"Please call me back tomorrow morning, because the meeting has been moved to half past nine.",
		"A long time ago, in a quiet village by the sea, there lived a fisherman and his daughter.",
		"If you are not sure which train to take, ask the man in the blue uniform at platform two.",
	}
}

func heldOut() []string {
	return []string{
		"The weather will be cold and windy, with some rain in the north and sunshine in the south.",
		"Turn left after the bridge, drive straight on for two miles, and you will see the house.",
		"Nobody knew why the lights went out, but the music kept playing until the early morning.",
	}
}

func measure(pieces [][]byte) likenesstest.Voice {
	var all [][]int16
	for _, pcm := range pieces {
		one := make([]int16, len(pcm)/2)
		for i := range one {
			one[i] = int16(binary.LittleEndian.Uint16(pcm[2*i:]))
		}
		all = append(all, one)
	}
	return likenesstest.Measure(all, rate)
}

func analyse(t testing.TB, cloner cloning.Cloner, recordings ...[]byte) (all []cloning.Analysis) {
	t.Helper()
	for _, pcm := range recordings {
		analysis, err := cloner.Analyse(t.Context(), cloning.Recording{PCM: bytes.NewReader(pcm), Rate: rate},
			cloning.Options{})
		require.NoError(t, err)
		require.LessOrEqual(t, len(analysis.Data), cloning.MaxAnalysisBytes)
		all = append(all, analysis)
	}
	return all
}

// Clones of the other engine's voices are nearer to these than the system voices that they are based on, and as loud as
// all voices. One of them is cloned twice. If the speaker's language is unknown, no installed voice is a base.
func TestACloneIsNearerThanWhatItIsMadeOf(t *testing.T) {
	cloner, engine := newCloner(t)
	flite := open(t, workertest.Flite(workerBinary))
	leah, _ := speech.LookupVoice("leah")
	base := []speech.Voice{installed{flite, leah}.base(t)}
	cloner = cloner.WithInstalled(func() []speech.Voice { return base })
	voices := []string{"leah", "zeke", "ansel"} // one of each of flite's voices
	if testing.Short() {
		voices = voices[:1]
	}
	for _, id := range voices {
		original, _ := speech.LookupVoice(id)
		recordings := rested(say(t, flite, original, given()...))
		done := 0
		model, err := cloner.Fit(t.Context(), analyse(t, cloner, recordings...), cloning.Profile{}, func(now, total int) {
			require.Equal(t, done+1, now)
			require.LessOrEqual(t, now, total)
			done = now
		})
		require.NoError(t, err)
		require.LessOrEqual(t, len(model.Data), cloning.MaxModelBytes)
		require.Equal(t, cloner.Engine(), model.Engine)
		require.Empty(t, model.Base)
		clone, err := cloner.Open(model)
		require.NoError(t, err)

		want, spoken := measure(say(t, flite, original, heldOut()...)), say(t, engine, clone, heldOut()...)
		near := likenesstest.Between(want, measure(spoken))
		variant := speech.Voice{ID: idOf(clone.Variant), Variant: clone.Variant}
		far := likenesstest.Between(want, measure(say(t, engine, variant, heldOut()...)))
		require.True(t, near.Nearer(far), "%s: the clone is at %+v, what it is made of at %+v", id, near, far)
		require.InDelta(t, loudness.Target, loudnesstest.Of(bytes.Join(spoken, nil), rate), 1, id)
		if id == "zeke" {
			requireSameElsewhere(t, recordings, model, spoken[:1])
		}
	}
}

// requireSameElsewhere requires that the same recordings give the same voice on another instance, and that it speaks
// the same there.
func requireSameElsewhere(t *testing.T, recordings [][]byte, want cloning.Model, spoken [][]byte) {
	t.Helper()
	cloner, engine := newCloner(t)
	model, err := cloner.Fit(t.Context(), analyse(t, cloner, recordings...), cloning.Profile{}, nil)
	require.NoError(t, err)
	require.Equal(t, want, model)
	voice, err := cloner.Open(model)
	require.NoError(t, err)
	require.Equal(t, spoken, say(t, engine, voice, heldOut()[:len(spoken)]...))
}

// rested adds a pause at the end of recordings, as people leave one.
func rested(recordings [][]byte) [][]byte {
	for i := range recordings {
		recordings[i] = append(recordings[i], make([]byte, rate)...) // half a second
	}
	return recordings
}

func idOf(variant string) string {
	for _, v := range speech.Voices() {
		if v.Variant == variant {
			return v.ID
		}
	}
	return ""
}

// The pitch of a voice depends on the language, so a speaker of Italian is compared with Italian. Clones of speakers
// who are slower or faster than the synthesiser have the speaker's pace.
func TestACloneHasThePitchAndThePaceOfTheSpeakerInTheirLanguage(t *testing.T) {
	longtest.Only(t)
	cloner, engine := newCloner(t)
	for accent, c := range map[string]struct {
		language       string
		pace           float64
		near           float64 // semitones
		given, heldOut []string
	}{
		"it-IT": {"it", 0.8, 0.3, []string{
			"La volpe veloce salta sopra il cane pigro, e sette maghi guardano dal vecchio muro di pietra.",
			"Per favore richiamami domani mattina, perché la riunione è stata spostata alle nove e mezza.",
			"Molto tempo fa, in un villaggio in riva al mare, viveva un pescatore con sua figlia.",
		}, []string{
			"Domani il tempo sarà freddo e ventoso, con un po' di pioggia al nord e sole al sud.",
			"Nessuno sapeva perché le luci si fossero spente, ma la musica continuò fino al mattino.",
			"I bambini imparano a leggere più facilmente quando qualcuno legge loro ad alta voce.",
		}},
		"en-US": {"en-us", 1.2, 0.5, given(), heldOut()},
	} {
		speaker := speech.Voice{
			Variant: "m7", Timbre: &speech.Timbre{PitchLow: 90, PitchHigh: 140, Formants: 1, Breath: 0.4, Pace: c.pace},
		}
		recording := bytes.Join(sayIn(t, engine, c.language, speaker, c.given...), nil)
		model, err := cloner.Fit(t.Context(), analyse(t, cloner, recording), cloning.Profile{Accent: accent}, nil)
		require.NoError(t, err)
		clone, err := cloner.Open(model)
		require.NoError(t, err)
		want := measure(sayIn(t, engine, c.language, speaker, c.heldOut...))
		got := measure(sayIn(t, engine, c.language, clone, c.heldOut...))
		require.Less(t, likenesstest.Between(want, got).Pitch, c.near, "semitones, of %s", accent)
		require.InDelta(t, 1, got.Seconds()/want.Seconds(), 0.05, "of a speaker of %s at pace %v", accent, c.pace)
	}
}

func TestRecordingsWithoutAVoiceAreUnusable(t *testing.T) {
	cloner, _ := newCloner(t)
	random := rand.New(rand.NewPCG(1, 2))
	var noise []byte
	for range 10 * rate {
		noise = binary.LittleEndian.AppendUint16(noise, uint16(int16(3000*random.NormFloat64())))
	}
	for name, recordings := range map[string][][]byte{
		"nothing": nil, "an empty one": {nil}, "silence": {make([]byte, 20*rate)}, "noise": {noise}, "half a sample": {{1}},
	} {
		_, err := cloner.Fit(t.Context(), analyse(t, cloner, recordings...), cloning.Profile{}, nil)
		var unusable *cloning.UnusableError
		require.ErrorAs(t, err, &unusable, name)
		require.NotEmpty(t, unusable.Reason)
	}
}

func TestWhatIsWrongOnTheWayIsReported(t *testing.T) {
	cloner, engine := newCloner(t)
	broken := errors.New("the disk is broken")
	_, err := cloner.Analyse(t.Context(), cloning.Recording{
		PCM: io.MultiReader(bytes.NewReader(make([]byte, 100)), failing{broken}), Rate: rate,
	}, cloning.Options{})
	require.ErrorIs(t, err, broken)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = cloner.Analyse(ctx, cloning.Recording{PCM: bytes.NewReader(make([]byte, 100)), Rate: rate}, cloning.Options{})
	require.ErrorIs(t, err, context.Canceled)

	recordings := say(t, engine, speech.Voices()[0], given()[:2]...)
	_, err = cloner.Fit(ctx, analyse(t, cloner, recordings...), cloning.Profile{}, nil)
	require.ErrorIs(t, err, context.Canceled)
	_, err = cloner.Fit(t.Context(), []cloning.Analysis{{Data: []byte("{")}}, cloning.Profile{}, nil)
	require.Error(t, err)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

const sound = `{"variant":"m3","timbre":{"pitch_low":80,"pitch_high":120,"formants":1,"breath":0,"pace":1,"gain":3,` +
	`"equaliser":null}}`

func TestADamagedModelIsNotOpened(t *testing.T) {
	cloner := formant.New(nil)
	voice, err := cloner.Open(cloning.Model{Engine: "formant/1", Data: []byte(sound)})
	require.NoError(t, err)
	require.Equal(t, "m3", voice.Variant)
	for name, model := range map[string]cloning.Model{
		"another engine":   {Engine: "neural/1", Data: []byte(sound)},
		"no data":          {Engine: "formant/1"},
		"cut off":          {Engine: "formant/1", Data: []byte(sound[:60])},
		"something behind": {Engine: "formant/1", Data: []byte(sound + "{}")},
		"too large": {Engine: "formant/1",
			Data: append([]byte(sound), bytes.Repeat([]byte(" "), cloning.MaxModelBytes)...)},
		"an unknown field":  {Engine: "formant/1", Data: bytes.Replace([]byte(sound), []byte("breath"), []byte("death"), 1)},
		"a path as variant": {Engine: "formant/1", Data: bytes.Replace([]byte(sound), []byte("m3"), []byte("../../x"), 1)},
		"a whisper":         {Engine: "formant/1", Data: bytes.Replace([]byte(sound), []byte("m3"), []byte("f5"), 1)},
		"out of range":      {Engine: "formant/1", Data: bytes.Replace([]byte(sound), []byte("80"), []byte("8000"), 1)},
		"too few bands":     {Engine: "formant/1", Data: bytes.Replace([]byte(sound), []byte("null"), []byte("[1,2]"), 1)},
	} {
		_, err := cloner.Open(model)
		require.Error(t, err, name)
	}
}

// Any content of a blob is either refused or a voice that the engine speaks with.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(sound))
	f.Add([]byte(`{"variant":"f2","timbre":{"pitch_low":1e308}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		voice, err := formant.New(nil).Open(cloning.Model{Engine: "formant/1", Data: data})
		if err != nil {
			return
		}
		require.True(t, speech.IsVariant(voice.Variant))
		require.True(t, voice.Timbre.Valid())
		require.False(t, math.IsNaN(voice.Timbre.Gain))
	})
}
