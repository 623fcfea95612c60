package speech

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/process/panics"
	"github.com/recital-tts/recital/internal/speech/frontend"
)

// maxSpoken is the number of bytes of spoken text that every engine accepts in a job. No segment comes near it.
const maxSpoken = 8 << 10

// WithFrontEnd returns an engine that speaks the spoken form of a job's text. Marks keep their positions in the written
// text. Without a reader, Japanese is left as it is written.
func WithFrontEnd(engine Engine, japanese JapaneseReader) Engine { return newSpoken(engine, japanese) }

func newSpoken(engine Engine, japanese JapaneseReader) spoken {
	frontend.Prepare()
	return spoken{engine, true, japanese}
}

// spoken is an engine behind the front end.
type spoken struct {
	Engine
	manyLanguages bool           // it speaks each run of a text in its own language
	japanese      JapaneseReader // nil if there is none
}

// Speak implements Engine. If the front end panics, this text alone fails.
func (s spoken) Speak(ctx context.Context, job Job) (_ Utterance, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w\n%s", panics.Error("reading a text", cause), debug.Stack())
		}
	}()
	spans := s.spansOf(ctx, job.Text, job.Language, s.given(ctx, job)...)
	text := frontend.Spoken(spans)
	if len(text) > maxSpoken {
		return s.Engine.Speak(ctx, job)
	}
	job.Sounds = soundsOf(spans)
	if text == "" {
		text, job.Phrases = " ", nil
	}
	same := text == job.Text
	if !same {
		job.Phrases = spokenPhrases(job.Phrases, spans)
	}
	job.Text = text
	job.Phrases = phrasesByLanguage(job.Phrases, spans, job.Language)
	pause(&job, spans)
	utterance, err := s.Engine.Speak(ctx, job)
	if err != nil || same {
		return utterance, err
	}
	return &writtenUtterance{utterance, writtenPlaces(spans)}, nil
}

// pause sets the pauses of a job's clauses. A sentence that continues in the next segment ends with a comma, so that it
// does not sound finished.
func pause(job *Job, spans []frontend.Span) {
	text, found := clausesOf(spans)
	if text == "" || len(found) == 0 {
		return
	}
	if r := []rune(text); job.Continues && unicode.IsSpace(r[len(r)-1]) && len(job.Sounds) == 0 {
		r[len(r)-1] = ','
		text = string(r)
	}
	job.Text = text
	job.Phrases = pausedPhrases(job.Phrases, found, utf8.RuneCountInString(text))
}

func (s spoken) spansOf(ctx context.Context, text, language string, given ...frontend.Reading) []frontend.Span {
	spans := frontend.Spans(text, language, given...)
	if s.manyLanguages {
		s.readFlags(ctx, spans)
		spans = s.inKana(ctx, inTheirLanguages(spans, language))
	}
	return spans
}

// readFlags spells the names of flags in Chinese and Japanese like the text around them.
func (s spoken) readFlags(ctx context.Context, spans []frontend.Span) {
	for i, span := range spans {
		if span.Kind == frontend.Emoji && (span.Language == mandarin || span.Language == kana) {
			spans[i].Spoken = frontend.Spoken(s.spansOf(ctx, span.Spoken, span.Language))
		}
	}
}

// given returns the readings of a job in their spoken form.
func (s spoken) given(ctx context.Context, job Job) (given []frontend.Reading) {
	for _, r := range job.Readings {
		reading := frontend.Reading{Start: r.Start, End: r.End, Language: r.Language}
		switch language := cmp.Or(r.Language, job.Language); {
		case r.IPA != "":
			reading.Spoken, reading.Phonemes = apart(r.IPA, job.Text[:r.Start], job.Text[r.End:]), true
		case r.Class == "":
			reading.Spoken = frontend.Spoken(s.spansOf(ctx, r.Alias, language))
		default:
			reading.Spoken, _ = frontend.SayAs(job.Text[r.Start:r.End], language, r.Class, r.Format)
		}
		if strings.TrimSpace(reading.Spoken) != "" {
			given = append(given, reading)
		}
	}
	return given
}

// apart separates a word from its neighbours by spaces.
func apart(word, before, after string) string {
	if r, _ := utf8.DecodeLastRuneInString(before); before != "" && !unicode.IsSpace(r) {
		word = " " + word
	}
	r, _ := utf8.DecodeRuneInString(after)
	closes := isCloser(r) && r != '\'' && r != '’'
	if after != "" && !unicode.IsSpace(r) && !isSentenceMark(r) && !isClauseMark(r) && !closes {
		word += " "
	}
	return word
}

// soundsOf returns the parts of the spoken text that are phonemes.
func soundsOf(spans []frontend.Span) (sounds []Sound) {
	at := 0
	for _, s := range spans {
		n := utf8.RuneCountInString(s.Spoken)
		if s.Kind == frontend.Phonemes {
			sounds = append(sounds, Sound{Start: at, Runes: n})
		}
		at += n
	}
	return sounds
}

// writtenUtterance is an utterance with marks at positions of the written text.
type writtenUtterance struct {
	Utterance
	written []int // for each code point of the spoken text, and for its end
}

// Marks implements Utterance.
func (u *writtenUtterance) Marks() []Mark {
	marks := slices.Clone(u.Utterance.Marks())
	for i := range marks {
		if at := marks[i].Rune; !marks[i].Silence && marks[i].Phoneme == "" {
			marks[i].Rune = u.written[min(max(at, 0), len(u.written)-1)]
		}
	}
	return marks
}

// writtenPlaces returns the code point of the written text for each code point of the spoken one, and for its end. A
// space has the position of the character after it.
func writtenPlaces(spans []frontend.Span) []int {
	var places []int
	at := 0
	for _, s := range spans {
		if s.Kind == frontend.Plain {
			for i := range utf8.RuneCountInString(s.Original) {
				places = append(places, at+i)
			}
		} else {
			places = append(places, placesOfWords(s, at)...)
		}
		at += utf8.RuneCountInString(s.Original)
	}
	places = append(places, at)
	moveSpaces(places, frontend.Spoken(spans))
	return places
}

// placesOfWords distributes the spoken words evenly over the speakable tokens of a span that begins at a code point: in
// "50%", "fifty" is the number and "percent" the symbol.
func placesOfWords(s frontend.Span, at int) []int {
	var starts []int
	for _, t := range tokenize(s.Original) {
		if t.kind >= tokenSymbol {
			starts = append(starts, at)
		}
		at += t.runes
	}
	if len(starts) == 0 {
		starts = []int{at - utf8.RuneCountInString(s.Original)}
	}
	words := len(strings.Fields(s.Spoken))
	var places []int
	word, between := -1, true
	for _, r := range s.Spoken {
		if between && !unicode.IsSpace(r) {
			word++
		}
		between = unicode.IsSpace(r)
		places = append(places, starts[max(word, 0)*len(starts)/max(words, 1)])
	}
	return places
}

// moveSpaces gives each space the place of the character after it.
func moveSpaces(places []int, spoken string) {
	at, spaces := 0, 0
	for _, r := range spoken {
		if unicode.IsSpace(r) {
			spaces++
		} else {
			for ; spaces > 0; spaces-- {
				places[at-spaces] = places[at]
			}
		}
		at++
	}
}

// spokenPhrases returns phrases with their lengths in the spoken text. Only plain spans are divided. An empty phrase is
// dropped.
func spokenPhrases(phrases []Phrase, spans []frontend.Span) []Phrase {
	var out []Phrase
	written, spoken, done := 0, 0, 0 // code points up to the next span, and of the phrases before
	end := 0                         // of the phrase in the written text
	for _, p := range phrases {
		end += p.Runes
		for len(spans) > 0 && written < end {
			size := utf8.RuneCountInString(spans[0].Original)
			if spans[0].Kind == frontend.Plain && written+size > end {
				break
			}
			written += size
			spoken += utf8.RuneCountInString(spans[0].Spoken)
			spans = spans[1:]
		}
		until := spoken + max(end-written, 0)
		if p.Runes = until - done; p.Runes > 0 {
			out = append(out, p)
		}
		done = until
	}
	if last := len(out) - 1; last >= 0 { // the spelled end of a long word may have no written characters left
		out[last].Runes += utf8.RuneCountInString(frontend.Spoken(spans))
	}
	return out
}
