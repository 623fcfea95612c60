package speech_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/codec"
	"github.com/recital-tts/recital/internal/speech/loudness"
	"github.com/recital-tts/recital/internal/speech/loudness/loudnesstest"
	"github.com/recital-tts/recital/internal/speech/mastering"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// fullScale is the highest possible sample.
const fullScale = 32767

// report is a text in the tested languages, some of which are louder than others.
func report(language string) string {
	return map[string]string{
		"en-us": "The weather will be cold and windy, with some rain in the north! Will you call me back tomorrow " +
			"morning? Bring bread, cheese and honey from the small market near the river.",
		"de": "Das Wetter wird morgen kalt und windig, mit etwas Regen im Norden! Rufen Sie mich morgen früh zurück? " +
			"Bringen Sie Brot, Käse und Honig vom Markt am Fluss mit.",
		"fr-fr": "Demain, le temps sera froid et venteux, avec un peu de pluie au nord ! Me rappelez-vous demain matin ? " +
			"Apportez du pain, du fromage et du miel du marché.",
		"es": "Mañana el tiempo será frío y ventoso, con algo de lluvia en el norte. ¿Me llama mañana por la mañana? " +
			"Traiga pan, queso y miel del mercado junto al río.",
		"ru": "Завтра будет холодно и ветрено, на севере небольшой дождь! Вы перезвоните мне завтра утром? Принесите " +
			"хлеб, сыр и мёд с рынка у реки.",
		"cmn": "明天天气寒冷有风，北方有小雨！你明天早上给我回电话吗？请从河边的市场带来面包和蜂蜜。",
		"fi": "Huomenna on kylmää ja tuulista, pohjoisessa sataa hieman! Soitatko minulle huomenna aamulla? Tuo " +
			"leipää, juustoa ja hunajaa torilta joen varrelta.",
		"hi": "कल मौसम ठंडा रहेगा और हवा चलेगी, उत्तर में कुछ बारिश होगी! क्या आप मुझे कल सुबह फ़ोन करेंगे? नदी के पास " +
			"के बाज़ार से रोटी और शहद लाइए।",
		"vi": "Ngày mai trời sẽ lạnh và có gió, miền bắc có mưa nhỏ! Bạn có gọi lại cho tôi vào sáng mai không? Hãy " +
			"mua bánh mì và mật ong ở chợ gần sông.",
	}[language]
}

func languages() []string {
	return []string{"en-us", "de", "fr-fr", "es", "ru", "cmn", "fi", "hi", "vi"}
}

// settings are ways of speaking, among them the loudest.
func settings() map[string]speech.Request {
	return map[string]speech.Request{
		"own":  {},
		"fast": {Speed: speech.MaxSpeed},
		"lively": {Prosody: speech.Prosody{
			Conversational: true, Temperature: new(5.0), TopP: new(1.0), Expressive: new(2.0),
		}, Seed: 3},
	}
}

// level is an engine that records its highest sample.
type level struct {
	speech.Engine
	highest atomic.Int64
}

func (l *level) Speak(ctx context.Context, job speech.Job) (speech.Utterance, error) {
	u, err := l.Engine.Speak(ctx, job)
	return measured{u, l}, err
}

type measured struct {
	speech.Utterance
	level *level
}

func (m measured) Next(ctx context.Context) ([]byte, error) {
	pcm, err := m.Utterance.Next(ctx)
	m.level.highest.Store(max(m.level.highest.Load(), int64(loudnesstest.Peak(pcm))))
	return pcm, err
}

func openFlite(t testing.TB, size int) *worker.Pool {
	t.Helper()
	pool, err := worker.Open(worker.Config{Command: workertest.Flite(binary), Size: size})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	return pool
}

func openEncoders(t testing.TB) audio.Encoders {
	t.Helper()
	pool, err := codec.Open(codec.Config{Command: workertest.Mode(binary, "codec"), Size: 2})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return audio.NewEncoders(pool)
}

// converted returns samples at another rate.
func converted(t *testing.T, encoders audio.Encoders, pcm []byte, from, to int) []byte {
	t.Helper()
	encoder, err := encoders.Open(t.Context(), audio.Spec{Format: audio.PCMS16LE, SampleRate: to}, from)
	require.NoError(t, err)
	defer encoder.Close()
	out, err := encoder.Encode(t.Context(), pcm)
	require.NoError(t, err)
	rest, err := encoder.Finish(t.Context())
	require.NoError(t, err)
	return append(out, rest...)
}

// eachCase visits all languages, engines and voices; with -short only the languages of both engines and of the highest
// samples, and some of the voices.
func eachCase(visit func(what string, r speech.Request)) {
	for _, language := range languages() {
		models := []string{speech.ModelAurora}
		switch {
		case language == "en-us":
			models = append(models, speech.ModelBlizzard)
		case testing.Short() && language != "vi":
			continue
		}
		for _, model := range models {
			for _, voice := range longtest.Sample(speech.Voices(), 4) {
				what := fmt.Sprintf("%s in %s, %s", voice.ID, language, model)
				visit(what, speech.Request{Text: report(language), Language: language, Model: model, Voice: voice})
			}
		}
	}
}

// No voice is clipped, in any language and any way of speaking: neither by its engine, nor by the amplification, nor by
// the conversion to another rate.
func TestNoSampleIsClipped(t *testing.T) {
	longtest.Only(t)
	first, second := &level{Engine: openPool(t, 2)}, &level{Engine: openFlite(t, 2)}
	speaker, encoders := speech.NewSpeaker(first).WithSecondEngine(second), openEncoders(t)
	for name, setting := range settings() {
		eachCase(func(what string, r speech.Request) {
			r.Speed, r.Prosody, r.Seed = setting.Speed, setting.Prosody, setting.Seed
			first.highest.Store(0)
			second.highest.Store(0)
			pcm := speakWith(t, speaker, r).pcm
			require.NotZero(t, first.highest.Load()+second.highest.Load())
			require.Less(t, max(first.highest.Load(), second.highest.Load()), int64(fullScale), "%s, %s: the engine", what, name)
			require.Less(t, loudnesstest.Peak(pcm), fullScale, "%s, %s", what, name)
			for _, rate := range []int{8000, 24000} {
				require.Less(t, loudnesstest.Peak(converted(t, encoders, pcm, speaker.SampleRate(), rate)), fullScale,
					"%s, %s at %d Hz", what, name, rate)
			}
		})
	}
}

func speakWith(t *testing.T, speaker *speech.Speaker, r speech.Request) whole {
	t.Helper()
	st := speaker.Speak(t.Context(), r)
	defer st.Close()
	w, err := read(t.Context(), st)
	require.NoError(t, err)
	return w
}

func TestAllVoicesAreEquallyLoud(t *testing.T) {
	speaker := speech.NewSpeaker(openPool(t, 2)).WithSecondEngine(openFlite(t, 2))
	eachCase(func(what string, r speech.Request) {
		require.InDelta(t, loudness.Target, loudnesstest.Of(speakWith(t, speaker, r).pcm, speaker.SampleRate()), 1, what)
	})
}

func TestAllSpeedsAreEquallyLoud(t *testing.T) {
	longtest.Only(t)
	speaker := speech.NewSpeaker(openPool(t, 2)).WithSecondEngine(openFlite(t, 2))
	for _, language := range []string{"en-us", "de", "ru", "vi"} {
		for _, model := range []string{speech.ModelAurora, speech.ModelBlizzard} {
			if model == speech.ModelBlizzard && language != "en-us" {
				continue
			}
			for _, speed := range []float64{speech.MinSpeed, speech.MaxSpeed} {
				r := speech.Request{Text: report(language), Language: language, Model: model, Speed: speed}
				for _, r.Voice = range speech.Voices()[3:5] {
					pcm := speakWith(t, speaker, r).pcm
					what := fmt.Sprintf("%s in %s, %s at %v", r.Voice.ID, language, model, speed)
					require.InDelta(t, loudness.Target, loudnesstest.Of(pcm, speaker.SampleRate()), 1.1, what)
				}
			}
		}
	}
}

// The properties of a clone besides its engine: its loudness and its spectrum.
func TestTheTimbreOfAVoiceIsHeard(t *testing.T) {
	speaker := speech.NewSpeaker(openPool(t, 1))
	loud := func(gain, boost float64) float64 {
		own := speech.Voices()[0]
		own.Timbre = &speech.Timbre{
			PitchLow: 150, PitchHigh: 200, Formants: 1, Pace: 1, Gain: gain,
			Equaliser: slices.Repeat([]float64{boost}, mastering.BandCount),
		}
		r := speech.Request{Text: report("en-us"), Language: "en-us", Voice: own, Model: speech.ModelBlizzard}
		return loudnesstest.Of(speakWith(t, speaker, r).pcm, speaker.SampleRate())
	}
	plain := loud(2, 0)
	require.InDelta(t, plain+4, loud(6, 0), 0.1)
	require.InDelta(t, plain-3, loud(2, -3), 0.1)
}

// The engines' own speeds depend on the text; the length of the audio does not.
func TestSpeedIsExact(t *testing.T) {
	longtest.Only(t)
	speaker := speech.NewSpeaker(openPool(t, 2)).WithSecondEngine(openFlite(t, 2))
	texts := map[string]string{"Hello there. How are you?": "en-us", "Yes.": "en-us", report("vi"): "vi"}
	if !testing.Short() {
		for _, language := range languages() {
			texts[report(language)] = language
		}
	}
	for text, language := range texts {
		for _, model := range []string{speech.ModelAurora, speech.ModelBlizzardDialogue} {
			r := speech.Request{Text: text, Language: language, Model: model, Voice: speech.Voices()[4]}
			own := len(speakWith(t, speaker, r).pcm)
			for _, r.Speed = range []float64{speech.MinSpeed, 0.5, 0.8, 1.3, speech.MaxSpeed} {
				w := speakWith(t, speaker, r)
				require.InEpsilon(t, float64(own)/r.Speed, len(w.pcm), 0.001, "%q at speed %v, %s", text, r.Speed, model)
				requireTimings(t, text, w.timings, float64(len(w.pcm)/2)/float64(speaker.SampleRate()))
			}
		}
	}
}

func TestTheSpeedOfAPartIsExact(t *testing.T) {
	speaker := speech.NewSpeaker(openPool(t, 1))
	part := speech.Part{Segment: speech.Segment{Text: "Hello there. How are you?", Characters: 25}, Last: true}
	last := func(speed float64) int {
		r := request("")
		r.Speed = speed
		st := speaker.SpeakPart(t.Context(), r, part)
		defer st.Close()
		w, err := read(t.Context(), st)
		require.NoError(t, err)
		return len(w.pcm)
	}
	require.InEpsilon(t, last(1)/2, last(2), 0.001)
	require.InEpsilon(t, last(1)*4, last(0.25), 0.001)
}
