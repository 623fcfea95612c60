package rendered

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/alignment"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
)

func start(t *testing.T, command workers.Command) *worker.Pool {
	t.Helper()
	pool, err := worker.Open(worker.Config{Command: command})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	return pool
}

// sentences are the content of the recordings of these tests.
func sentences() []string {
	return []string{
		"Our guests arrived late because heavy traffic had blocked the road to the airport.",
		"Put the eggs into boiling water and take them out again after seven minutes.",
		"The mayor thanked everybody who had helped to clean the park last Sunday.",
		"Keep your ticket until you leave, since an inspector may ask you to show it.",
	}
}

// silences of a recording in seconds.
type silences struct {
	lead, tail float64
	gaps       []float64 // after each sentence but the last
}

// recordingOf returns a recording of sentences with silences in it and a noise of a level in dB of full scale.
func recordingOf(said []alignment.Reference, s silences, level float64) alignment.Reference {
	r := &tape{Sound: alignment.Sound{Rate: said[0].Sound.Rate}}
	r.pause(s.lead)
	for i, sentence := range said {
		r.copy(sentence)
		if i < len(s.gaps) {
			r.pause(s.gaps[i])
		}
	}
	r.pause(s.tail)
	r.noise(level)
	return alignment.Reference(*r)
}

// tape is a recording to which more is appended.
type tape alignment.Reference

func (r *tape) pause(seconds float64) {
	r.Sound.Samples = append(r.Sound.Samples, make([]int16, int(seconds*float64(r.Sound.Rate)))...)
}

// noise adds noise of a level in dB of full scale.
func (r *tape) noise(level float64) {
	random, strength := rand.New(rand.NewPCG(5, 6)), math.Pow(10, level/20)*math.MaxInt16
	for i, sample := range r.Sound.Samples {
		noisy := float64(sample) + strength*random.NormFloat64()
		r.Sound.Samples[i] = int16(min(max(noisy, math.MinInt16), math.MaxInt16))
	}
}

func (r *tape) copy(of alignment.Reference) {
	moved := r.Sound.Seconds()
	for _, word := range of.Words {
		r.Words = append(r.Words, alignment.Word{Text: word.Text, Start: word.Start + moved, End: word.End + moved})
	}
	r.Sound.Samples = append(r.Sound.Samples, of.Sound.Samples...)
}

func say(t *testing.T, engine speech.Engine, voice string, texts []string) (said []alignment.Reference) {
	t.Helper()
	speaker, err := new(speech.Catalogue).Find(voice)
	require.NoError(t, err)
	for _, text := range texts {
		job := speech.Job{Voice: speaker, Language: "en-us", Speed: 1}
		reference, err := RenderAs(t.Context(), engine, job, text)
		require.NoError(t, err)
		said = append(said, reference)
	}
	return said
}

// silenceTable has the silences of recordings by name.
func silenceTable() map[string]silences {
	table := map[string]silences{
		"all": {lead: 30, tail: 40, gaps: []float64{8, 60, 20}}, "a lead of 60 s": {lead: 60},
		"mostly silence": {lead: 200, tail: 200, gaps: []float64{60}},
	}
	if !testing.Short() {
		maps.Copy(table, map[string]silences{
			"none": {}, "a tail of 60 s": {tail: 60}, "a gap of 8 s": {gaps: []float64{0, 8}},
			"a gap of 60 s": {gaps: []float64{0, 60}},
		})
	}
	return table
}

// No word is found farther than a quarter of a second from its place, for any length and place of silences. Each voice
// is combined with each silence and, in turn, with each noise.
func TestSilences(t *testing.T) {
	engine, flite := start(t, workertest.Command(binary)), start(t, workertest.Flite(binary))
	voices, noises := []string{"leah", "zeke"}, []float64{-90, -60, -40}
	if testing.Short() {
		voices, noises = voices[:1], noises[1:2]
	}
	table := silenceTable()
	for v, voice := range voices {
		said := say(t, flite, voice, sentences())
		for i, name := range slices.Sorted(maps.Keys(table)) {
			noise := noises[(i+v)%len(noises)]
			recording := recordingOf(said, table[name], noise)
			words, err := AlignSound(t.Context(), engine, recording.Sound, text(), speech.AutoLanguage)
			require.NoError(t, err, "%s, %s", voice, name)
			require.Len(t, words, len(recording.Words))
			for i, want := range recording.Words {
				require.InDelta(t, want.Start, words[i].Start, 0.25, "%s, %s, %v: start of word %d", voice, name, noise, i)
				require.InDelta(t, want.End, words[i].End, 0.25, "%s, %s, %v: end of word %d", voice, name, noise, i)
			}
		}
	}
}

func text() string { return strings.Join(sentences(), " ") }

// A text that is not in the recording is refused, and so are noise and a repeated text that is spoken only once.
func TestOtherTexts(t *testing.T) {
	engine, flite := start(t, workertest.Command(binary)), start(t, workertest.Flite(binary))
	said := say(t, flite, "leah", sentences())
	recording := recordingOf(said, silences{gaps: []float64{1, 2, 1}}, -60).Sound
	hiss := &tape{Sound: alignment.Sound{Rate: recording.Rate}}
	hiss.pause(20)
	hiss.noise(-20)
	noise := hiss.Sound
	twice := recordingOf(append(slices.Clone(said), said...), silences{}, -60).Sound
	const other = "A good map, strong shoes and a little patience are all you really need. Twenty students from five " +
		"countries built this robot during their summer holidays. Her grandfather repaired watches in a tiny shop " +
		"behind the central station. When the film was over, nobody spoke, and some people wiped their eyes."
	for name, c := range map[string]struct {
		sound alignment.Sound
		text  string
	}{
		"another text": {recording, other}, "another sentence": {said[0].Sound, sentences()[3]},
		"the text twice": {recording, text() + " " + text()}, "the recording twice": {twice, text()},
	} {
		_, err := AlignSound(t.Context(), engine, c.sound, c.text, "en-us")
		var refused *alignment.OtherTextError
		require.ErrorAs(t, err, &refused, name)
		require.Contains(t, refused.Error(), "s of speech were found", name)
	}

	// each sentence is recognised, and most of the others are not taken for it
	refusals := 0
	for i, sound := range said {
		for j, sentence := range sentences() {
			_, err := AlignSound(t.Context(), engine, sound.Sound, sentence, "en-us")
			if i == j {
				require.NoError(t, err, "sentence %d", i)
			} else if errors.As(err, new(*alignment.OtherTextError)) {
				refusals++
			}
		}
	}
	require.GreaterOrEqual(t, refusals, 10, "of 12")

	_, err := AlignSound(t.Context(), engine, noise, text(), "en-us")
	require.ErrorIs(t, err, alignment.ErrNoSpeech)

	// but not if a few words are missing or were added
	words := strings.Fields(text())
	for name, changed := range map[string][]string{
		"a few missing": slices.Delete(slices.Clone(words), 10, 14),
		"a few added":   slices.Insert(slices.Clone(words), 10, "and", "so", "on"),
	} {
		_, err := AlignSound(t.Context(), engine, recording, strings.Join(changed, " "), "en-us")
		require.NoError(t, err, name)
	}
}
