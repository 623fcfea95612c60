package frontend

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// declension holds the nouns and cases of Polish or Russian. A case is a letter: nominative, genitive, dative,
// accusative, instrumental, or prepositional, which Polish calls locative. Tables of these languages have rows of more
// kinds, and units have the name of a noun and a template, see declinable:
//
//	declined          a gender with flags, and the forms of a noun
//	paradigm          a pattern and the forms that follow from a match, see paradigm
//	guess             endings of nouns, and their possible readings
//	suffix            endings that are written after ordinal numbers, and their possible readings
//	correct           part of the name of rules for numbers, and a text and its replacement in their output
//
// Rows of other kinds have words and their values:
//
//	case              a case, and how the names of the rules for numbers in it end
//	prep, clock       prepositions, and the cases that they govern, the likeliest first, and govern before an hour
//	count             endings that are written after cardinal numbers, and the case
//	year, years       abbreviations after a year and after two, and the noun
//	century           abbreviations, and the noun
//	decimal           a denominator, and its name after one and many, in the nominative and the genitive
//	collective        a noun, and the numbers of two and more of it
type declension struct {
	nouns       map[string]*noun     // by the first form
	forms       map[string][]reading // readings of a word, in lower case
	guesses     map[string][]reading // of nouns, by their endings
	suffixes    map[string][]reading // of ordinal numbers, by the endings that are written after them
	pairs       map[string]map[string]string
	paradigms   []paradigm
	corrections [][]string
}

// noun has the forms of a noun by s or x for singular and plural, and case.
type noun struct {
	gender byte // m, f or n; p for men, x where there is only a plural
	// flags has ! if ordinal numbers stand before it, y if only years do, r if it is the name of rulers, M if it is a
	// month, and D if it is a day of the week
	flags string
	forms map[string]string
}

// paradigm holds the other forms of the nouns that match a pattern, written as "sd=$1u" with groups of the match. The
// pattern is matched against "s", the gender with flags, and the nominative, genitive and prepositional, and against
// "x", the gender with flags, the nominative and genitive of the plural, and the prepositional.
type paradigm struct {
	pattern *regexp.Regexp
	cells   string
}

// reading is one grammatical reading of a form of a noun or an adjective.
type reading struct {
	gender byte
	plural bool
	kase   byte
	noun   *noun // nil if it is guessed
}

// declinable holds the nouns of a unit or a currency and of its hundredth. In the template, "_" is the noun, and texts
// divided by strokes are for one, few, many, and a part.
type declinable struct {
	noun, part *noun
	template   string
}

func newDeclension() declension {
	return declension{
		nouns: make(map[string]*noun), forms: make(map[string][]reading), guesses: make(map[string][]reading),
		suffixes: make(map[string][]reading), pairs: make(map[string]map[string]string),
	}
}

// declines reports whether nouns and numbers have cases.
func (t *tables) declines() bool { return len(t.paradigms) > 0 }

// isRussian reports whether the language is Russian rather than Polish: nouns after numbers such as 21 are singular, as
// are those after few, and hours are counted.
func (t *tables) isRussian() bool { return t.words["language"] == "ru" }

// learnGrammar adds a row about cases.
func (t *tables) learnGrammar(kind, key, value, third string) {
	switch kind {
	case "correct":
		t.corrections = append(t.corrections, []string{key, value, third})
	case "paradigm":
		t.paradigms = append(t.paradigms, paradigm{regexp.MustCompile(key), value})
	case "declined":
		t.addNoun(key, strings.Fields(value))
	}
	if t.pairs[kind] == nil {
		t.pairs[kind] = make(map[string]string)
	}
	for word := range strings.FieldsSeq(key) {
		switch kind {
		case "guess":
			t.guesses[word] = parseReadings(value)
		case "suffix":
			t.suffixes[word] = parseReadings(value)
		}
		t.pairs[kind][word] = value
	}
}

// rank is lower for likelier cases, and for singular than for plural.
func (r reading) rank() int {
	return strings.IndexByte(caseOrder, r.kase)<<9 | map[bool]int{true: 1}[r.plural]<<8 | int(r.gender)
}

func (d *declension) keys(kind string) []string { return slices.Collect(maps.Keys(d.pairs[kind])) }

// parseReadings reads texts such as "fsg mxn": feminine, singular, genitive, or masculine, plural, nominative.
func parseReadings(text string) (all []reading) {
	for code := range strings.FieldsSeq(text) {
		all = append(all, reading{gender: code[0], plural: code[1] == 'x', kase: code[2]})
	}
	return all
}

// addNoun adds a noun by its gender with flags, and five forms: singular nominative, genitive and prepositional, plural
// nominative and genitive. The others follow from these.
func (d *declension) addNoun(class string, f []string) {
	n := &noun{gender: class[0], flags: class[1:], forms: map[string]string{"sn": f[0], "sg": f[1], "sp": f[2]}}
	d.decline(n, "s"+class, f[:3])
	if len(f) > 3 {
		d.decline(n, "x"+class, append(f[3:5:5], f[2]))
	}
	for cell, form := range n.forms {
		gender := n.gender
		if gender == 'x' {
			gender = 'n'
		}
		d.forms[form] = append(d.forms[form], reading{gender, cell[0] == 'x' || n.gender == 'x', cell[1], n})
		slices.SortFunc(d.forms[form], func(a, b reading) int { return a.rank() - b.rank() })
	}
	if d.nouns[f[0]] == nil {
		d.nouns[f[0]] = n
	}
}

// caseOrder has the cases, the likeliest first.
const caseOrder = "nagpdi"

// decline adds the forms that follow from some forms of the singular or the plural of a class.
func (d *declension) decline(n *noun, class string, forms []string) {
	text := class + " " + strings.Join(forms, " ")
	for _, p := range d.paradigms {
		match := p.pattern.FindStringSubmatchIndex(text)
		if match == nil {
			continue
		}
		for cell := range strings.FieldsSeq(string(p.pattern.ExpandString(nil, p.cells, text, match))) {
			name, form, _ := strings.Cut(cell, "=")
			n.forms[name] = form
		}
		return
	}
}

// flagged returns the forms of the nouns with a flag.
func (d *declension) flagged(flag string) (forms []string) {
	for form, readings := range d.forms {
		if slices.ContainsFunc(readings, func(r reading) bool { return strings.Contains(r.noun.flags, flag) }) {
			forms = append(forms, form)
		}
	}
	return forms
}

// declinableOf returns a unit with its noun, of which the measure has the name.
func (d *declension) declinableOf(m measure) measure {
	m.noun, m.part, m.template, m.sub = d.nouns[m.one], d.nouns[m.subOne], m.many, m.subOne
	if m.template == m.one {
		m.template = "_"
	}
	m.one, m.many = m.say(0, m.noun.forms["sa"]), m.say(2, m.noun.forms["xg"])
	return m
}

// say returns the name of a unit, with the form of its noun, for one, few, many or a part.
func (u declinable) say(count int, noun string) string {
	var out []string
	for part := range strings.FieldsSeq(u.template) {
		forms := strings.Split(part, "/")
		out = append(out, forms[min(count, len(forms)-1)])
	}
	return strings.ReplaceAll(strings.Join(out, " "), "_", noun)
}

// category returns the plural category of a number.
func (t *tables) category(n int64) string {
	if category := slavicPlural(n); t.isRussian() || n == 1 || category != "one" {
		return category
	}
	return "other"
}

// countCases returns the cases of a number before a noun, by the form of that: "two books" are nominative or accusative
// where the noun is genitive in Russian.
func (t *tables) countCases(category string, r reading) string {
	men, few, russian := r.gender == 'p', category == "few", t.isRussian()
	switch {
	case category == "one" && !r.plural, r.plural && strings.IndexByte("dip", r.kase) >= 0:
		return string(r.kase)
	case few && russian && !r.plural && r.kase == 'g', few && !russian && r.plural && r.kase == 'n':
		return "na"
	case category == "one" || !r.plural || r.kase != 'g':
		return ""
	case men && (few || !russian):
		return "ag"
	case few:
		return "g"
	default:
		return "nag"
	}
}

// form returns the form of a noun after a number in a case.
func (t *tables) form(n *noun, count int64, kase byte) string {
	switch category := t.category(count); {
	case category == "one":
		return n.forms["s"+string(kase)]
	case kase != 'n' && kase != 'a':
		return n.forms["x"+string(kase)]
	case category == "few" && t.isRussian():
		return n.forms["sg"]
	case category == "few":
		return n.forms["xn"]
	default:
		return n.forms["xg"]
	}
}

// readings returns the readings of a word.
func (d *declension) readings(word string) []reading {
	word = strings.ToLower(word)
	if known := d.forms[word]; known != nil {
		return known
	}
	for i := range word {
		if readings := d.guesses[word[i:]]; readings != nil {
			return readings
		}
	}
	return nil
}

func singular(readings []reading) []reading {
	return slices.DeleteFunc(slices.Clone(readings), func(r reading) bool {
		return r.plural && (r.noun == nil || r.noun.gender != 'x')
	})
}

// isOfYears reports whether a noun is "годах" or the like, which follow years and no counts of them.
func isOfYears(r reading) bool {
	return r.noun != nil && r.noun.flags == "y" && r.plural && r.kase != 'g'
}

func (r reading) isSingular() bool { return !r.plural }

func (r reading) agreesWith(noun reading) bool {
	return r.kase == noun.kase && r.plural == noun.plural && (r.plural || r.gender == noun.gender)
}

func (n *noun) takesOrdinals(number int64) bool {
	return strings.Contains(n.flags, "!") || n.flags == "y" && number >= 1000 && number < 3000
}

// corrected replaces errors of the rules of numbers, and spellings that engines read wrongly.
func (d *declension) corrected(set, spoken string) string {
	for _, row := range d.corrections {
		if strings.Contains(set, row[0]) {
			spoken = strings.ReplaceAll(spoken, row[1], row[2])
		}
	}
	return spoken
}

var slavicGenders = map[byte]string{'m': "masculine", 'f': "feminine", 'n': "neuter", 'p': "masculine"}

// cardinal spells a cardinal number in a case.
func (l *locale) cardinal(n int64, gender, kase byte) string {
	set := "%spellout-cardinal-" + slavicGenders[gender] + l.tables.pairs["case"][string(kase)]
	if gender == 'p' && !l.tables.isRussian() && (kase == 'n' || kase == 'a') {
		set += "-personal"
	}
	if spoken := l.spell(set, n); spoken != "" {
		return spoken
	}
	return l.spell(l.counting, n)
}

// ordered spells an ordinal number. The rules lack the Russian hundreds.
func (l *locale) ordered(n int64, r reading) string {
	gender := slavicGenders[r.gender]
	if r.plural {
		gender = "plural"
	}
	set := "%spellout-ordinal-" + gender + l.tables.pairs["case"][string(r.kase)]
	hundreds := n % 1000
	if !l.tables.isRussian() || hundreds%100 != 0 || hundreds < 200 {
		return l.spell(set, n)
	}
	spoken := strings.TrimSuffix(l.cardinal(hundreds, 'f', 'g'), "сот") + l.spell(set, 100)
	if n > 1000 {
		spoken = strings.TrimPrefix(l.cardinal(n-hundreds, 'f', 'n'), "одна ") + " " + spoken
	}
	return spoken
}

// governed returns the cases after the word before the position, the likeliest first, or "".
func (c *context) governed() string {
	before := c.before()
	if sign := c.previous(); before == "" && strings.ContainsRune("+-−", sign) {
		s := *c.scanner
		s.at -= utf8.RuneLen(sign)
		return (&context{scanner: &s}).governed()
	}
	if utf8.RuneCountInString(before) == 1 && strings.HasSuffix(strings.TrimRight(c.text[:c.at], " "), ".") {
		return "" // an abbreviation
	}
	if before != "" && strings.Contains("aiи", strings.ToLower(before)) { // between an amount and another
		words := strings.Fields(c.text[max(0, c.at-60):c.at])
		if n := len(words); n >= 3 && c.locale.tables.sets["between"][strings.ToLower(words[n-3])] {
			before = words[n-3]
		}
	}
	return c.locale.tables.pairs["prep"][strings.ToLower(before)]
}

// kase returns the case after the word before the position, or another if there is none.
func (c *context) kase(otherwise byte) byte {
	if governed := c.governed(); governed != "" {
		return governed[0]
	}
	return otherwise
}

// clockCase returns the case of a day or an hour by the word before it, or another if that is no preposition.
func (c *context) clockCase(otherwise byte) byte {
	if kase := c.locale.tables.pairs["clock"][strings.ToLower(c.before())]; kase != "" {
		return kase[0]
	}
	return c.kase(otherwise)
}

// dayCase returns the case of a day by the word before it: "on the third" is genitive without a preposition.
func (c *context) dayCase() byte {
	if c.isAfter("today") {
		return 'n'
	}
	return c.clockCase('g')
}

// declined returns a noun in the case of the preposition before the position.
func (c *context) declined(name string) string {
	noun, kase := c.locale.tables.nouns[name], c.kase('n')
	if noun == nil {
		return name
	}
	preferred := "dp"
	if noun.flags == "D" { // "в понедельник", "od pon. do pt."
		preferred = "ag"
	}
	if i := strings.IndexAny(c.governed(), preferred); i >= 0 {
		kase = c.governed()[i]
	}
	return noun.forms["s"+string(kase)]
}

// likeAdjective reports whether a word in lower case is no noun by its ending.
func (t *tables) likeAdjective(word string) bool {
	for i := range word {
		if i > 0 && t.sets["adjective"][word[i:]] {
			return t.forms[word] == nil
		}
	}
	return false
}

// nounAfter returns the readings of the noun after the position.
func (c *context) nounAfter() []reading {
	t, word := c.locale.tables, c.next()
	lower := strings.ToLower(word)
	if word == "" || t.pairs["prep"][lower] != "" || t.sets["little"][lower] || slices.Contains(t.bare, lower) {
		return nil
	}
	if t.likeAdjective(lower) {
		_, rest, _ := strings.Cut(c.after[:min(len(c.after), 120)], word)
		second := firstWord(strings.TrimPrefix(rest, " "))
		if t.readings(second) != nil && t.pairs["prep"][second] == "" {
			return t.readings(second)
		}
	}
	return t.readings(word)
}

// nounBefore returns the likeliest reading of the noun before the position, if it has one of the flags, with a plural
// where years are counted.
func (c *context) nounBefore(flags string) (reading, bool) {
	before := c.before()
	known := c.locale.tables.forms[strings.ToLower(before)]
	if known == nil {
		return reading{}, false
	}
	return likeliest(known, c.earlier(before).governed(), func(r reading) bool {
		return strings.ContainsAny(r.noun.flags, flags) && (r.plural || r.noun.flags != "y")
	})
}

// agree returns the gender and the case of a number before a noun.
func (c *context) agree(n int64, readings []reading) (gender, kase byte, ok bool) {
	t, governed := c.locale.tables, c.governed()
	category := t.category(n)
	if category == "few" && strings.IndexByte(governed, 'g') < 0 { // else nouns in the genitive are guessed of verbs
		readings = slices.DeleteFunc(slices.Clone(readings), func(r reading) bool {
			return r.noun == nil && r.plural && r.kase == 'g' && r.gender != 'p'
		})
	}
	for _, wanted := range []byte(governed + caseOrder) {
		for _, r := range readings {
			if strings.IndexByte(t.countCases(category, r), wanted) >= 0 {
				return r.gender, wanted, true
			}
		}
	}
	return 'm', c.kase('n'), false
}

// likeliest returns the first reading for which a condition holds, in one of the governed cases rather than another.
func likeliest(readings []reading, governed string, holds func(reading) bool) (reading, bool) {
	for _, wanted := range []byte(governed + caseOrder) {
		for _, r := range readings {
			if r.kase == wanted && holds(r) {
				return r, true
			}
		}
	}
	return reading{}, false
}

// orderedBy returns how an ordinal number agrees with a noun near it, which it does if the noun is often numbered and
// is no count of the number.
func (c *context) orderedBy(n int64, readings []reading, governed string) (reading, bool) {
	takes := func(r reading) bool { return r.noun != nil && r.noun.takesOrdinals(n) }
	if r, ok := likeliest(singular(readings), governed, takes); ok {
		return r, true
	}
	return likeliest(readings, governed, takes)
}

// chosen returns the first reading of an ordinal number that agrees with a noun and the preposition before it, or with
// one of these.
func (c *context) chosen(options, nouns []reading) reading {
	agrees := func(r reading) bool { return slices.ContainsFunc(nouns, r.agreesWith) }
	if r, ok := likeliest(options, c.governed(), agrees); ok {
		return r
	}
	for _, wanted := range []byte(c.governed()) {
		if i := slices.IndexFunc(options, func(o reading) bool { return o.kase == wanted }); i >= 0 {
			return options[i]
		}
	}
	return options[0]
}
