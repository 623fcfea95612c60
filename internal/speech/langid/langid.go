// Package langid identifies the language of a text in Latin letters, by how likely its letters are after those before
// them in each language.
package langid

import (
	_ "embed"
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// table has the probabilities of n-grams, 1.5 MB that are read where they lie; the command generate makes it. It begins
// with the places of the buckets, then has the n-grams of each.
//
//go:embed ngrams.bin
var table string

const (
	longest    = 4 // letters of an n-gram
	bucketBits = 14
	buckets    = 1 << bucketBits
	entrySize  = 2 // of a language and its probability
	headSize   = 3 // of an n-gram: the rest of its hash, and the number of its languages
)

// A score is -log2 of a probability, in eighths.
const (
	bit     = 8
	shorter = 12       // for each letter by which the known context is shorter than it could be
	unknown = 18 * bit // for a letter that a language does not have
	most    = 8 * bit  // by which a word speaks against a language: a name does not decide over a sentence
)

// sample is the number of letters that are looked at.
const sample = 300

// languages are those that are told apart, by ISO 639-1, in the order of the table. English is the answer in doubt, and
// those that are spoken by fewer people need more evidence.
var languages = [...]struct {
	code     string
	handicap int
}{
	{"en", 0}, {"de", 5 * bit}, {"fr", 5 * bit}, {"es", 5 * bit}, {"it", 5 * bit}, {"pt", 5 * bit}, {"nl", 5 * bit},
	{"pl", 5 * bit}, {"sv", 5 * bit}, {"da", 5 * bit}, {"fi", 5 * bit}, {"cs", 5 * bit}, {"hu", 5 * bit},
	{"ro", 5 * bit}, {"tr", 5 * bit}, {"nb", 12 * bit}, {"sk", 12 * bit}, {"hr", 12 * bit}, {"vi", 12 * bit},
	{"id", 12 * bit}, {"et", 12 * bit}, {"lv", 12 * bit}, {"lt", 12 * bit}, {"sl", 12 * bit}, {"ca", 12 * bit},
	{"sq", 12 * bit}, {"eu", 12 * bit}, {"cy", 12 * bit}, {"sw", 12 * bit}, {"ga", 12 * bit}, {"is", 12 * bit},
	{"af", 12 * bit},
}

// Codes returns the languages that are told apart, by ISO 639-1, in the order of the table.
func Codes() []string {
	codes := make([]string, len(languages))
	for i, language := range languages {
		codes[i] = language.code
	}
	return codes
}

// Detect returns the language of a text, by ISO 639-1: "en" in doubt. Letters that are not Latin are passed over, words
// that were there before, and what follows the first 300 letters. The same text has the same answer always.
func Detect(text string) string {
	var scores [len(languages)]int
	for i, language := range languages {
		scores[i] = language.handicap
	}
	left := sample
	counted := map[string]bool{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(norm.NFC.String(head(text))), isNotLatin) {
		if counted[word] {
			continue
		}
		counted[word] = true
		letters := []rune(word)
		letters = letters[:min(len(letters), left)]
		count(&scores, letters)
		if left -= len(letters); left == 0 {
			break
		}
	}
	best := 0
	for i := range scores {
		if scores[i] < scores[best] {
			best = i
		}
	}
	return languages[best].code
}

func isNotLatin(r rune) bool { return !unicode.Is(unicode.Latin, r) }

// count adds the scores of a word.
func count(scores *[len(languages)]int, letters []rune) {
	var word [len(languages)]int
	for i := range letters {
		add(&word, letters[max(0, i+1-longest):i+1])
	}
	best := slices.Min(word[:])
	for i := range word {
		scores[i] += min(word[i]-best, most)
	}
}

// head returns the beginning of a text in which the sample mostly is, so that the rest of a long one costs nothing.
func head(text string) string {
	const size = 8 * sample
	if len(text) <= size {
		return text
	}
	text = text[:size]
	for !utf8.RuneStart(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text[:len(text)-1]
}

// add adds the score of the last letter after those before it, in each language by the longest n-gram that it has.
func add(word *[len(languages)]int, letters []rune) {
	missing := uint64(1)<<len(languages) - 1
	for from := range letters {
		for entries := find(string(letters[from:])); entries != ""; entries = entries[entrySize:] {
			if language := entries[0]; missing&(1<<language) != 0 {
				missing &^= 1 << language
				word[language] += int(entries[1]) + from*shorter
			}
		}
		if missing == 0 {
			return
		}
	}
	for ; missing != 0; missing &= missing - 1 {
		word[bits.TrailingZeros64(missing)] += unknown
	}
}

// find returns the languages of an n-gram with their scores.
func find(gram string) (entries string) {
	hash := crc32.ChecksumIEEE([]byte(gram))
	bucket := int(hash >> (32 - bucketBits))
	from, to := place(bucket), place(bucket+1)
	for at := from; at < to; {
		size := headSize + entrySize*int(table[at+2])
		if table[at] == byte(hash) && table[at+1] == byte(hash>>8) {
			return table[at+headSize : at+size]
		}
		at += size
	}
	return ""
}

func place(bucket int) int {
	const size = 4
	return int(binary.LittleEndian.Uint32([]byte(table[bucket*size : (bucket+1)*size])))
}
