package frontend

import (
	"regexp"
	"slices"
	"strings"
)

// slavic has what is known of a language whose nouns and numbers have cases, Polish or Russian, beside the tables that
// all languages have. A case is a letter: nominative, genitive, dative, accusative, instrumental, or prepositional,
// which Polish calls locative. The rows of its table are of these kinds, too:
//
//	case              a case, and how the names of the rules for numbers in it end
//	prep, clock       cases, and prepositions that govern them, and that govern them before an hour
//	declined          a gender with flags, and the forms of a noun
//	paradigm          a pattern and the forms that follow from what it matches, see paradigm
//	guess, suffix     endings of nouns, and those that are written after ordinal numbers, and what they may be
//	count             endings that are written after cardinal numbers, and the case
//	monthly           abbreviations, and the forms of a month
//	year, century     abbreviations, the noun, and for a date without a year's word that word
//	measure, coin     symbols, a noun, a template, and for a currency a hundredth
//	power             a symbol and a noun
//	decimal           a denominator, and its name after one and many, in the nominative and the genitive
//	correct           part of the name of rules for numbers, and what is to be replaced by what in what they spell
type slavic struct {
	russian     bool
	rows        map[string][][]string // by their kind, without it
	cases       map[string]string     // the ending of the names of sets of rules, by case
	governs     map[string]string     // the cases after a preposition, the likeliest first
	clocks      map[string]string     // the case of an hour after a preposition, where it is another
	forms       map[string][]reading  // readings of a word, in lower case
	endings     map[string][]reading  // readings of a word that is not in the table, by its ending
	suffixes    map[string][]reading  // the endings that are written after ordinal numbers: "5-го"
	counts      map[string]string     // the case by the endings that are written after cardinal numbers: "5-ти"
	decimals    map[string]string
	years       map[string]string // the noun by the abbreviation after a year
	spans       map[string]string // and by that after two years
	nouns       map[string]*noun  // by the first form
	scales      map[string]*noun
	centuries   map[string]*noun
	units       map[string]slavicUnit
	months      []*noun
	paradigms   []paradigm
	monthNumber map[string]int // by every way to write a month after a day
}

// noun has the forms of a noun by s or x for singular and plural, and case.
type noun struct {
	gender byte   // m, f or n; p for men, x where there is only a plural
	flags  string // ! if ordinal numbers stand before it; y if only years' do; r if it is the name of rulers
	forms  map[string]string
}

// paradigm has the forms of the nouns for which a pattern matches "s", the gender with flags, and the nominative,
// genitive and prepositional, or "x", the gender with flags, the nominative and genitive of the plural, and the
// prepositional. The forms are written as "sd=$1u", with parts of what the pattern matches.
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

// slavicUnit is a unit or a currency. In its template, "_" is the noun. Texts with strokes between them are for one,
// few, many, and a part of it.
type slavicUnit struct {
	noun     *noun
	template string
	sub      *noun // a hundredth of a currency
}

func parseSlavic(table string, russian bool) *slavic {
	g := &slavic{
		russian: russian, rows: make(map[string][][]string), forms: make(map[string][]reading),
		nouns: make(map[string]*noun), scales: make(map[string]*noun), centuries: make(map[string]*noun),
		units: make(map[string]slavicUnit), monthNumber: make(map[string]int),
	}
	for row := range rows(table, 5) {
		g.rows[row[0]] = append(g.rows[row[0]], row[1:])
	}
	g.cases, g.governs, g.clocks = g.pairs("case", 0, 1), g.pairs("prep", 1, 0), g.pairs("clock", 1, 0)
	g.counts, g.decimals = g.pairs("count", 0, 1), g.pairs("decimal", 0, 1)
	g.years, g.spans = g.pairs("year", 0, 1), g.pairs("years", 0, 1)
	g.endings, g.suffixes = parseReadings(g.pairs("guess", 0, 1)), parseReadings(g.pairs("suffix", 0, 1))
	for _, row := range g.rows["paradigm"] {
		g.paradigms = append(g.paradigms, paradigm{regexp.MustCompile(row[0]), row[1]})
	}
	for _, row := range g.rows["declined"] {
		g.addNoun(row[0], strings.Fields(row[1]))
	}
	for i, row := range g.rows["monthly"] {
		month := g.addNoun("m", strings.Fields(row[1]))
		g.months = append(g.months, month)
		for short := range strings.FieldsSeq(row[0] + " " + month.forms["sg"]) {
			g.monthNumber[short] = i + 1
		}
	}
	for _, readings := range g.forms {
		slices.SortFunc(readings, compareReadings)
	}
	g.addUnits()
	return g
}

// compareReadings puts the likeliest case first, and singular before plural.
func compareReadings(a, b reading) int {
	rank := func(r reading) int {
		plural := 0
		if r.plural {
			plural = 1
		}
		return strings.IndexByte(caseOrder, r.kase)<<9 | plural<<8 | int(r.gender)
	}
	return rank(a) - rank(b)
}

// pairs returns one field of rows by each word of another.
func (g *slavic) pairs(kind string, key, value int) map[string]string {
	pairs := make(map[string]string)
	for _, row := range g.rows[kind] {
		for word := range strings.FieldsSeq(row[key]) {
			pairs[word] = row[value]
		}
	}
	return pairs
}

// column returns the words of the first fields of rows.
func (g *slavic) column(kinds ...string) (all []string) {
	for _, kind := range kinds {
		for _, row := range g.rows[kind] {
			all = append(all, strings.Fields(row[0])...)
		}
	}
	return all
}

func (g *slavic) addUnits() {
	for _, row := range slices.Concat(g.rows["measure"], g.rows["coin"]) {
		for symbol := range strings.FieldsSeq(row[0]) {
			g.units[strings.TrimSuffix(symbol, ".")] = slavicUnit{g.nouns[row[1]], row[2], g.nouns[row[3]]}
		}
	}
	for short, name := range g.pairs("century", 0, 1) {
		g.centuries[short] = g.nouns[name]
	}
	for _, row := range g.rows["power"] {
		g.scales[strings.TrimSuffix(row[0], ".")] = g.nouns[row[1]]
	}
}

// parseReadings reads texts such as "fsg mxn": feminine, singular, genitive, or masculine, plural, nominative.
func parseReadings(texts map[string]string) map[string][]reading {
	all := make(map[string][]reading, len(texts))
	for key, text := range texts {
		for code := range strings.FieldsSeq(text) {
			all[key] = append(all[key], reading{gender: code[0], plural: code[1] == 'x', kase: code[2]})
		}
	}
	return all
}

// addNoun adds a noun by its gender with flags, and five forms: singular nominative, genitive and prepositional, plural
// nominative and genitive. The others follow from these.
func (g *slavic) addNoun(class string, f []string) *noun {
	n := &noun{gender: class[0], flags: class[1:], forms: map[string]string{"sn": f[0], "sg": f[1], "sp": f[2]}}
	g.decline(n, "s"+class, f[:3])
	if len(f) > 3 {
		g.decline(n, "x"+class, append(f[3:5:5], f[2]))
	}
	for cell, form := range n.forms {
		gender := n.gender
		if gender == 'x' {
			gender = 'n'
		}
		g.forms[form] = append(g.forms[form], reading{gender, cell[0] == 'x' || n.gender == 'x', cell[1], n})
	}
	if g.nouns[f[0]] == nil {
		g.nouns[f[0]] = n
	}
	return n
}

// caseOrder has the cases, the likeliest first.
const caseOrder = "nagpdi"

// decline adds the forms that follow from some forms of the singular or the plural of a class.
func (g *slavic) decline(n *noun, class string, forms []string) {
	text := class + " " + strings.Join(forms, " ")
	for _, p := range g.paradigms {
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

// category returns the plural category of a number.
func (g *slavic) category(n int64) string {
	if category := slavicPlural(n); g.russian || n == 1 || category != "one" {
		return category
	}
	return "other"
}

// countCases returns the cases of a number before a noun, by the form of that: "two books" are nominative or accusative
// where the noun is genitive in Russian.
func (g *slavic) countCases(category string, r reading) string {
	men, few := r.gender == 'p', category == "few"
	switch {
	case category == "one" && !r.plural, r.plural && strings.IndexByte("dip", r.kase) >= 0:
		return string(r.kase)
	case few && g.russian && !r.plural && r.kase == 'g', few && !g.russian && r.plural && r.kase == 'n':
		return "na"
	case category == "one" || !r.plural || r.kase != 'g':
		return ""
	case men && (few || !g.russian):
		return "ag"
	case few:
		return "g"
	default:
		return "nag"
	}
}

// form returns the form of a noun after a number in a case.
func (g *slavic) form(n *noun, count int64, kase byte) string {
	category := g.category(count)
	switch {
	case category == "one":
		return n.forms["s"+string(kase)]
	case kase != 'n' && kase != 'a':
		return n.forms["x"+string(kase)]
	case category == "few" && g.russian:
		return n.forms["sg"]
	case category == "few":
		return n.forms["xn"]
	default:
		return n.forms["xg"]
	}
}

// readings returns the readings of a word.
func (g *slavic) readings(word string) []reading {
	word = strings.ToLower(word)
	if known := g.forms[word]; known != nil {
		return known
	}
	for i := range word {
		if readings := g.endings[word[i:]]; readings != nil {
			return readings
		}
	}
	return nil
}

var slavicGenders = map[byte]string{'m': "masculine", 'f': "feminine", 'n': "neuter", 'p': "masculine"}

// counted spells a cardinal number.
func (l *locale) counted(n int64, gender, kase byte) string {
	set := "%spellout-cardinal-" + slavicGenders[gender] + l.slavic.cases[string(kase)]
	if gender == 'p' && !l.slavic.russian && (kase == 'n' || kase == 'a') {
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
	set := "%spellout-ordinal-" + gender + l.slavic.cases[string(r.kase)]
	hundreds := n % 1000
	if !l.slavic.russian || hundreds%100 != 0 || hundreds < 200 {
		return l.spell(set, n)
	}
	spoken := strings.TrimSuffix(l.counted(hundreds, 'f', 'g'), "сот") + l.spell(set, 100)
	if n > 1000 {
		spoken = strings.TrimPrefix(l.counted(n-hundreds, 'f', 'n'), "одна ") + " " + spoken
	}
	return spoken
}

// corrected replaces errors of the rules of numbers, and spellings that engines read wrongly.
func (g *slavic) corrected(set, spoken string) string {
	for _, row := range g.rows["correct"] {
		if strings.Contains(set, row[0]) {
			spoken = strings.ReplaceAll(spoken, row[1], row[2])
		}
	}
	return spoken
}

// dotted returns a pattern of texts, of which a full stop at the end may be missing, and one within may be followed by
// a space.
func dotted(texts []string) string {
	return strings.TrimSuffix(strings.NewReplacer(`\.|`, `\.?|`, `\.`, `\.\s?`).Replace(alternatives(texts)+"|"), "|")
}
