// Command generate writes ngrams.bin from the language models of the Go module github.com/pemistahl/lingua-go v1.4.0
// (Apache License 2.0, see NOTICE):
//
//	cd "$(mktemp -d)" && go mod init models && go get github.com/pemistahl/lingua-go@v1.4.0
//	go run ./internal/speech/langid/generate \
//		"$(go env GOMODCACHE)/github.com/pemistahl/lingua-go@v1.4.0/language-models" internal/speech/langid/ngrams.bin
package main

import (
	"archive/zip"
	"cmp"
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

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/recital-tts/recital/internal/speech/langid"
)

const (
	bucketBits = 14
	bit        = 8 // a score is -log2 of a probability, in eighths
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: generate MODELS-FOLDER OUTPUT")
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

// entry is the score of an n-gram in a language.
type entry struct{ language, score byte }

func write(folder, output string) error {
	grams := map[string][]entry{}
	for language, code := range langid.Codes() {
		if err := add(grams, filepath.Join(folder, code), byte(language)); err != nil {
			return fmt.Errorf("reading the models of %s: %w", code, err)
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
