package japanese

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"
)

// wordList has words that the dictionary lacks or reads otherwise, a line each: the word and its reading. One that ends
// with ~ has it before a verb or an adjective alone.
//
//go:embed words.tsv
var wordList string

type wordTable struct {
	readings map[string]string
	longest  int // in code points
}

// words returns the words of the list.
var words = sync.OnceValue(func() wordTable {
	all := wordTable{readings: map[string]string{}}
	for line := range strings.Lines(wordList) {
		word, reading, _ := strings.Cut(strings.TrimSpace(line), "\t")
		all.readings[word] = reading
		all.longest = max(all.longest, utf8.RuneCountInString(word))
	}
	return all
})
