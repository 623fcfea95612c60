package flite

import (
	"slices"
	"unicode"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/ipa"
)

// soundByte stands for each character of a word that is spoken as phones. toASCII never returns it.
const soundByte = 1

// putSounds replaces the words in the International Phonetic Alphabet in a part of a job's text that begins at a code
// point, and returns the phones of each. A word with a sound that the engine lacks is silent.
func putSounds(ascii []byte, text []rune, start int, sounds []speech.Sound) (phones []string) {
	for _, s := range sounds {
		from, to := max(s.Start-start, 0), min(s.Start+s.Runes-start, len(ascii))
		for from < to {
			n := slices.IndexFunc(text[from:to], unicode.IsSpace)
			if n < 0 {
				n = to - from
			}
			fill := byte(' ')
			if said, err := ipa.Flite(string(text[from : from+n])); err == nil {
				fill, phones = soundByte, append(phones, said)
			}
			for i := from; i < from+n; i++ {
				ascii[i] = fill
			}
			from += n + 1
		}
	}
	return phones
}
