// Command generate writes ngrams.bin from the language models of the Go module github.com/pemistahl/lingua-go v1.4.0
// (Apache License 2.0, see NOTICE), the words of the sentences of Common Voice (CC0; server/data of
// github.com/mozilla/voice-web at e0bfbc4be9eb6a97f7dd92eb938200f09f04ba96, of each language in a file CODE.txt without
// wiki.*, europarl*, *cities* and *Foreign*), and the everyday words in words.tsv:
//
//	cd "$(mktemp -d)" && go mod init models && go get github.com/pemistahl/lingua-go@v1.4.0
//	go run ./internal/speech/langid/generate \
//		"$(go env GOMODCACHE)/github.com/pemistahl/lingua-go@v1.4.0/language-models" SENTENCES-FOLDER \
//		internal/speech/langid/ngrams.bin
package main

import (
	"archive/zip"
	"cmp"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/recital-tts/recital/internal/speech/langid"
)

const (
	bucketBits = 14
	bit        = 8 // a score is -log2 of a probability, in eighths
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: generate MODELS-FOLDER SENTENCES-FOLDER OUTPUT")
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

// entry is the score of an n-gram in a language.
type entry struct{ language, score byte }

func write(models, sentences, output string) error {
	grams := map[string][]entry{}
	texts, err := readTexts(sentences)
	if err != nil {
		return err
	}
	names := namesIn(texts)
	for language, code := range langid.Codes() {
		if err := add(grams, filepath.Join(models, code), byte(language)); err != nil {
			return fmt.Errorf("reading the models of %s: %w", code, err)
		}
		addWords(grams, names, texts[code], code, byte(language))
		for name := range names {
			grams[langid.Whole+name] = append(grams[langid.Whole+name], entry{language: byte(language)})
		}
	}
	return os.WriteFile(output, tableOf(grams), 0o644)
}

// add adds the n-grams of a language that are used most: those are nearly all of most texts.
func add(grams map[string][]entry, folder string, language byte) error {
	likely := map[string]float64{"": 1} // how likely an n-gram is by itself
	for n, kind := range []struct {
		name string
		most int
	}{{"unigrams", math.MaxInt}, {"bigrams", math.MaxInt}, {"trigrams", 4000}, {"quadrigrams", 8000}} {
		conditional, err := read(filepath.Join(folder, kind.name+".pb.bin.zip"))
		if err != nil {
			return err
		}
		next := make(map[string]float64, len(conditional))
		for gram, probability := range conditional {
			next[gram] = likely[string([]rune(gram)[:n])] * probability
		}
		likely = next
		used := slices.SortedFunc(maps.Keys(likely), func(a, b string) int {
			return cmp.Or(cmp.Compare(likely[b], likely[a]), cmp.Compare(a, b))
		})
		for _, gram := range used[:min(kind.most, len(used))] {
			score := min(math.Round(-math.Log2(conditional[gram])*bit), math.MaxUint8)
			grams[gram] = append(grams[gram], entry{language, byte(score)})
		}
	}
	return nil
}

// few is a table of words that are used much when people talk, and in English of words that it has borrowed: a
// language, and its words. They were written for this.
//
//go:embed words.tsv
var few string

func readTexts(folder string) (map[string]string, error) {
	texts := map[string]string{}
	for _, code := range langid.Codes() {
		text, err := os.ReadFile(filepath.Join(folder, code+".txt"))
		if err != nil {
			return nil, err
		}
		texts[code] = string(text)
	}
	return texts, nil
}

// namesIn returns the words that several languages write with a capital letter: names, which tell no language.
func namesIn(texts map[string]string) map[string]bool {
	const several = 2
	languages := map[string]int{}
	for _, text := range texts {
		capital := map[string]int{} // how much more often a word has one than not
		for line := range strings.Lines(text) {
			for _, word := range strings.Fields(line)[min(1, len(strings.Fields(line))):] {
				sign := -1
				if first, _ := utf8.DecodeRuneInString(word); unicode.IsUpper(first) {
					sign = 1
				}
				for word := range langid.Words(word) {
					capital[word] += sign
				}
			}
		}
		for word, more := range capital {
			if more > 0 {
				languages[word]++
			}
		}
	}
	names := map[string]bool{}
	for word, number := range languages {
		if number >= several {
			names[word] = true
		}
	}
	return names
}

// addWords adds the words of a language that are used most, each with how likely it is by itself.
func addWords(grams map[string][]entry, names map[string]bool, text, code string, language byte) {
	const most, likely = 12000, 9 * bit // the score of a word of the table
	counts, all := map[string]float64{}, 0.0
	for word := range langid.Words(text) {
		all++
		if !names[word] {
			counts[word]++
		}
	}
	scores := map[string]float64{}
	for _, word := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	}) {
		if counts[word] < 2 || len(scores) == most {
			break
		}
		scores[word] = -math.Log2(counts[word]/all) * bit
	}
	for line := range strings.Lines(few) {
		if words, is := strings.CutPrefix(line, code+"\t"); is {
			for word := range langid.Words(words) {
				if score, known := scores[word]; !known || score > likely {
					scores[word] = likely
				}
			}
		}
	}
	for word, score := range scores {
		grams[langid.Whole+word] = append(grams[langid.Whole+word], entry{language, byte(math.Round(score))})
	}
}

// read returns the probabilities of n-grams, each of its last letter after the others: a compressed message
// SerializableLanguageModel of lingua's model.proto.
func read(file string) (map[string]float64, error) {
	archive, err := zip.OpenReader(file)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	member, err := archive.File[0].Open()
	if err != nil {
		return nil, err
	}
	message, err := io.ReadAll(member)
	if err != nil {
		return nil, err
	}
	const sets = 4
	grams := map[string]float64{}
	err = fields(message, func(number protowire.Number, value []byte) {
		if number == sets {
			addSet(grams, value)
		}
	})
	return grams, err
}

// addSet adds the n-grams of one probability.
func addSet(grams map[string]float64, set []byte) {
	const probability, gram = 1, 2
	var p float64
	_ = fields(set, func(number protowire.Number, value []byte) {
		switch number {
		case probability:
			p = math.Float64frombits(binary.LittleEndian.Uint64(value))
		case gram:
			grams[string(value)] = p
		}
	})
}

// fields calls a function with the fields of a message, in their order.
func fields(message []byte, each func(protowire.Number, []byte)) error {
	for len(message) > 0 {
		number, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return protowire.ParseError(size)
		}
		message = message[size:]
		size = protowire.ConsumeFieldValue(number, kind, message)
		if size < 0 {
			return errors.New("a field is cut off")
		}
		value := message[:size]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(message)
		}
		each(number, value)
		message = message[size:]
	}
	return nil
}

// tableOf returns the table as package langid reads it.
func tableOf(grams map[string][]entry) []byte {
	var buckets [1 << bucketBits][]byte
	taken := map[[2]uint32]bool{}
	// Of two n-grams that the table cannot tell apart, the one with more languages stays.
	for _, gram := range slices.SortedFunc(maps.Keys(grams), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(grams[b]), len(grams[a])), cmp.Compare(a, b))
	}) {
		hash := crc32.ChecksumIEEE([]byte(gram))
		bucket, rest := hash>>(32-bucketBits), hash&math.MaxUint16
		if taken[[2]uint32{bucket, rest}] {
			continue
		}
		taken[[2]uint32{bucket, rest}] = true
		b := append(buckets[bucket], byte(rest), byte(rest>>8), byte(len(grams[gram])))
		for _, e := range grams[gram] {
			b = append(b, e.language, e.score)
		}
		buckets[bucket] = b
	}
	at := 4 * (len(buckets) + 1)
	var places, all []byte
	for _, b := range buckets {
		places = binary.LittleEndian.AppendUint32(places, uint32(at))
		all = append(all, b...)
		at += len(b)
	}
	return append(binary.LittleEndian.AppendUint32(places, uint32(at)), all...)
}
