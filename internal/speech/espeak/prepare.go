package espeak

import (
	"cmp"
	"errors"
	"math"
	"strings"
	"unicode"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
)

// normalRate is speed 1 in words per minute. espeak-ng accepts 80 to 450.
const normalRate = 175

// normalVolume is a percentage of espeak-ng's own volume, at which loud languages reach full scale.
const normalVolume = 40

// faint is the default sample value below which the end of a part is inaudible.
const faint = 60

// wordGapUnit is espeak-ng's unit of word gaps in seconds.
const wordGapUnit = 0.01

// task is a checked job with at least one phrase.
type task struct {
	engineproto.Job
	text []rune
}

// prepare checks all input of espeak-ng: SetVoiceByName accepts any name, overflows a buffer on long ones and opens any
// file by its path.
func prepare(job engineproto.Job) (task, error) {
	if !knowsLanguages(job) {
		return task{}, errors.New("the language is not on the list")
	}
	if !speech.IsVariant(job.Variant) {
		return task{}, errors.New("the voice is not on the list")
	}
	t := task{Job: job, text: []rune(job.Text)}
	t.Faint = cmp.Or(job.Faint, faint)
	t.Careful = job.Careful || isRisky(job.Language, withoutSounds(t.text, job.Sounds))
	if len(t.Phrases) == 0 {
		t.Phrases = []speech.Phrase{speech.OwnPhrase(len(t.text))}
	}
	return t, nil
}

func knowsLanguages(job engineproto.Job) bool {
	_, known := languageFiles[job.Language]
	for _, p := range job.Phrases {
		if _, knowsToo := languageFiles[p.Language]; p.Language != "" && !knowsToo {
			return false
		}
	}
	return known
}

// order returns an order with a part for each phrase.
func (t task) order(sampleRate int) (order, error) {
	var o order
	at := 0
	voices := map[string]voice{}
	for i, p := range t.Phrases {
		language := cmp.Or(p.Language, t.Language)
		voice, known := voices[language]
		if !known {
			var err error
			if voice, err = t.voice(language); err != nil {
				return order{}, err
			}
			voices[language] = voice
		}
		last := i == len(t.Phrases)-1
		o.parts = append(o.parts, t.part(voice, p, at, last, sampleRate))
		at += p.Runes
	}
	return o, nil
}

func (t task) part(voice voice, p speech.Phrase, start int, last bool, sampleRate int) part {
	out := part{
		start:    start,
		voice:    voice,
		rate:     int(math.Round(normalRate * t.Speed * p.Rate)),
		pitch:    pitchValue(p.Pitch),
		width:    int(math.Round(50 * p.Range)),
		volume:   int(math.Round(normalVolume * math.Pow(10, p.Gain/20))),
		wordGap:  int(math.Round(p.Gap / wordGapUnit)),
		endPause: p.Pause == speech.OwnPause,
		trimmed:  p.Pause != speech.OwnPause,
		faint:    t.Faint,
	}
	if out.trimmed {
		out.silence = int(p.Pause / (t.Speed * p.Rate) * float64(sampleRate))
	}
	if last && t.NoPause {
		out.endPause, out.silence = false, 0
	}
	l := line{language: cmp.Or(p.Language, t.Language)}
	l.add(t.text, start, start+p.Runes, t.Sounds)
	out.text, out.breaks, out.sounds = l.text.String(), l.breaks, l.sounds
	return out
}

// pitchValue converts semitones into espeak-ng's scale, on which 50 steps are an octave.
func pitchValue(semitones float64) int { return int(math.Round(50 + 50*semitones/12)) }

// Limits of the words for espeak-ng. Its word buffer holds 160 bytes, and many of its crashes involve very long words.
const (
	maxWordRunes = 60
	maxWordBytes = 120
)

// cleanText replaces the characters that espeak-ng interprets as commands (control characters, its private use
// characters) with spaces, one for one so that positions remain valid. It cuts very long words and runs of emoji with
// added spaces, and returns the code point indices of these. The names of emoji overflow espeak-ng's word buffer: 400
// emoji in Hindi crashed two of three processes nearly every time, but not always, so a rehearsal proves nothing.
func cleanText(text []rune) (cleaned string, breaks []uint32) {
	var out strings.Builder
	out.Grow(len(text) + 1)
	var position uint32
	runes, bytes := 0, 0 // of the word
	var before rune
	for _, r := range text {
		if !isFit(r) {
			r = ' '
		}
		if unicode.IsSpace(r) {
			runes, bytes = 0, 0
		} else if runes++; runes > maxWordRunes || bytes > maxWordBytes || isPicture(before) && isPicture(r) {
			out.WriteByte(' ')
			breaks = append(breaks, position)
			position++
			runes, bytes = 1, 0
		}
		n, _ := out.WriteRune(r)
		bytes += n
		position++
		before = r
	}
	return out.String(), breaks
}

// isPicture reports whether a code point is an emoji by itself, unlike the letters of flags, which form pairs.
func isPicture(r rune) bool {
	return r >= 0x1F300 && unicode.Is(unicode.So, r)
}

func isFit(r rune) bool {
	switch {
	case r == '\n':
		return true
	case unicode.IsControl(r), unicode.Is(unicode.Co, r), r == unicode.ReplacementChar:
		return false
	case r&0xFFFE == 0xFFFE, r >= 0xFDD0 && r <= 0xFDEF: // noncharacters
		return false
	}
	return true
}
