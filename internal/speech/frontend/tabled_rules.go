package frontend

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// The usual patterns of numbers with separators of thousands, and of those without.
const (
	groupedNumeral = `[1-9]\d{0,2}(?:[ \x{a0}\x{202f}'’]\d{3})+(?:[.,]\d+)?|` +
		`[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?|[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?`
	plainNumeral = `\d+(?:[.,]\d+)?`
)

// noText is a pattern that matches no text, in place of alternatives of which there are none.
const noText = `[^\x00-\x{10FFFF}]`

// rangeAfter matches the second number of a range.
var rangeAfter = regexp.MustCompile(`^(?:\s?[-–]\s?|\s\pL{1,3}\s)\d+`)

// tabledRules returns the rules that languages share, with those that a language has of its own before the ones of
// dates and before the ones of numbers.
func (l *locale) tabledRules(beforeDates, beforeNumbers []rule) []rule {
	t := l.tables
	suffix := alternatives(slices.Collect(maps.Keys(t.ordinals)))
	return slices.Concat(markdownRules(), []rule{ // before paths
		on(Symbol, "/", sayPer), on(Symbol, `/\s?`, sayOver),
	},
		addressRules(), notationRules(t.numeral()), t.own, beforeDates, l.tabledDateRules(), []rule{
			on(Ordinal, `(`+t.grouped+`|\d+)\.?(`+cmp.Or(suffix, noText)+`)`, sayTabledOrdinal), // before degrees
		}, l.tabledAmountRules(), []rule{
			unlessAfter(oneOf("-–−"), on(Number, difference, sayDifference)),
		}, beforeNumbers, []rule{
			on(Number, `[1-9]\d{0,2}(?:\.\d{3}){3,}(?:,\d+)?`, sayTabledNumber),
			on(Version, `\d{1,3}(?:\.\d+){3}|\d{1,2}(?:\.\d{1,2}){2}`, sayVersion),
			on(Version, `[vV](\d+(?:\.\d+){1,3})`, sayVersion),
			on(Number, `(?:(?:`+t.grouped+`)\b|`+t.plain+`)`, sayTabledNumber),
			unlessAfter(isWord, on(Number, `['’](\d00|\d\d)`, sayTemplate("{1}"))), // of a year
			on(Roman, `([IVXLC]{1,7})(`+suffix+`)?`, sayTabledRoman),
			on(Abbreviation, `(?i:`+cmp.Or(alternatives(t.bare), noText)+`)\.?`, sayBare),
			on(Abbreviation, `((?:\pL\.){2,6})|\pL{1,12}\.(?:[ \x{a0}\x{202f}]?-?\pL{1,4}(?:-\pL)?\.){0,3}`, sayLongForm),
		}, symbolRules())
}

func (l *locale) tabledAmountRules() []rule {
	t := l.tables
	units := slices.Collect(maps.Keys(l.units))
	money := slices.DeleteFunc(slices.Clone(units), func(symbol string) bool { return !t.money[symbol] })
	units = slices.DeleteFunc(units, func(symbol string) bool { return t.money[symbol] })
	unit, coin, scale := withSpaces(alternatives(units)), alternatives(money), l.scalePattern()
	first := slices.DeleteFunc(slices.Clone(money), startsLower)
	isLetter := func(name string) bool { return len(name) == 1 } // in "5 m high", m is no million
	names := slices.DeleteFunc(slices.Collect(maps.Keys(t.scales)), isLetter)
	suffix, numeral := l.suffixPattern(), t.numeral()
	price, of := `(`+alternatives(first)+`)\s?(\.\d+|`+numeral+`)(?:,[-–—])?`, `\s?(`+unit+`)`
	stroke, sign := `(?:(\d{1,3})[\s-])?(\d{1,4})/(\d{1,4})`+suffix, `(?:(\d{1,4})\s?)?([½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])()`
	return []rule{
		on(Number, `([A-Z]{2})(\d{2}(?:[ \x{a0}]?\d{4}){3,7}(?:[ \x{a0}]?\d{1,4})?)`, // an IBAN
			sayTemplate("$1 {2 digits}")),
		l.phoneRule(),
		on(Money, price+`[\s-]?(`+scale+`)`, sayTabledMoney), on(Money, price+`()`, sayTabledMoney),
		on(Money, `()(`+numeral+`)(?:,[-–—])?(?:\s?(`+scale+`))?[\s\x{a0}\x{202f}]?(`+coin+`)`, sayTabledMoney),
		unlessAfter(oneOf("/"), on(Fraction, stroke+of, sayTabledFraction)), on(Fraction, sign+of, sayTabledFraction),
		unlessAfter(oneOf("/"), on(Fraction, stroke+`()`, sayTabledFraction)), on(Fraction, sign+`()`, sayTabledFraction),
		on(Range, `[-–—]\s?| [-–—]\s`, sayDash),
		on(Number, `(`+numeral+`)?\s?[xх×]\s?(\d[\d.,]*(?:[xх×]\d[\d.,]*)*)?`, sayTabledTimes),
		unlessAfter(isDigit, on(Unit, `(\.\d+|`+numeral+`)[ \x{a0}\x{202f}-]?(?:(`+
			cmp.Or(alternatives(names), noText)+`)[ \x{a0}])?(`+unit+`)`, sayTabledUnit)),
		on(Number, `(`+numeral+`)\s?(`+scale+`)`, sayScaled),
		on(Unit, cmp.Or(t.words["units alone"], `km|kg|min|m[²³]?|qm|h|l|g|t|s|kWh`), sayUnitAlone),
	}
}

func (l *locale) scalePattern() string {
	return alternatives(slices.Collect(maps.Keys(l.tables.scales)))
}

// withSpaces allows a space after full stops within the texts of a pattern.
func withSpaces(pattern string) string {
	return stopWithin.ReplaceAllString(pattern, `\.\s?$1`)
}

var stopWithin = regexp.MustCompile(`\\\.(\pL)`)

// alternatives returns a pattern of texts, each before its own beginnings, because the first that matches is taken.
// Texts with a common beginning are neighbours, which share it in the compiled pattern.
func alternatives(list []string) string {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(strings.Compare(strings.ToLower(b), strings.ToLower(a)), strings.Compare(b, a))
	})
	for i, text := range list {
		list[i] = regexp.QuoteMeta(text)
	}
	return strings.Join(list, "|")
}

func sayTabledNumber(c *context) (string, bool) {
	written := c.groups[0]
	if strings.HasPrefix(c.after, "@") {
		return "", false
	}
	switch l := c.locale; {
	case len(written) == 3 && c.isAfter("dial"):
		return l.digits(written), true
	case l.tables.declines():
		return sayDeclined(c)
	case l.inHundreds(written) && c.countsHundreds():
		return l.yearNumber(written), true
	}
	return c.amount(written, c.counted(written)), true
}

// countsHundreds reports whether a number of four digits is read in hundreds here. In German, only years are: "1987
// wurde", "im Jahr 1987".
func (c *context) countsHundreds() bool {
	t, before := c.locale.tables, strings.ToLower(c.before())
	return !t.hasCapitals() || !startsUpper(c.next()) || t.sets["before year"][before] || t.monthOf[before] > 0
}

// sayOver reads the stroke of "24 h/24".
func sayOver(c *context) (string, bool) {
	n := len(c.spans)
	follows := n > 0 && c.plain == c.at && (c.spans[n-1].Kind == Time || c.spans[n-1].Kind == Unit) &&
		!c.locale.tables.isEnglish() && !c.locale.tables.declines()
	return " " + c.locale.tables.words["over"] + " ", follows && isDigit(firstOf(c.after))
}

// sayTabledOrdinal reads an ordinal number by its suffix. A degree sign is one before a noun or in a date only.
func sayTabledOrdinal(c *context) (string, bool) {
	t := c.locale.tables
	whole, _, mark := t.amountOf(c.groups[1])
	noun, _ := spacedWord(c.after)
	isDegree := c.groups[2] == "°" && !c.isAfter("day") &&
		(!startsLower(noun) || len(noun) == 1 || t.sets["small"][noun])
	if whole[0] == '0' && len(whole) > 1 || mark != 0 || isDegree {
		return "", false
	}
	spoken := c.locale.spell(c.ordinalSet(c.groups[2]), number(whole))
	return spoken, spoken != ""
}

// ordinalSet returns the set of rules for a suffix: before a noun, Spanish has "primer" in place of "primero".
func (c *context) ordinalSet(suffix string) string {
	t := c.locale.tables
	set := cmp.Or(t.ordinals[suffix], c.locale.ordinals)
	if short := t.words["ordinal before nouns"]; short != "" && set == c.locale.ordinals && t.genderOf(c.next()) == 'm' {
		return short
	}
	return set
}

// minPhoneDigits and maxPhoneDigits bound the digits of a telephone number.
const minPhoneDigits, maxPhoneDigits = 7, 15

// phoneForms match telephone numbers by their groups alone.
const phoneForms = `^(?:\d{2,3}[ .]\d{2,3}[ .]\d{2}[ .]\d{2}|\d{3}[ -]\d{6,7}|` +
	`\d{3}-\d{3}-\d{3,4}|97[89]-\d-\d{2,7}-\d{2,7}-\d|(?:\d{2} )?\d{5}-\d{4}|\d{2} \d{4}-\d{4}|` +
	`8[ -]\(?\d{3}\)?[ -]\d{3}[ -]\d{2}[ -]\d{2}|\d{3}[ -]\d{3}-\d{2}-\d{2})`

var phoneStart, phoneGroups = regexp.MustCompile(phoneForms), regexp.MustCompile(phoneForms + `$`)

// phoneRule matches groups of digits. It is tried only where a telephone number may begin.
func (l *locale) phoneRule() rule {
	const groups = `(?:[ ./\x{a0}\x{202f}-]{1,2}\(?\d{1,9}\)?\d{0,4}){1,6}`
	r := on(Phone, `(?:\+\d{1,3}|\(\d{1,4}\)|\d{2,5}|8)`+groups+`|\d{9,11}`, sayTabledPhone)
	r.unless = func(s *scanner) bool { return !s.isPhone() && !phoneStart.MatchString(s.rest()) }
	return r
}

// isPhone reports whether the text at the position or before it shows that it is a telephone number.
func (s *scanner) isPhone() bool {
	return strings.ContainsRune("+(0", firstOf(s.text[s.at:])) || s.isAfter("phone")
}

func sayTabledPhone(c *context) (string, bool) {
	written := c.groups[0]
	if !c.isPhone() && !phoneGroups.MatchString(written) || isDigit(c.previous()) || strings.HasPrefix(c.after, "-") {
		return "", false
	}
	if count := len(strings.Map(onlyDigit, written)); count < minPhoneDigits || count > maxPhoneDigits {
		return "", false
	}
	if c.locale.tables.words["phone"] == "numbers" {
		return c.locale.phoneOfNumbers(written), true
	}
	return sayPhone(c)
}

// phoneOfNumbers spells the groups of a telephone number as numbers of up to three digits.
func (l *locale) phoneOfNumbers(written string) string {
	var groups []string
	for _, group := range strings.FieldsFunc(written, func(r rune) bool { return !isDigit(r) }) {
		if len(group) > 3 {
			groups = append(groups, l.digits(group))
		} else {
			groups = append(groups, l.integer(group))
		}
	}
	spoken := strings.Join(groups, ", ")
	if written[0] == '+' {
		return l.tables.words["plus"] + " " + spoken
	}
	return spoken
}

func sayTabledMoney(c *context) (string, bool) {
	symbol, scale := c.groups[1], c.groups[3]
	if symbol == "" {
		symbol = c.groups[4]
	}
	if isWord(c.previous()) || c.groups[1] == "" && isDigit(firstOf(c.after)) {
		return "", false
	}
	m := c.singular(c.locale.units[symbol])
	if scale != "" {
		c.dropStop(scale)
		return c.scaled(c.groups[2], scale, m.many) + c.stop(c.groups[0], c.after), true
	}
	return c.sum(c.groups[2], m) + c.stop(symbol, c.after), true
}

// scaled spells an amount of millions or the like of a noun, which may be "".
func (c *context) scaled(written, scale, noun string) string {
	t := c.locale.tables
	m := t.scales[scale]
	whole, _, mark := t.amountOf(written)
	switch {
	case m.one == t.words["thousand"] && mark == 0: // which is no noun
		return strings.TrimSuffix(c.count(whole+"000", 'm')+" "+noun, " ")
	case m.one == t.words["thousand"]:
		return strings.TrimSuffix(c.amount(written, 'm')+" "+m.one+" "+noun, " ")
	case noun == "":
		return c.quantity(written, m)
	default:
		return c.quantity(written, m) + " " + t.of(noun)
	}
}

// sayScaled reads an abbreviated million or the like.
func sayScaled(c *context) (string, bool) {
	if len(c.groups[2]) == 1 || !c.locale.tables.sets["scale"][c.groups[2]] {
		return "", false
	}
	c.dropStop(c.groups[2])
	return c.scaled(c.groups[1], c.groups[2], "") + c.stop(c.groups[2], c.after), true
}

// sum spells an amount of money with its hundredths.
func (c *context) sum(written string, m measure) string {
	t := c.locale.tables
	whole, cents, _ := t.amountOf(written)
	if len(cents) == 1 && cents != "0" && t.isEnglish() {
		cents += "0"
	}
	switch {
	case len(cents) != 2 || m.sub == "":
		return c.quantity(written, m)
	case cents == "00":
		return c.quantity(whole, m)
	}
	cents = strings.TrimLeft(cents, "0")
	small := c.quantity(cents, measure{'m', m.subOne, m.sub, "", "", declinable{noun: m.part, template: "_"}})
	switch {
	case strings.Trim(whole, "0") == "":
		return small
	case t.words["cents"] != "named" && len(cents) > 1:
		small = c.locale.integer(cents)
	}
	return c.quantity(whole, m) + " " + strings.TrimLeft(t.words["and cents"]+" ", " ") + small
}

func sayTabledUnit(c *context) (string, bool) {
	symbol := c.groups[3]
	if strings.ContainsRune("'’", firstOf(c.after)) || c.beginsShort(symbol) || c.isInitial(c.groups[1], symbol) ||
		c.locale.tables.declines() && notUnit.MatchString(c.after) {
		return "", false
	}
	c.dropStop(symbol)
	m := c.locale.units[strings.ReplaceAll(symbol, " ", "")]
	if c.locale.tables.isEnglish() && strings.HasPrefix(c.groups[0], c.groups[1]+"-") { // "a 5-kg bag"
		m.many = m.one
	}
	if c.groups[2] != "" {
		return c.scaled(c.groups[1], c.groups[2], m.many) + c.stop(symbol, c.after), true
	}
	if symbol == "h" && c.isAfter("at") && number(c.groups[1]) > 0 && number(c.groups[1]) <= 24 {
		return c.tabledClock(c.groups[1], "", true), true // "um 9 h"
	}
	return c.quantity(c.groups[1], m) + c.stop(symbol, c.after), true
}

// beginsShort reports whether what looks like a unit begins an abbreviation: "3 t/m 5 juni".
func (c *context) beginsShort(symbol string) bool {
	return strings.HasPrefix(c.after, "/") && slices.ContainsFunc(c.locale.tables.bare, func(short string) bool {
		return strings.HasPrefix(short, symbol+"/") && strings.HasPrefix(symbol+c.after, short)
	})
}

// dropStop leaves out the full stop of an abbreviated unit within a sentence: "10 min. e 5 sec."
func (c *context) dropStop(symbol string) {
	tail, ok := strings.CutPrefix(c.after, ".")
	next := strings.TrimLeft(tail[:min(len(tail), 4)], " \u00a0")
	goesOn := next != "" && (startsLower(next) || strings.ContainsRune(",;:)0123456789", firstOf(next)))
	if ok && goesOn && unicode.IsLetter(lastOf(symbol)) && !strings.HasPrefix(symbol, "°") {
		c.size++
		c.after = tail
	}
}

// sizes matches the other numbers of a size, up to its unit.
var sizes = regexp.MustCompile(`^[\d.,]+(?:\s?[xх×]\s?[\d.,]+)*`)

// sayTabledTimes reads the sign of "3 x 4" and "3x", or of a size: "3 x 4 cm", "3 cm x 4 cm".
func sayTabledTimes(c *context) (string, bool) {
	t, sign := c.locale.tables, c.locale.names["symbol"]["×"]
	c.size -= len(c.groups[2]) // the numbers after it are read next
	c.after, c.groups[0] = c.groups[2]+c.after, c.groups[0][:c.size]
	isSize := c.groups[2] != "" && !strings.Contains(c.groups[0], " ")
	others := sizes.FindString(c.after[:min(len(c.after), 40)])
	rest := c.after[len(others):]
	if others != "" && (isSize || c.locale.unitFollows(rest) || strings.HasPrefix(rest, `"`)) {
		sign = cmp.Or(t.words["by"], sign)
	}
	switch {
	case c.groups[1] == "":
		return " " + sign + " ", others != "" && c.kindBefore() == Unit
	case isDigit(firstOf(strings.TrimLeft(c.after, "R$€£¥ "))):
		return c.amount(c.groups[1], 0) + " " + sign + " ", true
	case t.words["fold"] == "", strings.ContainsRune("+−=^<>", firstOf(strings.TrimLeft(c.after, " "))): // "2x + 1"
		return "", false
	}
	c.size = len(strings.TrimRight(c.groups[0], " \n\t"))
	return c.amount(c.groups[1], t.words["fold gender"][0]) + t.words["fold"], !strings.Contains(c.groups[0][:c.size], " ")
}

// sayTabledFraction reads a fraction, which may follow a whole number or precede a unit.
func sayTabledFraction(c *context) (string, bool) {
	l := c.locale
	whole, top, bottom, ok := c.fraction()
	parts, known := l.tables.parts[bottom]
	switch {
	case !ok:
		return "", false
	case l.tables.declines():
		return c.fractionIn(whole, top, bottom, c.kase('n'))
	case top == "24" && bottom == "7", top == bottom && len(top) > 1:
		return l.integer(top) + " " + l.integer(bottom), true
	case top == "1" && bottom == "2":
		return c.half(whole), true
	case !known || top[0] == '0':
		unit := strings.TrimRight(" "+l.units[c.groups[4]].many, " ")
		return l.integer(top) + " " + l.tables.words["over"] + " " + l.integer(bottom) + unit, whole == ""
	}
	spoken := c.count(top, 'm') + " " + parts[1]
	if top == "1" {
		spoken = c.count(top, 'm') + " " + parts[0]
	}
	if whole != "" && top == "1" && parts[2] != "" {
		spoken = parts[2]
	}
	if whole != "" {
		and := cmp.Or(l.tables.words["and part"], " "+l.tables.words["and"]+" ")
		spoken = c.beforeFraction(whole, c.counted(whole)) + and + spoken
	}
	if unit, ok := l.units[c.groups[4]]; ok {
		if whole != "" && parts[2] != "" {
			unit.one = unit.many
		}
		spoken += " " + l.tables.of(unit.one)
	}
	return spoken, true
}

// half spells a half, alone or after a whole number, in the gender of its noun.
func (c *context) half(whole string) string {
	t := c.locale.tables
	unit, hasUnit := c.locale.units[c.groups[4]]
	gender := unit.gender
	name := " " + unit.one
	if !hasUnit {
		gender, name = c.counted("1"), ""
	}
	if one := t.words["one and half"]; whole == "1" && one != "" {
		return one + name
	}
	if whole != "" {
		if hasUnit {
			name = " " + unit.many
		}
		if joined := t.words["joined half"]; joined != "" {
			return c.locale.spell("%spellout-cardinal-masculine", number(whole)) + joined + name
		}
		ending := "and half m"
		if gender == 'f' {
			ending = "and half f"
		}
		if t.words["and half f"] == "" || whole == "1" {
			return c.beforeFraction(whole, gender) + " " + t.words[ending] + name
		}
		if noun, _ := spacedWord(c.after); !hasUnit && whole != "1" && gender != 0 && t.genderOf(noun) == gender {
			name = " " + noun
			c.size += len(name)
		}
		return c.count(whole, gender) + name + " " + t.words[ending]
	}
	form := strings.TrimRight("half "+string(max(gender, ' ')), " ")
	return cmp.Or(t.words[fmt.Sprint(form, c.caseBefore())], t.words[form], t.words["half m"]) + name
}

// beforeFraction spells a whole number before a fraction, in which masculine numbers keep their full form.
func (c *context) beforeFraction(whole string, gender byte) string {
	if gender != 'f' {
		gender = 0
	}
	return c.count(whole, gender)
}

// sayBare reads an abbreviation that may lack its full stop.
func sayBare(c *context) (string, bool) {
	written := strings.TrimSuffix(c.groups[0], ".")
	long, ok := c.longForm(written, c.after)
	if !ok || c.groups[0] == written {
		return strings.TrimSuffix(long, "."), ok
	}
	return long, true
}

// sayTabledRoman reads a Roman numeral as an ordinal number if it has a suffix or a numbered noun follows. Otherwise it
// depends on the word before it, which has to be a part, a century or a name.
func sayTabledRoman(c *context) (string, bool) {
	t := c.locale.tables
	numeral, suffix := c.groups[1], c.groups[2]
	n, before, next := roman(numeral), strings.ToLower(c.title()), c.next()
	gender := t.genderOf(strings.ToLower(next))
	switch {
	case t.isEnglish() && len(numeral) == 1 && strings.HasPrefix(c.after, ". ") && startsUpper(c.after[2:]) &&
		!t.sets["starter"][firstWord(c.after[2:])]: // an initial
		return "", false
	case n == 0 || numeral == "L" || numeral == "C" || strings.ContainsRune("'’", firstOf(c.after)) && !t.isEnglish() ||
		isWord(c.previous()) || t.isEnglish() && suffix != "" && (len(numeral) == 1 || startsUpper(suffix)): // "Ind"
		return "", false
	case suffix != "":
		return c.locale.spell(c.ordinalSet(suffix), n), !t.sets["first"][suffix] || n == 1 // not "Ver"
	case t.sets["ordered"][strings.ToLower(next)] && strings.HasPrefix(c.after, " "):
		return c.ordinalOf(n, gender), true
	case t.sets["part"][before]:
		return c.locale.spell(c.locale.counting, n), true
	case t.sets["century"][before]:
		return c.ordinalUpTo(t.words["last century"], n, 'm'), true
	case t.isEnglish() && numeral == "I" && startsLower(next) && !t.sets["reigned"][next]:
		return "", false
	case (t.sets["name"][before] || t.sets["queen"][before]) && startsUpper(c.before()):
		gender = map[bool]byte{true: 'f', false: 'm'}[t.sets["queen"][before]]
		return c.ordinalUpTo(t.words["last name"], n, gender) + c.stop(c.groups[0], c.after), true
	}
	return "", false
}

// ordinalUpTo spells an ordinal number up to a last one, and a larger number as a cardinal one.
func (c *context) ordinalUpTo(last string, n int64, gender byte) string {
	if article := c.locale.tables.words["before name"]; article != "" {
		spoken := c.locale.ordinal(n)
		if !c.locale.tables.isEnglish() {
			spoken = capital(spoken)
		}
		return article + " " + spoken
	}
	if n <= number(last) {
		return c.ordinalOf(n, gender)
	}
	return c.locale.spell(c.locale.counting, n)
}

func (c *context) ordinalOf(n int64, gender byte) string {
	if gender == 'f' {
		return c.locale.spell("%spellout-ordinal-feminine", n)
	}
	return c.locale.ordinal(n)
}
