package espeak

import (
	"slices"
	"strings"
	"unicode"
)

// Limits of the lengths of words and of runs of one punctuation mark in a text that is not risky.
const (
	plainWordRunes  = 40
	plainRepetition = 3
)

// isRisky reports whether a text needs a rehearsal. According to fuzzing, espeak-ng 1.51 crashes on foreign scripts and
// letters (it changes its phoneme table within a clause), very long words, and some combinations in Indic languages. A
// plain text in the language's own letters needs none.
func isRisky(language, text string) bool {
	letters := lettersOf(language)
	if letters == nil {
		return true
	}
	word, repeated := 0, 0
	var previous rune
	for _, r := range text {
		if !isPlain(r, letters) {
			return true
		}
		word, repeated = word+1, repeated+1
		if r == ' ' || r == '\n' {
			word = 0
		}
		if r != previous || r == ' ' {
			repeated = 1
		}
		if word > plainWordRunes || repeated > plainRepetition {
			return true
		}
		previous = r
	}
	return false
}

func isPlain(r rune, letters *unicode.RangeTable) bool {
	switch {
	case r < unicode.MaxASCII && !unicode.IsLetter(r):
		return r >= ' ' || r == '\n'
	case strings.ContainsRune("’‘“”„«»–—…¿¡。，、！？；：「」،؛؟·", r):
		return true
	}
	return unicode.Is(letters, r)
}

// lettersOf returns the letters of plain texts in a language, or nil if every text is risky: plain words in the
// abugidas of India and its neighbours crash espeak-ng, too.
func lettersOf(language string) *unicode.RangeTable {
	switch language {
	case "hi", "mr", "ne", "kok", "bn", "as", "bpy", "pa", "gu", "or", "ta", "te", "kn", "ml", "si", "th", "my", "shn":
		return nil
	case "ar", "fa", "ur", "sd", "ug":
		return letters(0x0620, 0x06FF)
	case "ru", "ru-lv", "uk", "be", "bg", "mk", "ky", "kk", "tt", "ba", "cv", "nog":
		return letters(0x0400, 0x045F, 0x048A, 0x04FF)
	case "sr":
		return letters('A', 'Z', 'a', 'z', 0x00C0, 0x017F, 0x0400, 0x045F)
	case "ka":
		return letters(0x10D0, 0x10FF)
	case "hy", "hyw":
		return letters(0x0531, 0x058F)
	case "am":
		return letters(0x1200, 0x135A)
	case "chr":
		return letters(0x13A0, 0x13F4)
	case "el":
		return letters(0x0386, 0x03CE)
	case "grc":
		return letters(0x0386, 0x03CE, 0x1F00, 0x1FFC)
	case "he":
		return letters(0x05B0, 0x05EA)
	case "ko":
		return letters(0xAC00, 0xD7A3)
	case "ja":
		return letters(0x3041, 0x3096, 0x30A1, 0x30FC, 0x4E00, 0x9FFF)
	case "cmn", "yue", "hak":
		return letters(0x4E00, 0x9FFF)
	default:
		return letters('A', 'Z', 'a', 'z', 0x00C0, 0x024F, 0x1E00, 0x1EFF)
	}
}

// letters returns a table from pairs of first and last letters.
func letters(bounds ...uint16) *unicode.RangeTable {
	table := &unicode.RangeTable{}
	for pair := range slices.Chunk(bounds, 2) {
		table.R16 = append(table.R16, unicode.Range16{Lo: pair[0], Hi: pair[1], Stride: 1})
		if pair[1] <= unicode.MaxLatin1 {
			table.LatinOffset++
		}
	}
	return table
}
