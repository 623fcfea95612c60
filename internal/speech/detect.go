package speech

import (
	"unicode"

	"github.com/recital-tts/recital/internal/speech/langid"
)

// detectRunes is the number of code points that are examined.
const detectRunes = 2000

// latin is the engine language of most texts in Latin letters.
const latin = "en-us"

// scriptLanguage is the engine language of most texts in a script. Other scripts weigh more than Latin, because their
// engine languages read Latin words within a text, mostly as English, while English spells foreign scripts out.
type scriptLanguage struct {
	script   *unicode.RangeTable
	language string
	weight   int // of one letter; higher if a letter stands for more sound than a Latin one
}

// DetectLanguage detects the engine language of a text: from the script of most of its first 2,000 code points, and if
// that is Latin, Cyrillic or Arabic, from the first 300 letters in it (see langid). In doubt it is English. The same
// text always has the same language.
func DetectLanguage(text string) string {
	most := ScriptLanguage(text)
	for _, s := range languages().scripts {
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
	table := languages().scripts
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
