package speech

import (
	"sync"
	"unicode"

	"github.com/recital-tts/recital/internal/speech/langid"
)

// detectRunes is the number of code points that are examined.
const detectRunes = 2000

// latin is the engine language of most texts in Latin letters.
const latin = "en-us"

type scriptLanguage struct {
	script   *unicode.RangeTable
	language string
	weight   int // of one letter; higher if a letter stands for more sound than a Latin one
}

// scripts maps a script to the engine language of most of its texts. Other scripts weigh more than Latin, because their
// engine languages read Latin words within a text, mostly as English, while English spells foreign scripts out.
var scripts = sync.OnceValue(func() []scriptLanguage {
	return []scriptLanguage{
		{unicode.Latin, latin, 1},
		{unicode.Han, "cmn", 3}, {unicode.Hiragana, "ja", 3}, {unicode.Katakana, "ja", 3}, {unicode.Hangul, "ko", 3},
		{unicode.Cyrillic, "ru", 2}, {unicode.Greek, "el", 2}, {unicode.Arabic, "ar", 2}, {unicode.Hebrew, "he", 2},
		{unicode.Armenian, "hy", 2}, {unicode.Georgian, "ka", 2}, {unicode.Cherokee, "chr", 2},
		{unicode.Devanagari, "hi", 2}, {unicode.Bengali, "bn", 2}, {unicode.Gurmukhi, "pa", 2}, {unicode.Gujarati, "gu", 2},
		{unicode.Oriya, "or", 2}, {unicode.Tamil, "ta", 2}, {unicode.Telugu, "te", 2}, {unicode.Kannada, "kn", 2},
		{unicode.Malayalam, "ml", 2}, {unicode.Sinhala, "si", 2}, {unicode.Thai, "th", 2}, {unicode.Myanmar, "my", 2},
		{unicode.Ethiopic, "am", 2},
	}
})

// DetectLanguage detects the engine language of a text: from the script of most of its first 2,000 code points, and if
// that is Latin, Cyrillic or Arabic, from the first 300 letters in it (see langid). In doubt it is English. The same
// text always has the same language.
func DetectLanguage(text string) string {
	most := ScriptLanguage(text)
	for _, s := range scripts() {
		if s.language == most {
			if language, is := LookupLanguage(langid.Detect(text, s.script)); is {
				return language
			}
		}
	}
	return most
}

// languageOf returns the requested language of a text, or else the detected one.
func languageOf(text, language string) string {
	if language == "" || language == AutoLanguage {
		return DetectLanguage(text)
	}
	return language
}

// ScriptLanguage returns the engine language of most texts in the script that prevails in a text's first 2,000 code
// points. Without letters, it is English.
func ScriptLanguage(text string) string {
	table := scripts()
	weights := make(map[string]int, 4)
	seen := 0
	for _, r := range text {
		if seen++; seen > detectRunes {
			break
		}
		if !unicode.IsLetter(r) {
			continue
		}
		for _, s := range table {
			if unicode.Is(s.script, r) {
				weights[s.language] += s.weight
				break
			}
		}
	}
	return heaviest(table, weights)
}

func heaviest(table []scriptLanguage, weights map[string]int) string {
	if weights["ja"] > 0 { // Japanese also uses Han, Chinese uses no kana
		weights["ja"] += weights["cmn"]
		weights["cmn"] = 0
	}
	best := latin
	for _, s := range table {
		if weights[s.language] > weights[best] {
			best = s.language
		}
	}
	return best
}
