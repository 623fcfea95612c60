package frontend

import (
	"cmp"
	"embed"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

//go:embed rules/*.txt rules/*.tsv tables/*.tsv
var files embed.FS

// tables holds the data of a language for the shared rules: its words, the genders of its nouns, its months and units.
// A table has a row for each of them, which begins with its kind:
//
//	mark, sign, symbol  a character and its name in an address, before a number and alone
//	numeral             the patterns of numbers with separators of thousands and without
//	word                a word or a choice of this language by its name, see the methods that read it
//	set                 a role, and the words in lower case that have it
//	noun, ending        a gender, and nouns or endings of nouns of it
//	month               a name and its abbreviations, or with a capital other names
//	weekday             a name, its abbreviations, and those that are words, too
//	ordinal             a suffix of digits and the set of rules that spells them
//	part                a denominator, and the name of one and of several such parts
//	unit, money, scale  a symbol, its gender, one, many, and a hundredth, one and many
//	short               an abbreviation, its long form and its conditions
//	spell               a set of rules of numbers, a base and a text, in addition to the rules of the CLDR
//	rule                a kind, a pattern in which {N} is a number, and its spoken form, see sayTemplate
type tables struct {
	words    map[string]string
	sets     map[string]map[string]bool
	genders  map[string]byte
	endings  [][2]string // ending and gender
	months   []string
	monthOf  map[string]int // by name and abbreviation, from 1
	ordinals map[string]string
	parts    map[string][3]string // one, several, and one after a whole number
	money    map[string]bool
	scales   map[string]measure
	bare     []string          // abbreviations without a full stop
	said     map[string]string // the full names of months by those in monthOf
	own      []rule            // of which the table has the patterns
	declension
	grouped string // the pattern of numbers with separators of thousands
	plain   string // and of those without
}

// measure is a unit or a currency.
type measure struct {
	gender      byte
	one, many   string
	subOne, sub string // one and many hundredths of a currency
	declinable
}

// abbreviation is an abbreviation's long form, which may have another one for women after a stroke. The conditions are
// letters. The first row with true conditions is taken.
//
//	t           no sentence ends with it
//	1 X Y       a number, a number that may be Roman, or a year must follow
//	N R A       a name must follow, or the name of a ruler, or no name may
//	D l         a date, or a word in lower case must follow
//	w m         another day of the week or month must be joined to it
//	# U W I     a number, or a name must precede it, or no punctuation, or no initial may
//	= .         it may lack its full stop, or must have one
//	c           the long form is declined
type abbreviation struct{ long, conditions string }

// rows yields the lines of a table, each with n fields.
func rows(table string, n int) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(table) {
			fields := append(strings.Split(strings.TrimSuffix(line, "\n"), "\t"), make([]string, n)...)
			if !yield(fields[:n]) {
				return
			}
		}
	}
}

func firstWord(text string) string {
	if i := strings.IndexFunc(text, func(r rune) bool { return !isWord(r) }); i >= 0 {
		return text[:i]
	}
	return text
}

// tabled are the locales of such languages by the engine's codes.
var tabled = map[string]func() *locale{
	"fr-fr":  sync.OnceValue(func() *locale { return newTabled("fr", "fr", "fr") }),
	"fr-be":  sync.OnceValue(func() *locale { return newTabled("fr-BE", "fr", "fr") }),
	"fr-ch":  sync.OnceValue(func() *locale { return newTabled("fr-CH", "fr", "fr") }),
	"es":     sync.OnceValue(func() *locale { return newTabled("es", "es", "es") }),
	"es-419": sync.OnceValue(func() *locale { return newTabled("es", "es", "es", "es-419") }),
	"it":     sync.OnceValue(func() *locale { return newTabled("it", "it", "it") }),
	"nl":     sync.OnceValue(func() *locale { return newTabled("nl", "nl", "nl") }),
	"de":     sync.OnceValue(newGerman),
	"pl":     sync.OnceValue(func() *locale { return newSlavic("pl") }),
	"pt":     sync.OnceValue(func() *locale { return newTabled("pt-PT", "pt", "pt", "pt-PT") }),
	"pt-br":  sync.OnceValue(func() *locale { return newTabled("pt", "pt", "pt") }),
	"ru":     sync.OnceValue(func() *locale { return newSlavic("ru") }),
	"ru-lv":  sync.OnceValue(func() *locale { return newSlavic("ru") }),
}

// file returns the content of an embedded file, or "" if there is none.
func file(name string) string {
	content, err := files.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(content)
}

// newTabled makes a locale with only the shared rules.
func newTabled(numbers, emoji string, names ...string) *locale {
	l := newTables(numbers, emoji, names...)
	l.rules = l.tabledRules(nil, nil)
	return l
}

// newTables makes a locale without rules of the CLDR's rules for numbers of one language, its names of emoji of
// another, and of tables, of which a later one replaces rows of the earlier ones.
func newTables(numbers, emoji string, names ...string) *locale {
	l := &locale{
		speller:  parseRules(file("rules/" + numbers + ".txt")),
		emoji:    sync.OnceValue(func() map[string]string { return parseEmoji(file("rules/emoji-" + emoji + ".tsv")) }),
		counting: "%spellout-numbering", units: make(map[string]measure),
		abbreviations: make(map[string][]abbreviation),
		tables: &tables{
			words: make(map[string]string), sets: map[string]map[string]bool{"weekday": {}, "month": {}},
			genders: make(map[string]byte),
			monthOf: make(map[string]int), ordinals: make(map[string]string), parts: make(map[string][3]string),
			money: make(map[string]bool), scales: make(map[string]measure), said: make(map[string]string),
			grouped: groupedNumeral, plain: plainNumeral, declension: newDeclension(),
		},
		names: map[string]map[string]string{"mark": {}, "sign": {}, "symbol": {}},
	}
	for _, name := range names {
		for row := range rows(file("tables/"+name+".tsv"), maxFields) {
			l.learn(row)
		}
	}
	t := l.tables
	t.words["ratio"] = cmp.Or(t.words["ratio"], t.words["to"])
	l.ordinals, l.clocked = "%spellout-ordinal-masculine", sayClock
	if set := t.words["ordinals"]; set != "" {
		l.counting, l.ordinals = t.words["counting"], set
	}
	for name, full := range t.said {
		if name != strings.ToLower(full) {
			l.learnShort(name, abbreviation{full, "=tY"})
			if startsUpper(full) {
				name = capital(name)
			}
			l.learnShort(name, abbreviation{full, "=m"})
		}
	}
	return l
}

// maxFields is the number of fields of the longest row of a table.
const maxFields = 8

// learn adds a row of a table.
func (l *locale) learn(row []string) {
	t, key, value := l.tables, row[1], row[2]
	switch row[0] {
	case "mark", "sign", "symbol":
		l.names[row[0]][key] = value
	case "word":
		t.words[key] = value
	case "ordinal":
		t.ordinals[key] = value
	case "numeral":
		t.grouped, t.plain = key, value
	case "part":
		t.parts[key] = [3]string{value, row[3], row[4]}
	case "rule":
		t.own = append(t.own, on(Kind(key), strings.ReplaceAll(value, "{N}", t.numeral()), sayTemplate(row[3])))
	case "short":
		l.learnShort(key, abbreviation{value, row[3]})
	case "weekday":
		l.learnWeekday(key, strings.Fields(value), strings.Fields(row[3]))
	case "unit", "money", "scale":
		l.learnMeasure(row)
	case "spell":
		l.speller.learn(key, value, row[3])
	case "set", "noun", "ending", "month":
		t.learnWords(row[0], key, strings.Fields(value))
	default:
		t.learnGrammar(row[0], key, value, row[3])
	}
}

// numeral is the pattern of numbers.
func (t *tables) numeral() string { return `(?:` + t.grouped + `|` + t.plain + `)` }

// learnWords adds words of which there are several in a row.
func (t *tables) learnWords(kind, key string, list []string) {
	switch kind {
	case "set":
		set := words(list...)
		maps.Copy(set, t.sets[key])
		t.sets[key] = set
	case "noun":
		for _, noun := range list {
			t.genders[noun] = key[0]
		}
	case "ending":
		for _, ending := range list {
			t.endings = append(t.endings, [2]string{ending, key})
		}
	case "month":
		t.months = append(t.months, key)
		for _, name := range append(list, key) {
			lower := strings.ToLower(name)
			t.monthOf[lower], t.said[lower], t.sets["month"][lower] = len(t.months), key, true
			if startsUpper(name) {
				t.said[lower] = name
			}
		}
	}
}

// learnShort adds an abbreviation. One with the condition "=" is written without a full stop, too.
func (l *locale) learnShort(key string, a abbreviation) {
	l.abbreviations[key] = append(l.abbreviations[key], a)
	if strings.Contains(a.conditions, "=") && !slices.Contains(l.tables.bare, key) {
		l.tables.bare = append(l.tables.bare, key)
	}
}

// learnWeekday adds a day of the week with its short names. Those that are words as well are days only in a span of
// days.
func (l *locale) learnWeekday(day string, names, words []string) {
	days := l.tables.sets["weekday"]
	days[strings.ToLower(day)] = true
	for _, name := range slices.Concat(names, words) {
		days[strings.ToLower(name)] = true
		l.learnShort(name, abbreviation{day, "=wc"})
	}
	for _, name := range names {
		l.learnShort(name, abbreviation{day, "tDc"})
		l.learnShort(name, abbreviation{day, "tlc"})
		l.learnShort(name, abbreviation{day, "=t1c"})
	}
}

func (l *locale) learnMeasure(row []string) {
	m := measure{gender: (row[2] + "m")[0], one: row[3], many: row[4], subOne: row[5], sub: row[6]}
	if m.many == "" {
		m.many = m.one
	}
	for symbol := range strings.FieldsSeq(row[1]) {
		if row[0] == "scale" {
			l.tables.scales[symbol] = m
			continue
		}
		l.units[symbol] = m
		l.tables.money[symbol] = row[0] == "money"
	}
}

// genderOf returns the gender of a noun, or 0 if it is unknown. The plural of a noun has the gender of the noun.
func (t *tables) genderOf(noun string) byte {
	if t.sets["small"][noun] {
		return 0
	}
	for _, form := range t.formsOf(noun) {
		if gender, ok := t.genders[form]; ok {
			return gender
		}
	}
	for _, e := range t.endings {
		if strings.HasSuffix(strings.ToLower(noun), e[0]) && len(noun) > len(e[0])+1 {
			return e[1][0]
		}
	}
	return 0
}

// counted returns the gender of the counted noun, or 0 if there is none, as in "page 21". The noun may follow an
// adjective, or another number: "1 ou 2 pages".
func (c *context) counted(written string) byte {
	t := c.locale.tables
	switch {
	case t.hasCapitals():
		return c.nounGender()
	case len(t.genders) == 0: // of English
		return 0
	}
	before := strings.ToLower(c.label())
	if t.sets["label"][before] || t.sets["year"][before] && len(written) == 4 {
		return 0
	}
	after := c.after[:min(len(c.after), 80)]
	for range 2 {
		noun, rest := spacedWord(after[len(rangeAfter.FindString(after)):])
		if !startsLower(noun) || t.sets["small"][noun] {
			return 0
		}
		isPlural := t.words["plurals"] == "" || strings.ContainsRune(t.words["plurals"], rune(noun[len(noun)-1]))
		if gender := t.genderOf(noun); gender != 0 && (isPlural || written == "1") {
			return gender
		}
		after = rest
	}
	return 0
}

// isAfter reports whether the word before the position has a role.
func (s *scanner) isAfter(role string) bool {
	return s.locale.tables.sets[role][strings.ToLower(s.before())]
}

// label returns the word before the position unless a comma divides the two.
func (c *context) label() string {
	if strings.HasSuffix(strings.TrimRight(c.text[:c.at], " \u00a0"), ",") {
		return ""
	}
	return c.before()
}

// spacedWord returns the word after a space, and the rest.
func spacedWord(text string) (word, rest string) {
	r, size := utf8.DecodeRuneInString(text)
	if !unicode.IsSpace(r) || r == '\n' {
		return "", ""
	}
	word = firstWord(text[size:])
	return word, text[size+len(word):]
}

// amountOf divides a number into its digits before and after the decimal mark, and that mark, or 0 if there is none.
// The mark of the language between three digits each separates thousands if it is there more than once, the other one
// if it is there at all.
func (t *tables) amountOf(written string) (whole, decimals string, mark rune) {
	written = strings.Map(func(r rune) rune {
		if isDigit(r) || r == '.' || r == ',' {
			return r
		}
		return -1
	}, written)
	i := strings.LastIndexAny(written, ".,")
	if i < 0 {
		return written, "", 0
	}
	sign := written[i : i+1]
	whole, decimals = written[:i], written[i+1:]
	separates := strings.Contains(whole, sign)
	if sign != t.words["decimal"] {
		separates = separates || len(decimals) == 3 && whole != "0" && !strings.Contains(whole, t.words["decimal"])
	}
	if separates {
		return strings.Map(onlyDigit, written), "", 0
	}
	return strings.Map(onlyDigit, whole), decimals, rune(sign[0])
}

// amount spells a number of things of a gender: 'm', 'f', or 0 for a number alone.
func (c *context) amount(written string, gender byte) string {
	l := c.locale
	whole, decimals, mark := l.tables.amountOf(written)
	switch {
	case l.tables.declines() && gender == 0:
		return c.amountIn(written, 'm', 'n')
	case l.tables.declines():
		return c.amountIn(written, gender, c.kase('n'))
	case mark == 0:
		return c.count(whole, gender)
	case string(mark) == l.tables.words["decimal"] && l.tables.words["decimals"] == "digits":
		return strings.TrimLeft(l.integer(whole)+" "+l.tables.words["comma"]+" "+l.digits(decimals), " ")
	default:
		words := map[rune]string{',': l.tables.words["comma"], '.': l.tables.words["point"]}
		return l.integer(whole) + " " + words[mark] + " " + l.decimals(decimals)
	}
}

// count spells a whole number of things of a gender. In Italian and German, only 1 depends on it.
func (c *context) count(digits string, gender byte) string {
	l := c.locale
	n := number(digits)
	if gender == 0 || n <= 0 || n >= maxSpelled || digits[0] == '0' || l.tables.words["gendered"] == "never" ||
		n > 1 && l.tables.words["gendered"] == "1" {
		return l.integer(digits)
	}
	next, _ := spacedWord(c.after)
	if elided := l.tables.words["elided one"]; n == 1 && gender == 'f' && elided != "" && startsWithVowel(next) {
		c.size++
		return elided
	}
	if n == 1 && gender == 'm' && l.tables.words["impure"] != "" && isImpure(next) {
		return l.integer(digits)
	}
	return l.spell("%spellout-cardinal-"+c.formOf(gender), n)
}

// formOf returns the rules' name for the form of a number of things of a gender, by the case that the word before the
// position governs.
func (c *context) formOf(gender byte) string {
	if forms := strings.Fields(c.locale.tables.words["one "+string(gender)]); len(forms) > 0 {
		return forms[c.caseBefore()]
	}
	return map[byte]string{'m': "masculine", 'f': "feminine", 'n': "masculine"}[gender]
}

// caseBefore returns the case that the word before the position governs.
func (c *context) caseBefore() int { return c.locale.tables.caseAfter(c.before()) }

func startsWithVowel(word string) bool {
	return word != "" && strings.ContainsRune("aeiouàèéìòù", firstOf(word))
}

// isImpure reports whether a word begins with the consonants before which Italian has uno in place of un.
func isImpure(word string) bool {
	if len(word) < 2 || word[0] == 's' {
		return len(word) > 1 && !startsWithVowel(word[1:])
	}
	return word[0] == 'z' || word[0] == 'x' || slices.Contains([]string{"gn", "ps", "pn"}, word[:2])
}

// maxDecimals is the maximum number of decimals, without leading zeros, that are read as one number.
const maxDecimals = 3

func (l *locale) decimals(digits string) string {
	rest := strings.TrimLeft(digits, "0")
	if len(rest) > maxDecimals || rest == "" {
		return strings.TrimSpace(l.digits(digits))
	}
	return strings.TrimLeft(l.digits(digits[:len(digits)-len(rest)])+" ", " ") + l.integer(rest)
}

// quantity spells an amount with its unit.
func (c *context) quantity(written string, m measure) string {
	if m.noun != nil {
		return c.quantityIn(written, m, c.kase('n'))
	}
	t := c.locale.tables
	whole, _, mark := t.amountOf(written)
	name := m.many
	if written == "1" || t.words["singular"] == "below two" && (whole == "0" || whole == "1") || c.isAdjective() {
		name = m.one
	} else if t.sets["dative"] != nil && strings.HasSuffix(name, "er") && c.isDative() { // "nach 5 Kilometern"
		name += "n"
	}
	gender := m.gender
	if gender == 'n' && t.words["one n"] == "" {
		gender = 0
	}
	if n := number(whole); mark == 0 && n > 0 && n%1_000_000 == 0 {
		name = t.of(name)
	}
	if elided := t.words["elided one"]; elided != "" && written == "1" && gender == 'f' && startsWithVowel(name) {
		return elided + name
	}
	return c.amount(written, gender) + " " + name
}

// of returns a noun after the preposition that links it to another: "millions d'euros".
func (t *tables) of(noun string) string {
	if elided := t.words["elided of"]; elided != "" && strings.ContainsRune("aeiouyhéèê", firstOf(noun)) {
		return elided + noun
	}
	return strings.TrimLeft(t.words["of"]+" "+noun, " ")
}
