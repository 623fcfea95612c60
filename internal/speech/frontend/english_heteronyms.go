package frontend

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:embed heteronyms.tsv
var heteronymTable string

// heteronym is one of the readings of a word that has several.
type heteronym struct {
	class         class
	spoken        string          // in letters that all engines say that way
	before, after map[string]bool // words beside which it is this reading, two with a hyphen between them
}

// class is the part of speech in which a heteronym has a reading. The table has others, which only neighbours show.
type class string

// Classes that the words around a heteronym ask for.
const (
	unknownClass   class = ""
	verbClass      class = "verb"
	pastClass      class = "past" // of "read"
	nounClass      class = "noun"
	adjectiveClass class = "adjective"
	predicateClass class = "predicate" // an adjective, but not before a noun
)

// usual marks the class of a word's default reading.
const usual = "*"

// heteronyms holds the table by words: word, class, spoken form, words before it, words after it.
var heteronyms = sync.OnceValue(func() map[string][]heteronym {
	all := map[string][]heteronym{}
	for f := range rows(heteronymTable, 5) {
		all[f[0]] = append(all[f[0]], heteronym{
			class(f[1]), f[2], words(strings.Fields(f[3])...), words(strings.Fields(f[4])...),
		})
	}
	return all
})

// heteronymPattern matches the words of the table.
func heteronymPattern() string {
	return `(?i)(?:` + alternatives(slices.Collect(maps.Keys(heteronyms()))) + `)`
}

// sayHeteronym chooses the reading of a heteronym by its neighbours.
func sayHeteronym(c *context) (string, bool) {
	word := strings.ToLower(c.groups[0])
	readings := heteronyms()[word]
	before, next := c.wordsBefore(), strings.ToLower(c.next())
	if strings.HasPrefix(c.after, "-") {
		next, _, _ = strings.Cut(strings.ToLower(c.after[1:min(len(c.after), window)]), " ")
	}
	r, ok := c.besideItsWords(readings, before, next)
	if !ok {
		r, ok = c.ofClass(readings, c.classOf(before, next), next)
	}
	if !ok || r.spoken == word {
		return "", false
	}
	if startsUpper(c.groups[0]) {
		return strings.ToUpper(r.spoken[:1]) + r.spoken[1:], true
	}
	return r.spoken, true
}

// wordsBefore returns the words before the position in the same clause, the nearest first, at least three.
func (c *context) wordsBefore() []string {
	head := strings.ReplaceAll(strings.ToLower(c.text[max(0, c.at-60):c.at]), "’", "'")
	if i := strings.LastIndexAny(head, ".!?;:,\n\"“("); i >= 0 {
		head = head[i+1:]
	}
	found := append([]string{"", "", ""}, strings.Fields(strings.Trim(head, "*_ "))...)
	var nearest []string
	for i := len(found) - 1; i >= 0; i-- {
		if !c.locale.tables.sets["adverbs"][found[i]] || len(found) == 3 {
			nearest = append(nearest, found[i])
		}
	}
	return nearest
}

// besideItsWords returns the reading that has a neighbour in the table. The words before it count more.
func (c *context) besideItsWords(readings []heteronym, before []string, next string) (heteronym, bool) {
	for _, r := range readings {
		if r.before[before[0]] || r.before[before[1]+"-"+before[0]] {
			return r, true
		}
	}
	if sets := c.locale.tables.sets; sets["modals"][before[0]] || sets["perfects"][before[0]] {
		return heteronym{}, false
	}
	for _, r := range readings {
		if r.after[next] && !(r.class == verbClass && c.isNominal(before[0])) {
			return r, true
		}
	}
	return heteronym{}, false
}

func (c *context) isNominal(before string) bool {
	sets := c.locale.tables.sets
	return sets["determiners"][before] || sets["prepositions"][before] || strings.HasSuffix(before, "'s")
}

// classOf returns the class that the neighbours of a word ask for.
func (c *context) classOf(before []string, next string) class {
	last, sets := before[0], c.locale.tables.sets
	if sets["pronouns"][last] && (sets["modals"][before[1]] || sets["perfects"][before[1]]) { // "have you read"
		last = before[1]
	}
	object := sets["determiners"][next] || sets["pronouns"][next]
	switch {
	case last == "" && object, sets["modals"][last]:
		return verbClass
	case sets["plurals"][last]:
		return c.presentOrPast()
	case sets["singulars"][last]:
		return pastClass
	case sets["perfects"][last]:
		return pastClass
	case sets["copulas"][last]:
		return predicateClass
	case c.isNominal(last):
		return nounClass
	case last != "" && (object || next == "to" || next == "when") && strings.HasSuffix(last, "s"):
		return c.presentOrPast()
	case last != "" && object:
		return pastClass
	case last != "" && c.isFunction(next) && !strings.HasSuffix(last, "s"): // "commercial use"
		return nounClass
	}
	return unknownClass
}

// presentOrPast decides by words of time in the rest of the sentence, or at its beginning.
func (c *context) presentOrPast() class {
	rest, _, _ := strings.Cut(c.after[:min(len(c.after), window)], ".")
	for _, word := range append(c.wordsBefore(), strings.Fields(rest)...) {
		if c.locale.tables.sets["pastTimes"][word] {
			return pastClass
		}
	}
	return verbClass
}

// ofClass returns the reading for a class, or the usual one.
func (c *context) ofClass(readings []heteronym, wanted class, next string) (heteronym, bool) {
	for _, w := range map[class][]class{
		verbClass:      {verbClass},
		pastClass:      {pastClass, adjectiveClass, nounClass},
		predicateClass: {predicateClass, adjectiveClass, pastClass, nounClass},
		nounClass:      c.nounsBefore(next),
	}[wanted] {
		for _, r := range readings {
			if strings.TrimSuffix(string(r.class), usual) == string(w) {
				return r, true
			}
		}
	}
	for _, r := range readings {
		if strings.HasSuffix(string(r.class), usual) {
			return r, true
		}
	}
	return heteronym{}, false
}

// nounsBefore prefers an adjective before what may be a noun.
func (c *context) nounsBefore(next string) []class {
	if c.isFunction(next) {
		return []class{nounClass, adjectiveClass}
	}
	return []class{adjectiveClass, nounClass}
}

// isFunction reports whether a word begins no noun, or is missing.
func (c *context) isFunction(word string) bool {
	return word == "" || c.locale.tables.sets["functionWords"][word]
}
