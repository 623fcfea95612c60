// Package rendered aligns uploads with the engine's own rendering of their text.
package rendered

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/alignment"
	"github.com/recital-tts/recital/internal/speech/audio"
)

// longest is the maximum length of a rendering. The texts of recordings of up to ten minutes stay below it.
const longest = 20 * time.Minute

// Render returns the engine's rendering of a text with the places of its words. The language is an engine language or
// speech.AutoLanguage. Errors: alignment.ErrNoWords, alignment.ErrTooMuchText, and the engine's.
func Render(
	ctx context.Context, engine speech.Engine, text, language string, speed float64,
) (alignment.Reference, error) {
	if language == speech.AutoLanguage {
		language = speech.DetectLanguage(text)
	}
	job := speech.Job{Voice: speech.Voices()[0], Language: language, Speed: speed, Phonemes: true}
	return RenderAs(ctx, engine, job, text)
}

// RenderAs is Render with the other parameters from a job.
func RenderAs(ctx context.Context, engine speech.Engine, job speech.Job, text string) (alignment.Reference, error) {
	r := alignment.Reference{Sound: alignment.Sound{Rate: engine.SampleRate()}}
	for _, segment := range speech.Split(text) {
		job.Text = segment.Text
		if err := add(ctx, &r, engine, job); err != nil {
			return alignment.Reference{}, fmt.Errorf("rendering a text: %w", err)
		}
		if r.Sound.Seconds() > longest.Seconds() {
			return alignment.Reference{}, alignment.ErrTooMuchText
		}
	}
	if len(r.Words) == 0 {
		return alignment.Reference{}, alignment.ErrNoWords
	}
	return r, nil
}

// add appends the rendering of a segment.
func add(ctx context.Context, r *alignment.Reference, engine speech.Engine, job speech.Job) error {
	pcm, marks, err := speech.Synthesise(ctx, engine, job)
	if err != nil {
		return err
	}
	offset := r.Sound.Seconds()
	r.Sound.Samples = audio.AppendSamples(r.Sound.Samples, pcm)
	for _, timing := range speech.Timings(job.Text, marks, len(pcm)/2, r.Sound.Rate) {
		if strings.ContainsFunc(timing.Text, isOfWord) {
			start := offset + timing.Start
			word := alignment.Word{Text: timing.Text, Start: start, End: start + timing.Duration}
			word.Phonemes = phonemesOf(word, marks, offset, r.Sound.Rate)
			r.Words = append(r.Words, word)
		}
	}
	return nil
}

// rounding is the maximum rounding of a word's place, in seconds.
const rounding = 0.002

// phonemesOf returns the phonemes that begin within a word. Each lasts until the next one.
func phonemesOf(word alignment.Word, marks []speech.Mark, offset float64, rate int) (phonemes []alignment.Phoneme) {
	for _, m := range marks {
		at := offset + float64(m.Sample)/float64(rate)
		if m.Phoneme == "" || m.Phoneme[0] == pause || at < word.Start-rounding || at >= word.End-rounding {
			continue
		}
		if last := len(phonemes) - 1; last >= 0 {
			phonemes[last].End = at
		}
		phonemes = append(phonemes, alignment.Phoneme{Name: m.Phoneme, Start: max(at, word.Start), End: word.End})
	}
	return phonemes
}

// pause begins the names of the engine's pauses.
const pause = '_'

func isOfWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
