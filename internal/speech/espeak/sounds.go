package espeak

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/ipa"
)

// line is the text of a part for espeak-ng.
type line struct {
	language string
	text     strings.Builder
	breaks   []uint32 // see cleanText
	length   uint32   // code points
	sounds   bool
}

// add adds the code points from start to end of a job's text.
func (l *line) add(text []rune, start, end int, sounds []speech.Sound) {
	l.sounds = slices.ContainsFunc(sounds, func(s speech.Sound) bool { return s.Start < end && s.Start+s.Runes > start })
	for _, s := range sounds {
		from, to := max(s.Start, start), min(s.Start+s.Runes, end)
		if from < to {
			l.addText(text[start:from])
			l.addSounds(text[from:to])
			start = to
		}
	}
	l.addText(text[start:end])
}

// addText adds a client's text. In a line with phonemes, square brackets have a meaning and become round ones.
func (l *line) addText(text []rune) {
	if l.sounds {
		text = slices.Clone(text)
		for i, r := range text {
			switch r {
			case '[':
				text[i] = '('
			case ']':
				text[i] = ')'
			}
		}
	}
	cleaned, breaks := cleanText(text)
	for _, at := range breaks {
		l.breaks = append(l.breaks, l.length+at)
	}
	l.write(cleaned)
}

func (l *line) write(text string) {
	l.text.WriteString(text)
	l.length += uint32(utf8.RuneCountInString(text))
}

// addSounds adds words in the International Phonetic Alphabet. A word with a sound that the language lacks is silent.
func (l *line) addSounds(text []rune) {
	for len(text) > 0 {
		n := slices.IndexFunc(text, unicode.IsSpace)
		if n == 0 {
			l.write(" ")
			text = text[1:]
			continue
		}
		if n < 0 {
			n = len(text)
		}
		l.addWord(text[:n])
		text = text[n:]
	}
}

func (l *line) addWord(word []rune) {
	code := ""
	if mnemonics, err := ipa.Espeak(l.language, string(word)); err == nil {
		code = "[[" + mnemonics + "]]"
	}
	for i := range len(code) - len(word) { // the first ones, so that marks are at the beginning of the word
		l.breaks = append(l.breaks, l.length+uint32(i))
	}
	l.write(code + strings.Repeat(" ", max(0, len(word)-len(code))))
}

// withoutSounds returns a text with spaces in place of its phonemes.
func withoutSounds(text []rune, sounds []speech.Sound) string {
	if len(sounds) == 0 {
		return string(text)
	}
	text = slices.Clone(text)
	for _, s := range sounds {
		for i := s.Start; i < s.Start+s.Runes; i++ {
			text[i] = ' '
		}
	}
	return string(text)
}
