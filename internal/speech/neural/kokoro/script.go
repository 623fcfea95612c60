package kokoro

import (
	_ "embed"
	"iter"
	"strings"
	"sync"
	"unicode"
)

// Word is a word or a syllable of a text in Kokoro's alphabet.
type Word struct {
	Start, Runes int // code points of the text
	Symbols      string
}

// Spell returns the words of a text whose script determines the pronunciation: kana in Japanese, and Pinyin with tone
// numbers in Mandarin. It leaves out other words and punctuation. It returns false for all other languages, which
// espeak-ng pronounces.
func Spell(language string, text []rune) (words []Word, ok bool) {
	switch language {
	case "ja":
		return spellKana(text), true
	case "cmn", "cmn-latn-pinyin":
		return spellPinyin(text), true
	}
	return nil, false
}

// kanaTable has lines of one or two katakana and their symbols. Pairs come first.
//
//go:embed kana.tsv
var kanaTable string

// kana translates katakana into symbols.
var kana = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer(strings.Fields(kanaTable)...) })

// nasals assimilates ン to the sound after it.
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

// runs yields the start and end of each longest run of characters for which within is true.
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

// pinyinTable has a line for each initial (with a hyphen after it), for each final (with a hyphen before it), and for
// each syllable that is not an initial followed by a final. A 0 among the symbols is the place of the tone.
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
	for start, end := range runs(text, isSyllabic) {
		if symbols, ok := syllable(string(text[start:end])); ok {
			words = append(words, Word{Start: start, Runes: end - start, Symbols: symbols})
		}
	}
	return words
}

// isSyllabic reports whether a character may be part of a syllable.
func isSyllabic(r rune) bool { return unicode.IsLetter(r) || r >= '0' && r <= '9' }

// syllable returns the symbols of a syllable that ends with the number of its tone.
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
