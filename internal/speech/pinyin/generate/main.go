// Command generate writes readings.txt.gz from the data of npm's pinyin-pro 3.29.4 (MIT, see NOTICE):
//
//	npm pack pinyin-pro@3.29.4 && tar xzf pinyin-pro-3.29.4.tgz
//	go run ./internal/speech/pinyin/generate package/dist/esm/data internal/speech/pinyin/readings.txt.gz
package main

import (
	"compress/gzip"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: generate DATA-FOLDER OUTPUT")
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func write(folder, output string) error {
	letters, err := readLetters(filepath.Join(folder, "dict1.mjs"))
	if err != nil {
		return err
	}
	words := map[string]string{}
	for _, name := range []string{"dict2.mjs", "dict3.mjs", "dict4.mjs", "dict5.mjs"} {
		if err := readWords(filepath.Join(folder, name), words); err != nil {
			return err
		}
	}
	file, err := os.Create(output)
	if err != nil {
		return err
	}
	compressed, _ := gzip.NewWriterLevel(file, gzip.BestCompression) // the level is valid
	for _, reading := range slices.Sorted(maps.Keys(letters)) {
		fmt.Fprintf(compressed, "%s %s\n", reading, letters[reading])
	}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		fmt.Fprintf(compressed, "%s %s\n", word, words[word])
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	return file.Close()
}

var (
	group  = regexp.MustCompile(`(?s)'?([^'\s,{]+(?: [^':\[]+)?)'?: \[(.*?)\]`)
	letter = regexp.MustCompile(`'(.)'`)
	word   = regexp.MustCompile(`(?m)^\s*(\p{Han}+): ['"]([^'"]+)['"]`)
)

// readLetters returns the letters that are read alike, by their usual reading, which stands first.
func readLetters(path string) (map[string]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	letters := map[string]string{}
	for _, found := range group.FindAllStringSubmatch(string(content), -1) {
		usual := numbered(strings.Fields(found[1])[0])
		for _, one := range letter.FindAllStringSubmatch(found[2], -1) {
			letters[usual] += one[1]
		}
	}
	return letters, nil
}

// readWords adds words with their readings.
func readWords(path string, words map[string]string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, found := range word.FindAllStringSubmatch(string(content), -1) {
		var syllables []string
		for _, one := range strings.Fields(found[2]) {
			syllables = append(syllables, numbered(one))
		}
		if len(syllables) == utf8.RuneCountInString(found[1]) {
			words[found[1]] = strings.Join(syllables, " ")
		}
	}
	return nil
}

// vowels are the letters with the marks of the four tones.
var vowels = map[rune]string{
	'a': "āáǎà", 'e': "ēéěè", 'i': "īíǐì", 'o': "ōóǒò", 'u': "ūúǔù", 'ü': "ǖǘǚǜ", 'ê': "ê̄ếê̌ề", 'n': " ńňǹ", 'm': " ḿ ",
}

// numbered returns a syllable with the number of its tone instead of its mark; 5 is the neutral one.
func numbered(syllable string) string {
	tone := 5
	plain := strings.Map(func(r rune) rune {
		for vowel, marked := range vowels {
			if i := slices.Index([]rune(marked), r); i >= 0 && r != ' ' {
				tone = i + 1
				return vowel
			}
		}
		return r
	}, syllable)
	return fmt.Sprint(plain, tone)
}
