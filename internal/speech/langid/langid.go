// Package langid identifies the language of a text in Latin, Cyrillic or Arabic letters, by how likely its words are in
// each language, and the letters of others after those before them.
package langid

import (
	_ "embed"
	"encoding/binary"
	"hash/crc32"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// table has the probabilities of n-grams and words, 3 MB that are read where they lie; the command generate makes it.
// It begins with the places of the buckets, then has the n-grams of each.
//
//go:embed ngrams.bin
var table string

// phraseLines has short texts that are not told apart by their words, because these are used more in other languages: a
// language, tab, and phrases with strokes between them.
//
//go:embed phrases.tsv
var phraseLines string

// phrases has their languages.
var phrases = sync.OnceValue(func() map[string]string {
	of := make(map[string]string)
	for line := range strings.Lines(phraseLines) {
		code, list, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		for phrase := range strings.SplitSeq(list, "|") {
			of[phrase] = code
		}
	}
	return of
})

// maxPhrase is the number of bytes of the longest text that is looked up among the phrases.
const maxPhrase = 40

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
	most    = 9 * bit  // by which a word speaks against a language: one does not decide over a sentence
	rare    = 6 * bit  // the same for a word that the table has not: most names
)

// Of the first 2,000 code points of a text, 300 letters are looked at.
const (
	runes  = 2000
	sample = 300
)

// Whole comes in the table before a word that is not a part of others.
const Whole = " "

// languages are those that are told apart, by ISO 639-1, in the order of the table. The first of a script is the answer
// in doubt, and those that are spoken by fewer people need more evidence.
var languages = [...]struct {
	code     string
	handicap int
	script   *unicode.RangeTable
}{
	{"en", 0, unicode.Latin}, {"de", 4 * bit, unicode.Latin}, {"fr", 4 * bit, unicode.Latin},
	{"es", 4 * bit, unicode.Latin}, {"it", 4 * bit, unicode.Latin}, {"pt", 4 * bit, unicode.Latin},
	{"nl", 4 * bit, unicode.Latin}, {"pl", 4 * bit, unicode.Latin}, {"sv", 4 * bit, unicode.Latin},
	{"da", 4 * bit, unicode.Latin}, {"fi", 4 * bit, unicode.Latin}, {"cs", 4 * bit, unicode.Latin},
	{"hu", 4 * bit, unicode.Latin}, {"ro", 4 * bit, unicode.Latin}, {"tr", 4 * bit, unicode.Latin},
	{"nb", 6 * bit, unicode.Latin}, {"sk", 6 * bit, unicode.Latin}, {"hr", 6 * bit, unicode.Latin},
	{"vi", 6 * bit, unicode.Latin}, {"id", 6 * bit, unicode.Latin}, {"et", 6 * bit, unicode.Latin},
	{"lv", 6 * bit, unicode.Latin}, {"lt", 6 * bit, unicode.Latin}, {"sl", 6 * bit, unicode.Latin},
	{"ca", 6 * bit, unicode.Latin}, {"sq", 6 * bit, unicode.Latin}, {"eu", 6 * bit, unicode.Latin},
	{"cy", 6 * bit, unicode.Latin}, {"sw", 6 * bit, unicode.Latin}, {"ga", 6 * bit, unicode.Latin},
	{"is", 6 * bit, unicode.Latin}, {"af", 6 * bit, unicode.Latin},
	{"ru", 0, unicode.Cyrillic}, {"uk", 2 * bit, unicode.Cyrillic}, {"be", 2 * bit, unicode.Cyrillic},
	{"bg", 2 * bit, unicode.Cyrillic}, {"mk", 2 * bit, unicode.Cyrillic}, {"sr", 2 * bit, unicode.Cyrillic},
	{"kk", 2 * bit, unicode.Cyrillic},
	{"ar", 0, unicode.Arabic}, {"fa", 2 * bit, unicode.Arabic}, {"ur", 2 * bit, unicode.Arabic},
}

// Codes returns the languages that are told apart, by ISO 639-1, in the order of the table.
func Codes() []string {
	codes := make([]string, len(languages))
	for i, language := range languages {
		codes[i] = language.code
	}
	return codes
}

// Detect returns the language of a text by its words in a script, by ISO 639-1. In doubt it returns the language of
// most texts in the script, and "" for a script without languages to tell apart. It counts each word once, up to 300
// letters in all. The same text always has the same result.
func Detect(text string, script *unicode.RangeTable) string {
	scores, told := start(script)
	if len(text) <= maxPhrase && told != 0 {
		if code, ok := phrases()[strings.Join(slices.Collect(Words(text)), " ")]; ok {
			return code
		}
	}
	left := sample
	counted := map[string]bool{}
	for word := range Words(head(text)) {
		letters := []rune(word)
		if counted[word] || !unicode.Is(script, letters[0]) {
			continue
		}
		counted[word] = true
		letters = letters[:min(len(letters), left)]
		count(&scores, letters, told)
		if left -= len(letters); left == 0 {
			break
		}
	}
	return best(&scores, told)
}

// start returns the scores before the first word, and the set of the languages in a script.
func start(script *unicode.RangeTable) (scores [len(languages)]int, told uint64) {
	for i, language := range languages {
		scores[i] = language.handicap
		if language.script == script {
			told |= 1 << i
		}
	}
	return scores, told
}

func best(scores *[len(languages)]int, told uint64) (code string) {
	least := math.MaxInt
	for i := range each(told) {
		if scores[i] < least {
			least, code = scores[i], languages[i].code
		}
	}
	return code
}

// each returns the languages of a set, in the order of the table.
func each(set uint64) iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; set != 0 && yield(bits.TrailingZeros64(set)); set &= set - 1 {
		}
	}
}

// Words returns the words of a text as the table has them: runs of letters, in lower case, composed.
func Words(text string) iter.Seq[string] {
	return strings.FieldsFuncSeq(strings.ToLower(norm.NFC.String(text)), isNoLetter)
}

func isNoLetter(r rune) bool { return !unicode.IsLetter(r) }

// count adds the scores of a word.
func count(scores *[len(languages)]int, letters []rune, told uint64) {
	var word [len(languages)]int
	for i := range letters {
		add(&word, letters[max(0, i+1-longest):i+1], told)
	}
	entries, limit := find(Whole+string(letters)), most
	if entries == "" {
		limit = rare
	}
	for ; entries != ""; entries = entries[entrySize:] {
		word[entries[0]] = min(word[entries[0]], int(entries[1]))
	}
	likeliest := math.MaxInt
	for i := range each(told) {
		likeliest = min(likeliest, word[i])
	}
	for i := range word {
		scores[i] += min(word[i]-likeliest, limit)
	}
}

// head returns the beginning of a text, which mostly contains the sample, so that the rest of a long text is free.
func head(text string) string {
	left := runes
	for i := range text {
		if left--; left < 0 {
			return text[:i]
		}
	}
	return text
}

// add adds the score of the last letter after those before it, in each of a set of languages by the longest n-gram that
// it has.
func add(word *[len(languages)]int, letters []rune, missing uint64) {
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
	for language := range each(missing) {
		word[language] += unknown
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
