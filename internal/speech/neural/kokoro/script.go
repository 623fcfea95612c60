package kokoro

import (
	_ "embed"
	"iter"
	"strings"
	"sync"
	"unicode"
)

// Word is a word, or a syllable, of a text in Kokoro's alphabet.
type Word struct {
	Start, Runes int // in the text
	Symbols      string
}

// Spell returns the words of a text whose script leads to Kokoro's alphabet: kana in Japanese, and Pinyin with the
// numbers of the tones in Mandarin. Other words, and marks, are left out. It returns false for all other languages,
// whose words are spelt as espeak-ng pronounces them.
func Spell(language string, text []rune) (words []Word, ok bool) {
	switch language {
	case "ja":
		return spellKana(text), true
	case "cmn", "cmn-latn-pinyin":
		return spellPinyin(text), true
	}
	return nil, false
}

// kanaTable has a line for each one or two katakana: them and their symbols. Two come first.
//
//go:embed kana.tsv
var kanaTable string

// kana leads from katakana to symbols.
var kana = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer(strings.Fields(kanaTable)...) })

// nasals are what ン is before some sounds.
var nasals = strings.NewReplacer("ɴm", "mm", "ɴp", "mp", "ɴb", "mb", "ɴk", "ŋk", "ɴɡ", "ŋɡ", "ɴɲ", "ɲɲ", "ɴʨ", "ɲʨ",
	"ɴʥ", "ɲʥ", "ɴn", "nn", "ɴt", "nt", "ɴd", "nd", "ɴɾ", "nɾ", "ɴz", "nz")

func spellKana(text []rune) (words []Word) {
	for start, end := range runs(text, isKana) {
		symbols := nasals.Replace(kana().Replace(strings.Map(toKatakana, string(text[start:end]))))
		words = append(words, Word{Start: start, Runes: end - start, Symbols: symbols})
	}
	return words
}

func isKana(r rune) bool { return r >= 'ぁ' && r <= 'ゖ' || r >= 'ァ' && r <= 'ヺ' || r == 'ー' }

func toKatakana(r rune) rune {
	if r >= 'ぁ' && r <= 'ゖ' {
		return r + 'ァ' - 'ぁ'
	}
	return r
}

// runs yields where the longest runs of some characters begin and end in a text.
func runs(text []rune, within func(rune) bool) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for at := 0; at < len(text); at++ {
			start := at
			for at < len(text) && within(text[at]) {
				at++
			}
			if at > start && !yield(start, at) {
				return
			}
		}
	}
}

// pinyinTable has a line for each initial, written with a hyphen after it, for each final, with one before it, and for
// each syllable that is not an initial with a final. A 0 among the symbols is the place of the tone.
//
//go:embed pinyin.tsv
var pinyinTable string

var pinyin = sync.OnceValue(func() map[string]string {
	table := map[string]string{}
	for line := range strings.Lines(pinyinTable) {
		spelling, symbols, _ := strings.Cut(strings.TrimSpace(line), "\t")
		table[spelling] = symbols
	}
	return table
})

// tones are the symbols of the tones from 1 to 5.
var tones = [...]string{"→", "↗", "↓", "↘", ""}

func spellPinyin(text []rune) (words []Word) {
	for start, end := range runs(text, isOfSyllables) {
		if symbols, ok := syllable(string(text[start:end])); ok {
			words = append(words, Word{Start: start, Runes: end - start, Symbols: symbols})
		}
	}
	return words
}

// isOfSyllables reports whether a character may be one of a syllable's.
func isOfSyllables(r rune) bool { return unicode.IsLetter(r) || r >= '0' && r <= '9' }

// syllable returns the symbols of a syllable, whose last character is the number of its tone.
func syllable(spelling string) (symbols string, ok bool) {
	last := len(spelling) - 1
	if last < 1 || spelling[last] < '1' || spelling[last] > '5' {
		return "", false
	}
	symbols, ok = toneless(spelling[:last])
	return strings.Replace(symbols, "0", tones[spelling[last]-'1'], 1), ok
}

func toneless(spelling string) (symbols string, ok bool) {
	table := pinyin()
	if symbols, ok = table[spelling]; ok {
		return symbols, true
	}
	for n := min(2, len(spelling)); n > 0; n-- { // the longest initial first
		initial, isInitial := table[spelling[:n]+"-"]
		if final, isFinal := table["-"+spelling[n:]]; isInitial && isFinal {
			return initial + final, true
		}
	}
	return "", false
}
