// Package pinyin spells Chinese text in Pinyin with the numbers of the tones, as engines read it.
package pinyin

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"strings"
	"sync"
	"unicode"
)

// compressed has a line for each reading of single letters, and one for each word that is read otherwise than its
// letters. It is made by the command generate.
//
//go:embed readings.txt.gz
var compressed []byte

// corrections are words that the others lack or read otherwise, a line each.
//
//go:embed corrections.txt
var corrections string

// readings are how letters and words are read.
type readings struct {
	letters map[rune]string
	words   map[string]string
	longest map[rune]int // length of the longest word that begins with a letter
}

// load reads the readings, when the first Chinese text comes: 1 MB of memory and about 10 ms.
var load = sync.OnceValue(func() readings {
	all := readings{letters: make(map[rune]string, 21_000), words: make(map[string]string, 5_000),
		longest: make(map[rune]int, 2_000)}
	content, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return all // it is compiled in, and a test reads it
	}
	for lines := bufio.NewScanner(content); lines.Scan(); {
		all.add(lines.Text())
	}
	for line := range strings.Lines(corrections) {
		all.add(strings.TrimSpace(line))
	}
	return all
})

// add adds a line: a word and its reading, or a reading and the letters that have it.
func (r readings) add(line string) {
	first, rest, _ := strings.Cut(line, " ")
	if len(first) == 0 || first[0] >= 0x80 && !strings.HasPrefix(first, "ê") {
		r.words[first] = rest
		letters := []rune(first)
		r.longest[letters[0]] = max(r.longest[letters[0]], len(letters))
		return
	}
	for _, letter := range rest {
		r.letters[letter] = first
	}
}

// Spell returns the syllable of each letter of a text, "" for a letter that is not Chinese or has no known reading.
// Words are found so that they cover most of the text.
func Spell(text []rune) []string {
	all := load()
	syllables := make([]string, len(text))
	for from := 0; from < len(text); {
		if !unicode.Is(unicode.Han, text[from]) && text[from] != '〇' {
			from++
			continue
		}
		to := from + 1
		for to < len(text) && (unicode.Is(unicode.Han, text[to]) || text[to] == '〇') {
			to++
		}
		all.spell(text[from:to], syllables[from:to])
		changeTones(text[from:to], syllables[from:to])
		from = to
	}
	return syllables
}

// spell reads a run of Chinese letters. It divides it into words from the end, so that the fewest letters are outside
// words: best is their number in the rest from each position, and step is the length of its first word or letter.
func (r readings) spell(text []rune, syllables []string) {
	best, step := make([]int, len(text)+1), make([]int, len(text))
	for at := len(text) - 1; at >= 0; at-- {
		best[at], step[at] = best[at+1]+1, 1
		for n := 2; n <= min(r.longest[text[at]], len(text)-at); n++ {
			if _, known := r.words[string(text[at:at+n])]; known && best[at+n] <= best[at]-1 {
				best[at], step[at] = best[at+n], n
			}
		}
	}
	for at := 0; at < len(text); at += step[at] {
		if step[at] == 1 {
			syllables[at] = r.letters[text[at]]
			continue
		}
		copy(syllables[at:], strings.Fields(r.words[string(text[at:at+step[at]])]))
	}
}

// changeTones applies tone sandhi (Chao, A Grammar of Spoken Chinese, 1.3.4): 不 is in the second tone before a fourth,
// 一 in the second before a fourth and in the fourth before others, but not as a numeral, and the first of two third
// tones becomes a second.
func changeTones(text []rune, syllables []string) {
	for i := range text {
		before, next := toneAt(syllables, i-1), toneAt(syllables, i+1)
		switch {
		case text[i] == '不' && syllables[i] == "bu4" && next == '4':
			syllables[i] = "bu2"
		case text[i] == '一' && syllables[i] == "yi1" && next != 0 && !isNumeral(text, i-1) && !isNumeral(text, i+1):
			syllables[i] = map[bool]string{true: "yi2", false: "yi4"}[next == '4' || text[i+1] == '个']
		case toneAt(syllables, i) == '3' && next == '3' && before != '2':
			syllables[i] = syllables[i][:len(syllables[i])-1] + "2"
		}
	}
}

func toneAt(syllables []string, i int) byte {
	if i < 0 || i >= len(syllables) || syllables[i] == "" {
		return 0
	}
	return syllables[i][len(syllables[i])-1]
}

// isNumeral reports whether a letter makes a number, an ordinal or a date of a 一 beside it.
func isNumeral(text []rune, i int) bool {
	return i >= 0 && i < len(text) && strings.ContainsRune("〇零一二三四五六七八九十第月号日期", text[i])
}
