package formant_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/cloning"
	"github.com/recital-tts/recital/internal/speech/cloning/formant"
	"github.com/recital-tts/recital/internal/speech/cloning/likenesstest"
	"github.com/recital-tts/recital/internal/speech/loudness"
	"github.com/recital-tts/recital/internal/speech/resample"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// installed is an installed voice that speaks like a voice of an engine.
type installed struct {
	speech.Engine
	voice speech.Voice
}

func (i installed) Speak(ctx context.Context, job speech.Job) (speech.Utterance, error) {
	job.Voice = i.voice
	return i.Engine.Speak(ctx, job)
}

// engines has one installed voice.
type engines struct{ only installed }

func (e engines) Engine(speech.Installed) (speech.Engine, bool) { return e.only, true }
func (engines) Admit(context.Context, string) bool              { return true }
func (engines) Substituted()                                    {}

// base returns a measured installed voice, which can be cloned.
func (i installed) base(t *testing.T) speech.Voice {
	t.Helper()
	analyser, meter := acoustics.New(acoustics.Config{Rate: rate}), loudness.NewMeter(rate)
	for _, text := range formant.Sentences("en-us") {
		pcm, _, err := speech.Synthesise(t.Context(), i, speech.Job{Text: text, Language: "en-us", Speed: 1})
		require.NoError(t, err)
		_, _ = analyser.Write(pcm)
		meter.Add(pcm)
	}
	_, statistics := analyser.Finish()
	sound, err := json.Marshal(statistics)
	require.NoError(t, err)
	require.Less(t, len(sound), cloning.MaxAnalysisBytes)
	return speech.Voice{ID: "heart", Gender: "F", Variant: "f2", Installed: &speech.Installed{
		ID: "heart", Languages: []string{"en-us"}, Gain: loudness.Target - meter.Loudness(),
		Base: &speech.Base{Package: "1", Sound: sound},
	}}
}

// played returns recordings played faster by a factor.
func played(recordings [][]byte, steps int) (all [][]byte) {
	for _, pcm := range recordings {
		r := resample.New(steps, 100)
		var samples []float64
		for _, s := range audio.AppendSamples(nil, pcm) {
			samples = append(samples, float64(s))
		}
		var out []byte
		for _, s := range append(r.Add(samples), r.Finish()...) {
			out = binary.LittleEndian.AppendUint16(out, uint16(int16(s)))
		}
		all = append(all, out)
	}
	return all
}

// An installed voice near the speaker is moved, and the clone is then nearer than a clone of the synthesiser.
func TestACloneIsMadeOfANearInstalledVoice(t *testing.T) {
	longtest.Only(t)
	plain, engine := newCloner(t)
	flite := open(t, workertest.Flite(workerBinary))
	leah, _ := speech.LookupVoice("leah")
	near := installed{flite, leah}
	voice := near.base(t)
	recordings := rested(played(say(t, flite, leah, given()...), 107))
	analyses := analyse(t, plain, recordings...)
	fit := func(profile cloning.Profile, voices ...speech.Voice) cloning.Model {
		model, err := plain.WithInstalled(func() []speech.Voice { return voices }).Fit(t.Context(), analyses, profile, nil)
		require.NoError(t, err)
		return model
	}
	model := fit(cloning.Profile{Accent: "en-US"}, voice)
	require.Equal(t, "heart", model.Base)
	clone, err := plain.Open(model)
	require.NoError(t, err)
	require.InDelta(t, 1.07, clone.Installed.Moved.Pitch, 0.02)

	alone := clone
	alone.Installed = nil
	heldOut := heldOut()
	want := measure(played(say(t, flite, leah, heldOut...), 107))
	speaker := speech.NewSpeaker(engine).WithInstalled(engines{near})
	spoken := sayWith(t, speaker, "en-us", clone, heldOut...)
	of := likenesstest.Between(want, measure(spoken))
	than := likenesstest.Between(want, measure(say(t, engine, alone, heldOut...)))
	require.Less(t, of.Cepstrum, than.Cepstrum)
	require.Less(t, of.Spectrum, than.Spectrum+0.5)
	require.Less(t, of.Pitch, 0.4)
	meter := loudness.NewMeter(rate)
	for _, pcm := range spoken {
		meter.Add(pcm)
	}
	require.InDelta(t, loudness.Target, meter.Loudness(), 2)
	if testing.Short() {
		return // the rest takes as long again
	}

	var others []speech.Voice
	for _, change := range []func(*speech.Voice){
		func(v *speech.Voice) { v.Gender = "M" },
		func(v *speech.Voice) { v.Installed.Languages = []string{"de", "en-us"} },
		func(v *speech.Voice) { v.Installed.Base.Sound = []byte("{") },
		func(v *speech.Voice) { v.Installed.Base.Sound = high(t, v) },
	} {
		other, own, base := voice, *voice.Installed, *voice.Installed.Base
		own.Base, other.Installed = &base, &own
		change(&other)
		others = append(others, other)
	}
	require.Empty(t, fit(cloning.Profile{Accent: "en-US"}, others...).Base)
}

// high returns the measurement of a voice half an octave higher.
func high(t *testing.T, v *speech.Voice) []byte {
	t.Helper()
	var s acoustics.Statistics
	require.NoError(t, json.Unmarshal(v.Installed.Base.Sound, &s))
	copy(s.Pitch[24:], s.Pitch[:len(s.Pitch)-24])
	clear(s.Pitch[:24])
	sound, err := json.Marshal(s)
	require.NoError(t, err)
	return sound
}
