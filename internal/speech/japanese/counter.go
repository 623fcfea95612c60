package japanese

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// counterList has a line for each counter: how it is written, its reading, its kind (see join), and its irregular
// readings: with whole numbers, and with last digits.
//
//go:embed counters.tsv
var counterList string

// counter is a counter word, a unit or a part of a date.
type counter struct {
	kana  string
	kind  string
	whole map[string]string // readings with whole numbers, by the number
	final map[string]string // readings with last digits, by the digit
}

type counterTable struct {
	counters map[string]counter
	longest  int // in code points
}

// counters returns the counters of the list, by how they are written.
var counters = sync.OnceValue(func() counterTable {
	all := counterTable{counters: map[string]counter{}}
	for line := range strings.Lines(counterList) {
		fields := append(strings.Split(strings.TrimRight(line, "\n"), "\t"), "", "", "", "")
		c := counter{kana: fields[1], kind: fields[2], whole: pairs(fields[3]), final: pairs(fields[4])}
		for written := range strings.FieldsSeq(fields[0]) {
			all.counters[written] = c
			all.longest = max(all.longest, utf8.RuneCountInString(written))
		}
	}
	return all
})

func pairs(list string) map[string]string {
	all := map[string]string{}
	for pair := range strings.FieldsSeq(list) {
		key, value, _ := strings.Cut(pair, "=")
		all[key] = value
	}
	return all
}

// join returns a number with a counter. Kinds of counters: k (カイ), g (ガイ after サン), s (サイ), z (ゾク after サン), b (ボン
// after サン, セン and マン, and ポン), p (プン after ン, too), h (ポン only), l (キロ) and d (ページ).
func join(n number, c counter) string {
	for _, ending := range doubled(c.kind) {
		if strings.HasSuffix(n.last, ending) {
			return n.head + n.last[:len(n.last)-len("ッ")] + "ッ" + voiced(c.kana, c.kind, true)
		}
	}
	three, nasal := n.last == "サン", strings.HasSuffix(n.last, "ン")
	if c.kind == "p" && nasal || (c.kind == "g" || c.kind == "z") && three || c.kind == "b" && nasal && n.last != "ヨン" {
		return n.String() + voiced(c.kana, c.kind, false)
	}
	return n.String() + c.kana
}

// doubled returns the endings of numbers with a last sound that becomes ッ before a kind of counters.
func doubled(kind string) []string {
	switch kind {
	case "k", "g", "b", "p", "h":
		return []string{"イチ", "ロク", "ハチ", "ジュー", "ャク"}
	case "s", "z":
		return []string{"イチ", "ハチ", "ジュー"}
	case "l":
		return []string{"ロク", "ジュー", "ャク"}
	case "d":
		return []string{"ジュー"}
	}
	return nil
}

// counterOf returns a counter of the dictionary that the list lacks. It changes the number before it like most counters
// that begin with its sound and are written with a kanji.
func counterOf(m Morpheme) counter {
	first, _ := utf8.DecodeRuneInString(m.Pronunciation)
	written, _ := utf8.DecodeRuneInString(m.Surface)
	c := counter{kana: m.Pronunciation}
	switch {
	case !unicode.Is(unicode.Han, written):
	case strings.ContainsRune("カキクケコ", first):
		c.kind = "k"
	case strings.ContainsRune("サシスセソタチツテト", first):
		c.kind = "s"
	case strings.ContainsRune("ハヒフヘホ", first):
		c.kind = "h"
	}
	return c
}

// voiced returns a counter as it is after ッ, or after ン.
func voiced(kana, kind string, afterDoubled bool) string {
	first, size := utf8.DecodeRuneInString(kana)
	switch {
	case kind == "p" || kind == "h" || kind == "b" && afterDoubled:
		first += 'パ' - 'ハ'
	case !afterDoubled:
		first += 'バ' - 'ハ' // also ガ - カ and ゾ - ソ
	}
	return string(first) + kana[size:]
}

// count returns the reading of a number with a counter.
func count(n number, c counter) string {
	if whole, ok := c.whole[strconv.FormatInt(n.value, 10)]; ok {
		return whole
	}
	if digit := slices.Index(digitNames(), n.last); digit >= 0 && n.value != notInteger {
		if final, ok := c.final[strconv.Itoa(digit)]; ok {
			return n.head + final
		}
	}
	return join(n, c)
}
