// Package enginetest is the contract suite of speech.Engine: every engine passes Run.
package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
)

// Config describes the engine under test.
type Config struct {
	// Open returns an engine with this many workers. The suite does not close it.
	Open      func(t *testing.T, workers int) speech.Engine
	Languages []string // engine languages that it supports; includes "en-us"
	// Voices are the engine's voices; none means the system voices.
	Voices []speech.Voice
	// FixedPitch means that the engine changes neither the pitch of a phrase nor its range.
	FixedPitch bool
}

func (c Config) voices() []speech.Voice {
	if len(c.Voices) == 0 {
		return speech.Voices()
	}
	return c.Voices
}

// job returns a job for a text in English with the first voice.
func (c Config) job(text string) speech.Job {
	job := Job(text)
	job.Voice = c.voices()[0]
	return job
}

// Sentence has 20 words, two clauses and a pause.
const Sentence = "The quick brown fox jumps over the lazy dog, and then it rests in the warm sun for a while."

// Speech is the complete result of a job.
type Speech struct {
	PCM    []byte
	Marks  []speech.Mark
	Pieces int
}

// Seconds returns the duration of the speech.
func (s Speech) Seconds(e speech.Engine) float64 {
	return float64(len(s.PCM)/2) / float64(e.SampleRate())
}

// Job returns a job for a text in English with the first system voice.
func Job(text string) speech.Job {
	return speech.Job{Text: text, Voice: speech.Voices()[0], Language: "en-us", Speed: 1}
}

// Speak reads a complete job.
func Speak(ctx context.Context, e speech.Engine, job speech.Job) (Speech, error) {
	u, err := e.Speak(ctx, job)
	if err != nil {
		return Speech{}, err
	}
	defer u.Close()
	return read(ctx, u)
}

func read(ctx context.Context, u speech.Utterance) (s Speech, err error) {
	for {
		pcm, err := u.Next(ctx)
		if errors.Is(err, io.EOF) {
			s.Marks = u.Marks()
			return s, nil
		}
		if err != nil {
			return s, err
		}
		s.PCM = append(s.PCM, pcm...)
		s.Pieces++
	}
}

func mustSpeak(t *testing.T, e speech.Engine, job speech.Job) Speech {
	t.Helper()
	s, err := Speak(t.Context(), e, job)
	require.NoError(t, err)
	return s
}

// Run runs the contract suite.
func Run(t *testing.T, config Config) {
	tests := []struct {
		name string
		run  func(*testing.T, Config)
	}{
		{"speech has samples and marks inside them", speaks},
		{"every language speaks", speaksLanguages},
		{"voices differ", voicesDiffer},
		{"speed changes the length", speedChangesLength},
		{"a text ends with a pause unless the job has none", pauses},
		{"a phrase is spoken as requested", phrases},
		{"the marks of phrases are at their words", marksOfPhrases},
		{"a phrase may be in another language", phrasesInLanguages},
		{"the same job gives the same bytes whatever ran before", isDeterministic},
		{"jobs outside of the lists are refused", refuses},
		{"no text stops the engine", survivesTexts},
		{"a slow reader occupies no worker", slowReader},
		{"a job ends with its context", endsWithContext},
		{"a closed utterance frees its worker", closes},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, config) })
	}
}

func speaks(t *testing.T, config Config) {
	e := config.Open(t, 1)
	s := mustSpeak(t, e, config.job(Sentence))

	require.Greater(t, s.Seconds(e), 2.0)
	require.Less(t, s.Seconds(e), 15.0)
	require.Zero(t, len(s.PCM)%2)
	require.NotEqual(t, make([]byte, len(s.PCM)), s.PCM, "silence")
	require.Greater(t, s.Pieces, 1, "samples come while the job runs")
	words, last := 0, 0
	for _, m := range s.Marks {
		require.GreaterOrEqual(t, m.Sample, last)
		require.LessOrEqual(t, m.Sample, len(s.PCM)/2)
		last = m.Sample
		if !m.Silence {
			require.Less(t, m.Rune, len(Sentence))
			words++
		}
	}
	require.GreaterOrEqual(t, words, 10, "marks of the words")
}

func phrasesInLanguages(t *testing.T, config Config) {
	if !slices.Contains(config.Languages, "de") {
		t.Skip("it speaks one language")
	}
	e := config.Open(t, 1)
	const text = "Taxi 12"
	german := config.job(text)
	german.Language = "de"
	phrase := speech.OwnPhrase(len(text))
	phrase.Language = "de"
	within := config.job(text)
	within.Phrases = []speech.Phrase{phrase}
	require.Equal(t, mustSpeak(t, e, german).PCM, mustSpeak(t, e, within).PCM)
	require.NotEqual(t, mustSpeak(t, e, config.job(text)).PCM, mustSpeak(t, e, within).PCM)
	within.Phrases[0].Language = "../de"
	_, err := Speak(t.Context(), e, within)
	require.Error(t, err)
}

func speaksLanguages(t *testing.T, config Config) {
	e := config.Open(t, 2)
	require.Contains(t, config.Languages, "en-us")
	for _, language := range config.Languages {
		job := config.job("Taxi 12")
		job.Language = language
		s := mustSpeak(t, e, job)
		require.Greater(t, s.Seconds(e), 0.3, language)
	}
}

func voicesDiffer(t *testing.T, config Config) {
	e := config.Open(t, 2)
	seen := map[string]string{}
	for _, voice := range config.voices() {
		job := config.job(Sentence)
		job.Voice = voice
		pcm := string(mustSpeak(t, e, job).PCM)
		require.Empty(t, seen[pcm], "%s sounds like another voice", voice.ID)
		seen[pcm] = voice.ID
	}
}

func speedChangesLength(t *testing.T, config Config) {
	e := config.Open(t, 1)
	normal := mustSpeak(t, e, config.job(Sentence)).Seconds(e)
	for _, speed := range []float64{speech.MinSpeed, 0.4, 0.5, 0.8, 1.3, speech.MaxSpeed} {
		job := config.job(Sentence)
		job.Speed = speed
		s := mustSpeak(t, e, job)
		require.InEpsilon(t, normal/speed, s.Seconds(e), 0.2, "speed %v", speed)
		require.Greater(t, s.Marks[len(s.Marks)-1].Sample, len(s.PCM)/3, "marks follow the speed %v", speed)
	}
}

func pauses(t *testing.T, config Config) {
	e := config.Open(t, 1)
	inner, last := config.job("This is the end."), config.job("This is the end.")
	last.NoPause = true
	require.Greater(t, mustSpeak(t, e, inner).Seconds(e), mustSpeak(t, e, last).Seconds(e)+0.1)
}

// phrase returns one phrase for all of Sentence, modified by change.
func phrase(change func(*speech.Phrase)) []speech.Phrase {
	p := speech.OwnPhrase(len(Sentence))
	change(&p)
	return []speech.Phrase{p}
}

func phrases(t *testing.T, config Config) {
	e := config.Open(t, 2)
	say := func(change func(*speech.Phrase)) Speech {
		job := config.job(Sentence)
		job.Phrases = phrase(change)
		return mustSpeak(t, e, job)
	}
	own := mustSpeak(t, e, config.job(Sentence))
	require.Equal(t, own.PCM, say(func(*speech.Phrase) {}).PCM, "in the voice's own way")

	if !config.FixedPitch {
		changesPitch(t, own, e.SampleRate(), say)
	}
	for _, rate := range []float64{speech.MinRate, speech.MaxRate} {
		require.InEpsilon(t, own.Seconds(e)/rate, say(func(p *speech.Phrase) { p.Rate = rate }).Seconds(e), 0.1, "rate %v",
			rate)
	}
	for _, decibels := range []float64{-speech.MaxGain, speech.MaxGain} {
		ratio := loudness(say(func(p *speech.Phrase) { p.Gain = decibels }).PCM) / loudness(own.PCM)
		require.InDelta(t, decibels, 20*math.Log10(ratio), 1.2, "gain %v", decibels)
	}
	short := say(func(p *speech.Phrase) { p.Pause = 0 })
	long := say(func(p *speech.Phrase) { p.Pause = 1 })
	// the inaudible end of the words counts as part of the pause
	require.InDelta(t, short.Seconds(e)+1, long.Seconds(e), 0.03, "a pause of a second")
	require.GreaterOrEqual(t, say(func(p *speech.Phrase) { p.Gap = 0.05 }).Seconds(e), own.Seconds(e), "gaps")
}

func changesPitch(t *testing.T, own Speech, rate int, say func(func(*speech.Phrase)) Speech) {
	for _, semitones := range []float64{-4, 4} {
		changed := MedianPitch(say(func(p *speech.Phrase) { p.Pitch = semitones }).PCM, rate)
		require.InDelta(t, MedianPitch(own.PCM, rate)+semitones, changed, 1.5, "pitch %v", semitones)
	}
	spread := func(s Speech) float64 { return pitch(s.PCM, rate, 0.9) - pitch(s.PCM, rate, 0.1) }
	require.Less(t, spread(say(func(p *speech.Phrase) { p.Range = 0 })), 0.7*spread(own), "monotone")
	require.Greater(t, spread(say(func(p *speech.Phrase) { p.Range = 2 })), 1.2*spread(own), "lively")
}

func marksOfPhrases(t *testing.T, config Config) {
	e := config.Open(t, 1)
	const first, second = "One cold night, ", "the second half follows."
	job := config.job(first + second)
	a, b := speech.OwnPhrase(len(first)), speech.OwnPhrase(len(second))
	a.Pause, b.Pitch = 1.5, 2
	job.Phrases = []speech.Phrase{a, b}
	s := mustSpeak(t, e, job)

	want := strings.Index(job.Text, "the")
	silence := -1
	for _, m := range s.Marks {
		if m.Silence && silence < 0 {
			silence = m.Sample
		}
		if !m.Silence && m.Rune >= want {
			require.Equal(t, want, m.Rune)
			require.InDelta(t, 1.5, float64(m.Sample-silence)/float64(e.SampleRate()), 0.3, "the pause is between the phrases")
			return
		}
	}
	t.Fatal("no mark for the second phrase")
}

// isDeterministic runs several jobs in order on one worker, and then all of them several times, in random order on two
// concurrent workers.
func isDeterministic(t *testing.T, config Config) {
	jobs := variedJobs(config)
	alone := config.Open(t, 1)
	rounds := 3
	if testing.Short() {
		rounds = 2
		jobs = jobs[:10]
	}
	want := make([]Speech, len(jobs))
	for i, job := range jobs {
		want[i] = mustSpeak(t, alone, job)
	}
	random := rand.New(rand.NewPCG(1, 2))
	e := config.Open(t, 2)
	order := make(chan int)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for i := range order {
				got, err := Speak(t.Context(), e, jobs[i])
				if err != nil || !bytes.Equal(want[i].PCM, got.PCM) || fmt.Sprint(want[i].Marks) != fmt.Sprint(got.Marks) {
					t.Errorf("job %d (%s, %s) came out differently: %v", i, jobs[i].Language, jobs[i].Voice.ID, err)
				}
			}
		})
	}
	for range rounds {
		for _, i := range random.Perm(len(jobs)) {
			order <- i
		}
	}
	close(order)
	readers.Wait()
}

func variedJobs(config Config) []speech.Job {
	texts := []string{
		Sentence, "Hello.", "1,234,567 and 3.14!", "Why? Because… (it is) \"so\".", "Привет, мир. 你好 😀",
	}
	random := rand.New(rand.NewPCG(3, 4))
	jobs := make([]speech.Job, 0, 60)
	for i := range cap(jobs) {
		jobs = append(jobs, speech.Job{
			Text:     texts[i%len(texts)],
			Voice:    config.voices()[i%len(config.voices())],
			Language: config.Languages[random.IntN(len(config.Languages))],
			Speed:    []float64{0.3, 0.7, 1, 1.5, 2}[random.IntN(5)],
			NoPause:  random.IntN(2) == 0,
		})
		if i%3 == 0 {
			p := speech.OwnPhrase(utf8.RuneCountInString(jobs[i].Text))
			p.Pitch, p.Range, p.Rate, p.Gain = 2, 1.5, 0.9, -2
			jobs[i].Phrases = []speech.Phrase{p}
		}
	}
	return jobs
}

func refuses(t *testing.T, config Config) {
	e := config.Open(t, 1)
	tests := map[string]func(*speech.Job){
		"an unknown language":      func(j *speech.Job) { j.Language = "xx" },
		"a path as language":       func(j *speech.Job) { j.Language = "../../../../etc/passwd" },
		"no language":              func(j *speech.Job) { j.Language = "" },
		"an unknown variant":       func(j *speech.Job) { j.Voice.Variant = "robot" },
		"a path as variant":        func(j *speech.Job) { j.Voice.Variant = "../../../../../etc/passwd" },
		"a very long variant":      func(j *speech.Job) { j.Voice.Variant = strings.Repeat("f", 5000) },
		"no variant":               func(j *speech.Job) { j.Voice.Variant = "" },
		"a speed that is too low":  func(j *speech.Job) { j.Speed = 0.2 },
		"a speed that is too high": func(j *speech.Job) { j.Speed = 2.5 },
		"no speed":                 func(j *speech.Job) { j.Speed = 0 },
		"a text that is too long":  func(j *speech.Job) { j.Text = strings.Repeat("long ", 50_000) },
		"a phrase too high": func(j *speech.Job) {
			j.Phrases = phrase(func(p *speech.Phrase) { p.Pitch = speech.MaxPitch + 1 })
		},
		"a phrase too slow":  func(j *speech.Job) { j.Phrases = phrase(func(p *speech.Phrase) { p.Rate = 0 }) },
		"a phrase too short": func(j *speech.Job) { j.Phrases = phrase(func(p *speech.Phrase) { p.Runes-- }) },
		"too many phrases":   func(j *speech.Job) { j.Phrases = make([]speech.Phrase, 1000) },
	}
	for name, spoil := range tests {
		job := config.job(Sentence)
		spoil(&job)
		_, err := Speak(t.Context(), e, job)
		require.ErrorIs(t, err, speech.ErrRefused, name)
	}
	mustSpeak(t, e, config.job(Sentence))
}

func survivesTexts(t *testing.T, config Config) {
	e := config.Open(t, 2)
	texts := []string{
		"", " ", "\n\n\n", "\x00", "a\x00b", "\x01", "\x0150P hello", "\x1b[31m", "...", "?!", "😀", "😀😀 👩‍👩‍👧‍👦", "\ufeffhi",
		"\ue000",
		"[[h@'loU]]", "<speak>hi</speak>", "<audio src=\"/etc/passwd\"/>", "&amp;", "a\u0301\u0301\u0301", "\u202eabc",
		strings.Repeat("a", 1000), strings.Repeat("9", 300), strings.Repeat("é", 500), strings.Repeat("你", 400),
		strings.Repeat("a\u0301", 300), strings.Repeat("- ", 200), strings.Repeat("😀", 400), strings.Repeat("s'", 200),
		"שלום عليكم", "x" + strings.Repeat("\u0301", 300), "\ufffd\ufffd",
	}
	languages := []string{"en-us", "ja", "hi", "ar", "ru"}
	if testing.Short() {
		languages = languages[:1]
	}
	for _, language := range languages {
		for _, text := range texts {
			job := config.job(text)
			if testing.Short() {
				job.Speed = speech.MaxSpeed // the shortest audio of a long text
			}
			if job.Language = language; !slices.Contains(config.Languages, language) {
				continue
			}
			_, err := Speak(t.Context(), e, job)
			require.NoError(t, err, "%s %q", language, text)
		}
	}
	random := rand.New(rand.NewPCG(5, 6))
	hostile := 60
	if testing.Short() {
		hostile = 5
	}
	for range hostile {
		job := config.job(HostileText(random))
		job.Speed = speech.MaxSpeed
		job.Language = pick(random, config.Languages...)
		if _, err := Speak(t.Context(), e, job); err != nil && !errors.Is(err, speech.ErrRefused) {
			require.ErrorIs(t, err, speech.ErrEngineFailed, "%s %q", job.Language, job.Text)
		}
	}
	mustSpeak(t, e, config.job(Sentence))
}

func slowReader(t *testing.T, config Config) {
	e := config.Open(t, 1)
	unread := make([]speech.Utterance, 5)
	for i := range unread {
		u, err := e.Speak(t.Context(), config.job(Sentence))
		require.NoError(t, err)
		defer u.Close()
		unread[i] = u
	}
	want := mustSpeak(t, e, config.job(Sentence))
	for _, u := range unread {
		got, err := read(t.Context(), u)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want.PCM, got.PCM))
	}
}

func endsWithContext(t *testing.T, config Config) {
	e := config.Open(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	u, err := e.Speak(ctx, config.job(longText))
	require.NoError(t, err)
	defer u.Close()
	cancel()
	for err == nil {
		_, err = u.Next(t.Context())
	}
	require.ErrorIs(t, err, context.Canceled)

	_, err = e.Speak(ctx, config.job(Sentence))
	require.ErrorIs(t, err, context.Canceled)
	mustSpeak(t, e, config.job(Sentence))
}

// longText takes every engine much longer than the tests take to abandon it.
var longText = strings.Repeat("nine hundred and ninety-nine thousand, ", 50)

func closes(t *testing.T, config Config) {
	e := config.Open(t, 1)
	for range 5 {
		u, err := e.Speak(t.Context(), config.job(longText))
		require.NoError(t, err)
		_, err = u.Next(t.Context())
		require.NoError(t, err)
		u.Close()
		u.Close()
		_, err = u.Next(t.Context())
		require.ErrorIs(t, err, context.Canceled)
	}
	mustSpeak(t, e, config.job(Sentence))
}
