package frontend

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// spelledOut are the languages without a table whose numbers are spelled by the CLDR's rules, because their engine
// reads them in English, digit by digit, with wrong words, or not at all. The engine reads the digits of the others,
// whose words it knows better than their spelling. docs/internals/speech.md says which are which, and why.
var spelledOut = words("be", "cs", "eo", "he", "kl", "ko", "lb", "ne", "qu", "sw", "uk", "vi")

// counted are the locales of the languages of which only numbers, and what is counted, are read, by the engine's codes.
var counted = func() map[string]func() *locale {
	locales := make(map[string]func() *locale)
	for _, language := range countedLanguages() {
		code := language
		if language == "no" {
			code = "nb"
		}
		locales[code] = sync.OnceValue(func() *locale { return newCounted(language) })
	}
	return locales
}()

// countedLanguages returns the languages of which the CLDR's names of units are here.
func countedLanguages() (languages []string) {
	entries, err := files.ReadDir("rules")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		if name, ok := strings.CutPrefix(entry.Name(), "counted-"); ok {
			languages = append(languages, strings.TrimSuffix(name, ".tsv"))
		}
	}
	return languages
}

// countedUnit is a unit or a currency: the gender of its numbers, and the patterns of an amount by plural category.
type countedUnit struct {
	gender   string
	patterns map[string]string
}

// amounts reads the amounts of a language.
type amounts struct {
	language language.Tag
	units    map[string]countedUnit // by symbol
}

func newCounted(name string) *locale {
	l := newTables(name, name, name)
	l.counting = "%spellout-numbering"
	if !spelledOut[name] {
		l.counting, l.speller = "", nil
	}
	a := amounts{language.Make(name), make(map[string]countedUnit)}
	for row := range rows(file("rules/counted-"+name+".tsv"), 5) {
		if row[0] == "word" {
			l.learn(row)
			continue
		}
		for symbol := range strings.FieldsSeq(row[1]) {
			a.learn(symbol, row)
			a.learn(strings.TrimSuffix(symbol, "."), row)
		}
	}
	l.names["sign"]["-"] = l.tables.words["minus"]
	l.isOrdinal = func(after string) bool { return startsLower(strings.TrimLeft(after, " \u00a0")) }
	l.rules = slices.Concat(markdownRules(), l.tables.own, l.countedRules(a))
	return l
}

// learn adds a pattern of a unit by its symbol.
func (a amounts) learn(symbol string, row []string) {
	if _, ok := a.units[symbol]; !ok {
		a.units[symbol] = countedUnit{cmp.Or(row[2], "masculine"), make(map[string]string)}
	}
	a.units[symbol].patterns[row[3]] = row[4]
}

func (l *locale) countedRules(a amounts) []rule {
	symbols := make([]string, 0, len(a.units))
	for symbol := range a.units {
		symbols = append(symbols, symbol)
	}
	unit, numeral := alternatives(symbols), l.countedNumeral()
	date := noText
	if l.counting != "" {
		date = `\d{1,4}(?:[.:/]\d{1,4})+`
	}
	phone := on(Phone, `\+?\d{1,4}(?:[ /-]\d{2,4}){2,5}`, sayCountedPhone)
	phone.unless = func(s *scanner) bool { return isWord(s.previous()) || !s.isPhone() }
	return []rule{
		phone,
		on(Date, date, sayFigures),
		unlessAfter(isWord, on(Unit, `([-−]?)(`+numeral+`)[ \x{a0}\x{202f}]?(`+unit+`)`, a.say)),
		on(Money, `()([$€£¥₴₺₪₹₩₫฿₸₾₼]|US\$|kr\.?|Rp|RM)[ \x{a0}]?(`+numeral+`)`, a.sayPrice),
		unlessAfter(isWord, on(Number, `([-−]?)(`+numeral+`)`, sayCounted)),
	}
}

// countedNumeral returns the pattern of numbers with the marks of the language. White space separates thousands in all.
func (l *locale) countedNumeral() string {
	space, decimal := `[\x{a0}\x{202f}]`, regexp.QuoteMeta(l.tables.words["decimal"])
	group := space + `\d{3}|(?:` + regexp.QuoteMeta(l.tables.words["group"]) + `\d{2})*` + // 12,34,567 in India
		regexp.QuoteMeta(l.tables.words["group"]) + `\d{3}`
	if strings.ContainsAny(l.tables.words["group"], "\u00a0\u202f ") {
		group = `[ \x{a0}\x{202f}]\d{3}`
	}
	return `[1-9]\d{0,2}(?:` + group + `)+(?:` + decimal + `\d+)?|\d+(?:` + decimal + `\d+)?`
}

// isPart reports whether a number belongs to a date, a time or the like, which is read as a whole.
func (c *context) isPart() bool {
	joins := func(r rune) bool { return strings.ContainsRune(".,:/'’", r) }
	before := c.text[max(0, c.at-8):c.at]
	head := strings.TrimRightFunc(before, joins)
	after := c.after[:min(len(c.after), 8)]
	tail := strings.TrimLeftFunc(after, joins)
	return len(head) < len(before) && isWord(lastOf(head)) || len(tail) < len(after) && isWord(firstOf(tail))
}

// say reads an amount of a unit.
func (a amounts) say(c *context) (string, bool) {
	symbol := c.groups[3]
	isLetter := len(symbol) == 1 && (startsLower(symbol) || startsUpper(symbol))
	if c.isPart() || isLetter && strings.HasPrefix(c.after, ".") {
		return "", false
	}
	return c.signed(a.of(c, c.groups[2], symbol)) + c.stop(symbol, c.after), true
}

// sayPrice reads an amount of money whose symbol precedes it.
func (a amounts) sayPrice(c *context) (string, bool) {
	if _, ok := a.units[c.groups[2]]; !ok || c.isPart() {
		return "", false
	}
	return a.of(c, c.groups[3], c.groups[2]), true
}

// of spells an amount of a unit.
func (a amounts) of(c *context, written, symbol string) string {
	unit, l := a.units[symbol], c.locale
	whole, decimals, _ := strings.Cut(strings.Map(l.numeric, written), l.tables.words["decimal"])
	form := unit.patterns[a.category(whole, decimals)]
	if form == "" {
		form = unit.patterns["other"]
	}
	set := l.counting
	for _, name := range []string{"%spellout-cardinal-" + unit.gender, "%spellout-cardinal-reale"} {
		if set != "" && l.speller[name] != nil {
			set = name
			break
		}
	}
	return strings.ReplaceAll(form, "{0}", l.amountBy(set, whole, decimals))
}

// category returns the name of the plural category of an amount.
func (a amounts) category(whole, decimals string) string {
	visible := strings.TrimRight(decimals, "0")
	form := plural.Cardinal.MatchPlural(a.language, int(min(number(whole), 1e9)), len(decimals), len(visible),
		int(max(number(decimals), 0)), int(max(number(visible), 0)))
	return []string{"other", "zero", "one", "two", "few", "many"}[form]
}

// numeric keeps the digits and the decimal mark.
func (l *locale) numeric(r rune) rune {
	if isDigit(r) || string(r) == l.tables.words["decimal"] {
		return r
	}
	return -1
}

// amountBy spells a number by a set of rules. The decimals that the engine reads stay as they are.
func (l *locale) amountBy(set, whole, decimals string) string {
	said := whole
	if spelled := l.spell(set, number(whole)); set != "" && spelled != "" && (whole[0] != '0' || whole == "0") {
		said = spelled
	} else if set != "" {
		said = l.digits(whole)
	}
	t := l.tables
	switch {
	case decimals == "":
		return said
	case set != "":
		return said + " " + t.words["comma"] + " " + l.digits(decimals)
	case t.words["say comma"] != "":
		return said + " " + t.words["comma"] + " " + strings.Join(strings.Split(decimals, ""), " ")
	default:
		return said + t.words["decimal"] + decimals
	}
}

// signed puts the word for minus before what is said of a negative number.
func (c *context) signed(said string) string {
	if word := c.locale.tables.words["minus"]; c.groups[1] != "" && word != "" {
		return word + " " + said
	}
	return c.groups[1] + said
}

// sayCountedPhone reads a telephone number digit by digit.
func sayCountedPhone(c *context) (string, bool) {
	written := c.groups[0]
	if count := len(strings.Map(onlyDigit, written)); count < minPhoneDigits || count > maxPhoneDigits {
		return "", false
	}
	return written[:len(written)-len(strings.TrimLeft(written, "+"))] + c.locale.digits(written), true
}

// sayFigures reads the numbers of a date, a time or the like one after the other.
func sayFigures(c *context) (string, bool) {
	written, words := c.groups[0], c.locale.tables.words
	figures := strings.FieldsFunc(written, func(r rune) bool { return !isDigit(r) })
	isNumber := len(figures) == 2 && strings.Contains(written, words["decimal"]) ||
		len(figures[1]) == 3 && strings.Contains(written, words["group"])
	for i, figure := range figures {
		figures[i] = c.locale.integer(figure)
	}
	return strings.Join(figures, " "), !isNumber
}

// sayCounted reads a number alone. One with a full stop before a word in lower case is an ordinal number, which the
// engine knows.
func sayCounted(c *context) (string, bool) {
	l := c.locale
	whole, decimals, _ := strings.Cut(strings.Map(l.numeric, c.groups[2]), l.tables.words["decimal"])
	said := c.signed(l.amountBy(l.counting, whole, decimals))
	isOrdinal := strings.HasPrefix(c.after, ".") && l.isOrdinal(c.after[1:])
	return said, said != c.groups[0] && !c.isPart() && !isOrdinal
}
