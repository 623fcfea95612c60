package frontend

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// newSlavic makes the locale of Polish or Russian. In addition to the tables it has amounts, dates and ordinal numbers
// that agree with their nouns and the prepositions before them.
func newSlavic(name string) *locale {
	l := newTables(name, name, name)
	t := l.tables
	for _, measures := range []map[string]measure{l.units, t.scales} {
		for symbol, m := range measures {
			measures[symbol] = t.declinableOf(m)
		}
	}
	t.words["units alone"] = alternatives(slices.Collect(maps.Keys(l.units)))
	l.isOrdinal = func(after string) bool {
		return t.isNumbered(firstWord(after)) || orderedFollows.MatchString(" "+after[:min(len(after), 20)])
	}
	l.clocked = func(c *context, hour, minute string) string { return c.clockIn(hour, minute, 'n') }
	years, century := alternatives(t.flagged("y")), alternatives(t.keys("century"))
	joiners, numeral := alternatives(strings.Fields(t.words["joiners"])), t.numeral()
	compounds := alternatives(slices.Collect(maps.Keys(t.sets["compound"])))
	hours := `(\d{1,2})(?:[:.](\d{2}))?`
	units := withSpaces(t.words["units alone"])
	l.rules = append(l.tabledRules([]rule{
		on(Date, `(\d{1,2})()\s([IVX]{1,4})()\s(\d{4})`+t.yearEnd(), sayTabledDate),
		on(Date, `(\d{1,2})\.(0[1-9]|1[0-2])`, sayShortDate),
		on(Date, `(\d{1,2})()\s(?:`+joiners+`)\s\d{1,2}\s`+l.monthPattern(), sayFirst),
		on(Date, `(\d{4})()\s(?:`+joiners+`)\s\d{4}\s(?:`+years+`)`, sayFirst),
		on(Date, `((?i:`+alternatives(t.flagged("M"))+`))\s(\d{4})`+t.yearEnd(), sayMonthInYear),
		on(Date, `(\d{1,4})(?:\s?[-–—]\s?(\d{4}))?\s?(`+
			alternatives(slices.Concat(t.keys("year"), t.keys("years")))+`)\.`, sayInYear),
		on(Range, `(\d{4})\s?[-–—]\s?(\d{4})(?:\s(`+years+`))?`, sayYears),
		on(Time, `[gG]odz\.\s?`+hours+`(?:\s?[-–—]\s?`+hours+`)?`, sayPolishHour),
		on(Ordinal, `(\d{1,4})-(\pL{1,4})(?:\s(?:гг)\.)?`, sayEnding),
		on(Number, `(\d{1,3})-((?:`+compounds+`)\pL*)`, sayCompound),
		on(Roman, `([IVXL]{1,7})(\s?[-–—]\s?|\s[iи]\s)([IVXL]{1,7})\s(?:(`+century+`)\.|(`+
			alternatives(t.flagged("!"))+`))`, sayRomans),
		on(Roman, `([IVXL]{1,7})(?:\s?(`+century+`)\.)?`, sayRoman),
	}, []rule{
		on(Range, `(`+numeral+`)\s?[-–—]\s?(`+numeral+`)\s?(`+units+`)`, sayRangeIn),
		on(Range, `(`+numeral+`)[-–—]\s?(`+numeral+`)()`, sayRangeIn),
		on(Ordinal, `(\d{1,3})\.`, sayPolishOrdinal),
	}), on(Version, `\d+(?:\.\d+)+`, sayVersion))
	return l
}

// yearEnd matches the word after a year, where languages have it.
func (t *tables) yearEnd() string {
	if !t.declines() {
		return `\b()`
	}
	return `(?:\s?((?:` + alternatives(t.keys("year")) + `)\.|` + alternatives(t.flagged("y")) + `))?`
}

func (l *locale) yearIn(digits string, kase byte) string {
	return l.ordered(number(digits), reading{gender: 'm', kase: kase})
}

// yearSaid returns the word after a year in the genitive, with a space before it. It may be missing in a date.
func (c *context) yearSaid(word string) string {
	t := c.locale.tables
	if word == "" {
		return strings.TrimRight(" "+t.words["after year"], " ")
	}
	if name := t.nouns[t.pairs["year"][strings.TrimSuffix(word, ".")]]; name != nil {
		return " " + name.forms["sg"]
	}
	return " " + word
}

// sayFirst reads the first day of "с 3 по 5 мая", and the first year of "с 1990 по 1995 год".
func sayFirst(c *context) (string, bool) {
	written := c.groups[1]
	if c.size = len(written); c.size == 4 {
		return c.locale.yearIn(written, c.kase('n')), plausibleYear(written)
	}
	return c.dayOf(written), isDay(written)
}

func sayMonthInYear(c *context) (string, bool) {
	return c.inYear(c.groups[1], c.groups[2], c.groups[3]) + c.stop(c.groups[0], c.after), plausibleYear(c.groups[2])
}

// sayInYear reads "в 1990 г." and "в 1941–1945 гг.".
func sayInYear(c *context) (string, bool) {
	t, first, last, word := c.locale.tables, c.groups[1], c.groups[2], c.groups[3]
	isYear := len(first) == 4 && plausibleYear(first) || eraFollows.MatchString(c.after[:min(len(c.after), 20)])
	if !isYear {
		return "", false
	}
	kase, cell := c.kase('g'), "s"
	if last != "" {
		kase, cell = c.kase('n'), "x"
	}
	spoken := c.locale.yearIn(first, kase)
	if last != "" {
		spoken += t.spaced("to") + c.locale.yearIn(last, kase)
	}
	name := t.nouns[t.pairs["year"][word]]
	if name == nil {
		cell, name = "x", t.nouns[t.pairs["years"][word]]
	}
	return spoken + " " + name.forms[cell+string(kase)] + c.stop(c.groups[0], c.after), true
}

// eraFollows matches the abbreviation of an era.
var eraFollows = regexp.MustCompile(`^\s(?:до\s)?н\.|^\s(?:p\.\s?)?n\.\s?e\.`)

// sayYears reads "1941–1945".
func sayYears(c *context) (string, bool) {
	first, last, word := c.groups[1], c.groups[2], c.groups[3]
	if !plausibleYear(first) || !plausibleYear(last) || first >= last {
		return "", false
	}
	l, say := c.locale, c.locale.yearIn
	if !l.tables.isRussian() {
		say = func(digits string, _ byte) string { return l.integer(digits) }
	} else if word == "" && c.next() != "" && !l.tables.sets["little"][c.next()] {
		return "", false
	}
	kase := byte('n')
	if r, ok := c.orderedBy(number(first), l.tables.forms[word], c.governed()); ok && word != "" {
		kase, word = r.kase, " "+word
	}
	return say(first, kase) + l.tables.spaced("to") + say(last, kase) + word, true
}

// clockIn spells a time in a case. Hours are ordinal numbers in Polish.
func (c *context) clockIn(hour, minute string, kase byte) string {
	l, h, m := c.locale, number(hour), number(minute)
	zero := " "
	if m < 10 {
		zero = l.tables.spaced("zero")
	}
	switch {
	case !l.tables.isRussian() && m <= 0:
		return l.ordered(h, reading{gender: 'f', kase: kase})
	case !l.tables.isRussian():
		return l.ordered(h, reading{gender: 'f', kase: kase}) + zero + l.cardinal(m, 'm', 'n')
	case minute == "":
		return l.cardinal(h, 'm', kase)
	case m <= 0:
		return c.quantityIn(strconv.FormatInt(h, 10), l.units["ч"], kase)
	default:
		return l.cardinal(h, 'm', kase) + zero + l.cardinal(m, 'f', kase)
	}
}

// sayPolishHour reads "godz. 20" in the case of the preposition before it, and "godz. 8-16" as a range.
func sayPolishHour(c *context) (string, bool) {
	hours, kase := c.locale.tables.nouns["godzina"], c.clockCase('n')
	if hours == nil || number(c.groups[1]) > 24 {
		return "", false
	}
	name := hours.forms["s"+string(kase)] + " " + c.clockIn(c.groups[1], c.groups[2], kase)
	if last := c.groups[3]; last != "" {
		name = hours.forms[map[bool]string{true: "xn", false: "xp"}[kase == 'n']] + " od " +
			c.clockIn(c.groups[1], c.groups[2], 'g') + " do " + c.clockIn(last, c.groups[4], 'g')
	}
	if startsUpper(c.groups[0]) {
		return capital(name), true
	}
	return name, true
}

// sayRoman reads "XIX век" and "Пётр I" in the form that the noun beside the number requires.
func sayRoman(c *context) (string, bool) {
	t, n := c.locale.tables, roman(c.groups[1])
	if n == 0 || n >= 50 {
		return "", false
	}
	if century := t.nouns[t.pairs["century"][c.groups[2]]]; century != nil {
		r := reading{gender: century.gender, kase: c.kase('g')}
		return c.locale.ordered(n, r) + " " + century.forms["s"+string(r.kase)] + c.stop(".", c.after), true
	}
	if r, ok := c.orderedBy(n, c.nounAfter(), c.governed()); ok {
		return c.locale.ordered(n, r), true
	}
	r, ok := c.nounBefore("!r")
	return c.ruler(n, r), ok && c.title() != ""
}

// sayRomans reads "XVIII–XIX вв.".
func sayRomans(c *context) (string, bool) {
	t, first, last := c.locale.tables, roman(c.groups[1]), roman(c.groups[3])
	r, name := reading{gender: 'm', kase: c.kase('g')}, " "+c.groups[5]
	if century := t.nouns[t.pairs["century"][c.groups[4]]]; century != nil {
		cell := "s"
		if len(c.groups[4]) > len("в") {
			cell = "x"
		}
		name = " " + century.forms[cell+string(r.kase)] + c.stop(".", c.after)
	} else if noun, ok := c.orderedBy(last, t.forms[c.groups[5]], c.governed()); ok {
		r = reading{gender: noun.gender, kase: noun.kase}
	}
	return c.locale.ordered(first, r) + c.groups[2] + c.locale.ordered(last, r) + name, first > 0 && last > 0
}

// ruler spells the number after a noun, with a capital after the name of a ruler.
func (c *context) ruler(n int64, r reading) string {
	if r.noun == nil || r.noun.flags != "r" {
		return c.locale.ordered(n, r)
	}
	if r.gender == 'm' && r.kase == 'a' {
		r.kase = 'g'
	}
	return capital(c.locale.ordered(n, r))
}

// sayDeclined reads a year, or a number in the gender and case of the noun after it.
func sayDeclined(c *context) (string, bool) {
	written := c.groups[0]
	if isDigit(nextRune(c.after)) && c.after[0] == '.' {
		return "", false
	}
	l, t := c.locale, c.locale.tables
	n, whole := t.wholeNumber(written)
	if kase := c.kase('n'); !whole && kase == 'p' && c.next() != "" {
		return c.amountIn(written, 'm', 'n'), true
	} else if !whole {
		return c.amountIn(written, 'm', kase), true
	}
	readings := c.nounAfter()
	if c.isLabel() {
		readings = nil
	}
	gender, kase, ok := c.agree(n, readings)
	r, isOrdered := c.orderedBy(n, singular(readings), c.governed())
	switch {
	case !t.isRussian() && c.isBetweenHours():
		return c.clockIn(written, "", 'i'), true
	case t.sets["daytime"][c.next()] && n <= 24, n <= 24 && c.next() == "" && c.isAfter("at"): // "o 9"
		return c.clockIn(written, "", c.clockCase('n')), true
	case n >= 1000 && n < 2100 && t.isRussian() && slices.ContainsFunc(readings, isOfYears):
		return l.ordered(n, reading{gender: 'm', kase: readings[0].kase}), true
	case isOrdered && (!ok || n > 1 && t.category(n) == "one" || r.noun.flags == "y"):
		return l.ordered(n, r), true
	case readings == nil && len(written) == 4 && plausibleYear(written) && c.isAfter("bare"):
		return l.ordered(n, reading{gender: 'm', kase: c.kase('n')}), true
	case readings == nil && n >= 1000:
		isYears := func(r reading) bool { return r.noun.flags == "y" && n < 3000 }
		if r, ok := likeliest(t.forms[strings.ToLower(c.before())], "", isYears); ok {
			return l.ordered(n, r), true
		}
	}
	of := strings.Fields(t.pairs["collective"][c.next()])
	if kase != 'd' && kase != 'i' && n >= 2 && n < int64(len(of)+2) {
		return of[n-2], true
	}
	return l.cardinal(n, gender, kase), true
}

// isBetweenHours reports whether a number is one of two hours that follow each other: "między 20 a 21".
func (c *context) isBetweenHours() bool {
	tail := c.text[max(0, c.at-30):min(len(c.text), c.at+20)]
	for _, hours := range betweenHours.FindAllStringSubmatch(tail, -1) {
		if from, to := number(hours[1]), number(hours[2]); to == from+1 && to <= 24 {
			return true
		}
	}
	return false
}

// betweenHours matches the two numbers, if no noun follows them.
var betweenHours = regexp.MustCompile(`(?i)(?:^|\PL)(?:po)?między\s(\d{1,2})\sa\s(\d{1,2})\s?(?:$|[.,;:!?)\n])`)

// isLabel reports whether a number names the noun before it.
func (c *context) isLabel() bool {
	return c.locale.tables.sets["label"][strings.ToLower(c.label())] ||
		strings.HasSuffix(strings.TrimRight(c.text[:c.at], " "), "№")
}

// wholeNumber returns a number that has neither decimals nor zeros before it.
func (t *tables) wholeNumber(written string) (int64, bool) {
	whole, _, mark := t.amountOf(written)
	n := number(whole)
	if mark != 0 || n < 0 || n >= maxSpelled || len(whole) > 1 && whole[0] == '0' {
		return -1, false
	}
	return n, true
}

// amountIn spells a number, which may have decimals or leading zeros, in a case.
func (c *context) amountIn(written string, gender, kase byte) string {
	l, t := c.locale, c.locale.tables
	if n, ok := t.wholeNumber(written); ok {
		return l.cardinal(n, gender, kase)
	}
	whole, decimals, _ := t.amountOf(written)
	n, ok := t.wholeNumber(cmp.Or(whole, "0"))
	places := t.pairs["decimal"]["1"+strings.Repeat("0", len(decimals))]
	switch {
	case decimals == "":
		return l.digits(whole)
	case !ok || places == "":
		return l.integer(cmp.Or(whole, "0")) + t.spaced("comma") + l.decimals(decimals)
	case kase == 'a':
		kase = 'n'
	}
	return l.cardinal(n, 'f', kase) + " " + decimalForm(t.pairs["decimal"]["1"], n, kase) + " " +
		l.cardinal(number(decimals), 'f', kase) + " " + decimalForm(places, number(decimals), kase)
}

func onlyDigit(r rune) rune {
	if isDigit(r) {
		return r
	}
	return -1
}

// decimalForm returns the form of "tenth" after a number: for one and many, nominative and genitive.
func decimalForm(forms string, n int64, kase byte) string {
	i := 1
	if slavicPlural(n) == "one" {
		i = 0
	}
	if kase != 'n' {
		i += 2
	}
	return strings.Fields(forms)[i]
}

// quantityIn spells an amount with its unit in a case.
func (c *context) quantityIn(written string, m measure, kase byte) string {
	return c.amountIn(written, m.noun.gender, kase) + " " + c.unitName(m, written, kase)
}

// unitName returns the name of a unit after a number.
func (c *context) unitName(m measure, written string, kase byte) string {
	t := c.locale.tables
	n, ok := t.wholeNumber(written)
	if !ok {
		return m.say(3, m.noun.forms["sg"])
	}
	count := slices.Index([]string{"one", "few", "other"}, t.category(n))
	if count == 1 && kase != 'n' && kase != 'a' {
		count = 2
	}
	return m.say(count, t.form(m.noun, n, kase))
}

// notUnit matches the rest of an abbreviation that begins like a unit: "5 т.е.", "ul. Długa 12 m. 5".
var notUnit = regexp.MustCompile(`^(?:\d|\.\pL|\. \d)`)

// sayRangeIn reads two numbers in the gender and case of the second one.
func sayRangeIn(c *context) (string, bool) {
	from, to := c.groups[1], c.groups[2]
	if strings.ContainsRune("-–.:", c.previous()) ||
		strings.HasPrefix(c.after, "-") && isDigit(nextRune(c.after)) {
		return "", false
	}
	if from[0] == '0' && len(from) > 1 && from[1] != ',' {
		return c.locale.digits(c.groups[0]), c.groups[3] == ""
	}
	t, unit := c.locale.tables, c.locale.units[strings.ReplaceAll(c.groups[3], " ", "")]
	n, ok := t.wholeNumber(to)
	gender, kase, _ := c.agree(n, c.nounAfter())
	name := ""
	if unit.noun != nil {
		gender, kase = unit.noun.gender, c.kase('n')
	}
	between, second := "-", kase
	if direct := kase == 'n' || kase == 'a'; t.words["to"] != "-" && direct && ok &&
		(t.category(n) == "other" || unit.noun != nil) {
		between, second = t.spaced("to"), 'g'
	}
	if unit.noun != nil {
		name = " " + c.unitName(unit, to, second) + c.stop(c.groups[0], c.after)
	}
	return c.amountIn(from, gender, kase) + between + c.amountIn(to, gender, second) + name, true
}

// fractionIn spells a fraction, which may follow a whole number, in a case.
func (c *context) fractionIn(whole, over, under string, kase byte) (string, bool) {
	l, t, top, bottom, of := c.locale, c.locale.tables, number(over), number(under), ""
	if unit := l.units[c.groups[4]]; unit.noun != nil {
		of = " " + unit.say(3, unit.noun.forms["sg"])
	}
	switch {
	case startsUpper(c.before()) && c.next() == "" && whole == "": // a house
		return l.integer(over) + " " + l.tables.words["over"] + " " + l.integer(under), true
	case top == 0 || bottom < 2 || bottom > 100 || top >= bottom:
		return l.integer(over) + " " + l.integer(under) + of, whole == "" && max(len(over), len(under)) < 4
	case whole == "" && top == 1 && bottom == 2 && t.words["half m"] != "" && of != "":
		return t.words["half m"] + of, true
	case whole != "" && top == 1 && bottom == 2:
		return c.amountIn(whole, 'm', kase) + " " + t.words["half"] + of, true
	case whole != "":
		whole = c.amountIn(whole, 'f', kase) + t.spaced("and")
	}
	if part := t.nouns[t.parts[strconv.FormatInt(bottom, 10)][0]]; part != nil {
		return whole + l.cardinal(top, part.gender, kase) + " " + t.form(part, top, kase) + of, true
	}
	r := reading{gender: 'f', plural: t.category(top) != "one", kase: kase}
	if r.plural && (kase == 'n' || kase == 'a') && (t.isRussian() || t.category(top) == "other") {
		r.kase = 'g'
	}
	return whole + l.cardinal(top, 'f', kase) + " " + l.ordered(bottom, r) + of, true
}

// sayEnding reads "5-го" as an ordinal number, and "5-ти" as a cardinal one.
func sayEnding(c *context) (string, bool) {
	l, t, n, suffix := c.locale, c.locale.tables, number(c.groups[1]), c.groups[2]
	round := n%10 == 0 && n >= 20
	kase, options := t.pairs["count"][suffix], t.suffixes[suffix]
	switch {
	case kase != "" && (options == nil || !round):
		return l.cardinal(n, 'm', kase[0]), true
	case options == nil:
		return "", false
	}
	if plural := slices.DeleteFunc(slices.Clone(options), reading.isSingular); round && len(plural) > 0 {
		options = plural
	}
	r := c.chosen(options, c.nounAfter())
	spoken := l.ordered(n, r)
	if years := t.nouns["год"]; years != nil && strings.HasSuffix(c.groups[0], ".") {
		spoken += " " + years.forms["x"+string(r.kase)] + c.stop(".", c.after)
	}
	return spoken, true
}

// sayCompound reads "5-летний" as one word.
func sayCompound(c *context) (string, bool) {
	spoken := c.locale.spell("%compound", number(c.groups[1]))
	return spoken + c.groups[2], spoken != ""
}

// sayPolishOrdinal reads "3." as an ordinal number if a noun after or before it requires one.
func sayPolishOrdinal(c *context) (string, bool) {
	n := number(c.groups[1])
	if c.locale.tables.isRussian() || isDigit(c.previous()) || isWord(firstOf(c.after)) {
		return "", false
	}
	if startsLower(c.next()) {
		between := orderedFollows.FindString(c.after[:min(len(c.after), 20)])
		c.after = strings.TrimPrefix(c.after, strings.TrimRight(between, " "))
		if r, ok := c.orderedBy(n, c.nounAfter(), c.governed()); ok {
			return c.locale.ordered(n, r), true
		}
	}
	flags := "!"
	if n%10 == 0 && n <= 90 {
		flags = "!y" // a decade
	}
	r, ok := c.nounBefore(flags)
	return c.locale.ordered(n, r) + c.ordinalStop(), ok
}

// ordinalStop returns the full stop of an ordinal number that ends the sentence, too.
func (c *context) ordinalStop() string {
	if next := c.next(); startsLower(next) || roman(next) > 0 || strings.HasPrefix(c.after, ",") {
		return ""
	}
	return "."
}

// isNumbered reports whether a word is a noun that ordinal numbers stand before.
func (t *tables) isNumbered(word string) bool {
	return slices.ContainsFunc(t.forms[word], func(r reading) bool { return strings.Contains(r.noun.flags, "!") })
}
