package frontend

import (
	"cmp"
	"regexp"
	"strings"
)

// slavicDate says a date of numbers, of which the month may be a Roman one; it fails if these are none.
func (l *locale) slavicDate(day, month, year string, kase byte) (string, bool) {
	n := max(number(month), roman(month))
	if n < 1 || n > 12 || !isDay(day) {
		return "", false
	}
	spoken := l.slavicDay(number(day), kase) + " " + l.slavic.months[n-1].forms["sg"]
	if year != "" {
		spoken += " " + l.slavicYear(year, 'g') + l.yearWord()
	}
	return spoken, true
}

// slavicDay says the number of a day, which is masculine in Polish and neuter in Russian.
func (l *locale) slavicDay(n int64, kase byte) string {
	gender := byte('m')
	if l.slavic.russian {
		gender = 'n'
	}
	return l.ordered(n, reading{gender: gender, kase: kase})
}

func (l *locale) slavicYear(digits string, kase byte) string {
	return l.ordered(number(digits), reading{gender: 'm', kase: kase})
}

// yearWord returns the word to say after the year of a date that lacks it.
func (l *locale) yearWord() string {
	for _, row := range l.slavic.rows["year"] {
		if row[2] != "" {
			return " " + row[2]
		}
	}
	return ""
}

// dayCase returns the case of a day by the word before it: "on the third" is genitive without a preposition.
func (c *context) dayCase() byte {
	if c.isAfter("today") {
		return 'n'
	}
	return c.clockCase('g')
}

// saySlavicDottedDate says "3.05.2020" and "3 V 2020".
func saySlavicDottedDate(c *context) (string, bool) {
	spoken, ok := c.locale.slavicDate(c.groups[1], c.groups[2], c.groups[3], c.dayCase())
	if word := c.groups[4]; word != "" {
		spoken = strings.TrimSuffix(spoken, c.locale.yearWord()) + c.yearSaid(word) + c.stop(c.groups[0], c.after)
	}
	return spoken, ok
}

func saySlavicDayMonth(c *context) (string, bool) {
	day, last, year, word := c.groups[1], c.groups[2], c.groups[4], c.groups[5]
	if !isDay(day) || last != "" && !isDay(last) {
		return "", false
	}
	l, kase := c.locale, c.dayCase()
	spoken := l.slavicDay(number(day), kase)
	if last != "" {
		spoken += l.tables.words["to"] + l.slavicDay(number(last), kase)
	}
	month := l.slavic.monthNumber[strings.ToLower(strings.TrimSuffix(c.groups[3], "."))]
	spoken += " " + l.slavic.months[month-1].forms["sg"]
	if year != "" {
		spoken += " " + l.slavicYear(year, 'g') + c.yearSaid(word)
	}
	return spoken + c.stop(c.groups[0], c.after), true
}

// yearSaid returns the word after a year in the genitive.
func (c *context) yearSaid(word string) string {
	if word == "" {
		return c.locale.yearWord()
	}
	if name := c.locale.slavic.nouns[c.locale.slavic.years[strings.TrimSuffix(word, ".")]]; name != nil {
		return " " + name.forms["sg"]
	}
	return " " + word
}

// saySlavicFirst says the first day of "с 3 по 5 мая", and the first year of "с 1990 по 1995 год".
func saySlavicFirst(c *context) (string, bool) {
	written := c.groups[1]
	if c.size = len(written); c.size == 4 {
		return c.locale.slavicYear(written, c.kase('n')), plausibleYear(written)
	}
	return c.locale.slavicDay(number(written), c.dayCase()), isDay(written)
}

func saySlavicMonthYear(c *context) (string, bool) {
	spoken := c.groups[1] + " " + c.locale.slavicYear(c.groups[2], 'g') + c.yearSaid(c.groups[3])
	return spoken + c.stop(c.groups[0], c.after), plausibleYear(c.groups[2])
}

// saySlavicYear says "в 1990 г." and "в 1941–1945 гг.".
func saySlavicYear(c *context) (string, bool) {
	g, first, last, word := c.locale.slavic, c.groups[1], c.groups[2], c.groups[3]
	isYear := len(first) == 4 && plausibleYear(first) || eraFollows.MatchString(c.after[:min(len(c.after), 20)])
	if !isYear {
		return "", false
	}
	kase, cell := c.kase('g'), "s"
	if last != "" {
		kase, cell = c.kase('n'), "x"
	}
	spoken := c.locale.slavicYear(first, kase)
	if last != "" {
		spoken += c.locale.tables.words["to"] + c.locale.slavicYear(last, kase)
	}
	name := g.nouns[g.years[word]]
	if name == nil {
		cell, name = "x", g.nouns[g.spans[word]]
	}
	return spoken + " " + name.forms[cell+string(kase)] + c.stop(c.groups[0], c.after), true
}

// eraFollows matches the abbreviation of an era.
var eraFollows = regexp.MustCompile(`^\s(?:до\s)?н\.|^\s(?:p\.\s?)?n\.\s?e\.`)

// saySlavicYears says "1941–1945".
func saySlavicYears(c *context) (string, bool) {
	first, last, word := c.groups[1], c.groups[2], c.groups[3]
	if !plausibleYear(first) || !plausibleYear(last) || first >= last {
		return "", false
	}
	l, say := c.locale, c.locale.slavicYear
	if !l.slavic.russian {
		say = func(digits string, _ byte) string { return l.integer(digits) }
	} else if word == "" && c.next() != "" && !l.tables.sets["little"][c.next()] {
		return "", false
	}
	kase := byte('n')
	if r, ok := c.orderedBy(number(first), l.slavic.forms[word], c.allowed()); ok && word != "" {
		kase, word = r.kase, " "+word
	}
	return say(first, kase) + l.tables.words["to"] + say(last, kase) + word, true
}

// slavicClock says a time. Hours are ordinal numbers in Polish.
func (c *context) slavicClock(hour, minute string, kase byte) string {
	l, h, m := c.locale, number(hour), number(minute)
	zero := ""
	if m < 10 {
		zero = l.tables.words["zero"] + " "
	}
	switch {
	case !l.slavic.russian && m <= 0:
		return l.ordered(h, reading{gender: 'f', kase: kase})
	case !l.slavic.russian:
		return l.ordered(h, reading{gender: 'f', kase: kase}) + " " + zero + l.counted(m, 'm', 'n')
	case minute == "":
		return l.counted(h, 'm', kase)
	case m <= 0:
		return c.measured(hour, "", l.slavic.units["ч"], kase)
	default:
		return l.counted(h, 'm', kase) + " " + zero + l.counted(m, 'f', kase)
	}
}

// clockCase returns the case of a day or an hour by the word before it, or another if that is no preposition.
func (c *context) clockCase(otherwise byte) byte {
	if kase := c.locale.slavic.clocks[strings.ToLower(c.before())]; kase != "" {
		return kase[0]
	}
	return c.kase(otherwise)
}

func saySlavicTime(c *context) (string, bool) {
	hour, minute, second := c.groups[1], c.groups[2], c.groups[3]
	if number(hour) > 24 || number(minute) > 59 || strings.ContainsRune(":,.", c.previous()) {
		return "", false
	}
	hour = noZero(hour)
	if second == "" {
		return c.slavicClock(hour, minute, c.clockCase('n')), true
	}
	var parts []string
	for i, digits := range []string{hour, minute, second} {
		unit := c.locale.slavic.units[strings.Fields(c.locale.tables.words["clock"])[i]]
		parts = append(parts, c.measured(noZero(digits), "", unit, 'n'))
	}
	return strings.Join(parts, " "), true
}

// saySlavicDottedTime says "в 18.00" after a preposition.
func saySlavicDottedTime(c *context) (string, bool) {
	if c.allowed() == "" || strings.HasPrefix(c.after, "%") || strings.HasPrefix(c.after, " %") {
		return "", false
	}
	return saySlavicTime(c)
}

// noZero returns a number without the zero before it.
func noZero(digits string) string {
	if len(digits) > 1 {
		return strings.TrimPrefix(digits, "0")
	}
	return digits
}

// sayPolishHour says "godz. 20" in the case of the preposition before it, and "godz. 8-16" as hours from and to.
func sayPolishHour(c *context) (string, bool) {
	hours, kase := c.locale.slavic.nouns["godzina"], c.clockCase('n')
	if hours == nil || number(c.groups[1]) > 24 {
		return "", false
	}
	name := hours.forms["s"+string(kase)] + " " + c.slavicClock(noZero(c.groups[1]), c.groups[2], kase)
	if last := c.groups[3]; last != "" {
		name = hours.forms[map[bool]string{true: "xn", false: "xp"}[kase == 'n']] + " od " +
			c.slavicClock(noZero(c.groups[1]), c.groups[2], 'g') + " do " + c.slavicClock(noZero(last), c.groups[4], 'g')
	}
	if startsUpper(c.groups[0]) {
		return capital(name), true
	}
	return name, true
}

func saySlavicRatio(c *context) (string, bool) {
	if c.previous() == ':' || strings.HasPrefix(c.after, ":") {
		return "", false
	}
	between, kase := c.locale.tables.words["ratio"], byte('g')
	if between == " " {
		kase = 'n'
	}
	return c.slavicAmount(c.groups[1], 'm', 'n') + between + c.slavicAmount(c.groups[2], 'm', kase), true
}

// saySlavicPhone says a telephone number: an international one, one of eleven digits, or one after "telephone".
func saySlavicPhone(c *context) (string, bool) {
	written := c.groups[0]
	groups := strings.FieldsFunc(written, func(r rune) bool { return !isDigit(r) })
	count := len(strings.Map(onlyDigit, written))
	dashes := strings.Count(written, "-") > 1 || strings.Contains(written, ")")
	long := count >= 9 && count <= 12 && len(groups) >= 4 && len(groups[len(groups)-1]) == 2
	if written[0] != '+' && !(long || count == 11 && dashes || c.isAfter("phone")) {
		return "", false
	}
	return sayPhone(c)
}

func (l *locale) slavicWordRules() []rule {
	g := l.slavic
	return append([]rule{
		on(Roman, `([IVXL]{1,7})(\s?[-–—]\s?|\s[iи]\s)([IVXL]{1,7})\s(?:(`+
			alternatives(g.column("century"))+`)\.|(`+alternatives(g.formsOf("!"))+`))`, saySlavicRomans),
		on(Roman, `([IVXL]{1,7})(?:\s?(`+alternatives(g.column("century"))+`)\.)?`, saySlavicRoman),
		on(Abbreviation, `((?:\pL\.){2,6})|\pL{1,7}(?:-\pL)?\.(?:[ \x{a0}\x{202f}]?\pL{1,3}\.){0,3}`,
			saySlavicLongForm),
		on(Abbreviation, `(?i:`+cmp.Or(alternatives(l.tables.bare), noText)+`)\.?`, sayBare),
	}, symbolRules()...)
}

// saySlavicRoman says "XIX век" and "Пётр I" by the noun beside the number.
func saySlavicRoman(c *context) (string, bool) {
	g, n, before := c.locale.slavic, roman(c.groups[1]), c.before()
	if n == 0 || n >= 50 {
		return "", false
	}
	if century := g.centuries[c.groups[2]]; century != nil {
		r := reading{gender: century.gender, kase: c.kase('g')}
		return c.locale.ordered(n, r) + " " + century.forms["s"+string(r.kase)] + c.stop(".", c.after), true
	}
	if r, ok := c.orderedBy(n, c.nounAfter(), c.allowed()); ok {
		return c.locale.ordered(n, r), true
	}
	for _, wanted := range []byte(c.earlier(before).allowed() + caseOrder) {
		if c.title() == "" {
			break
		}
		for _, r := range c.nounBefore("!r") {
			if r.kase == wanted {
				return c.ruler(n, r), true
			}
		}
	}
	return "", false
}

// saySlavicRomans says "XVIII–XIX вв.".
func saySlavicRomans(c *context) (string, bool) {
	g, first, last := c.locale.slavic, roman(c.groups[1]), roman(c.groups[3])
	r, name := reading{gender: 'm', kase: c.kase('g')}, " "+c.groups[5]
	if century := g.centuries[c.groups[4]]; century != nil {
		cell := "s"
		if len(c.groups[4]) > len("в") {
			cell = "x"
		}
		name = " " + century.forms[cell+string(r.kase)] + c.stop(".", c.after)
	} else if noun, ok := c.orderedBy(last, g.forms[c.groups[5]], c.allowed()); ok {
		r = reading{gender: noun.gender, kase: noun.kase}
	}
	return c.locale.ordered(first, r) + c.groups[2] + c.locale.ordered(last, r) + name, first > 0 && last > 0
}

// ruler says the number after a noun, which is part of the name if that is a ruler's.
func (c *context) ruler(n int64, r reading) string {
	if r.noun.flags != "r" {
		return c.locale.ordered(n, r)
	}
	if r.gender == 'm' && r.kase == 'a' {
		r.kase = 'g'
	}
	return capital(c.locale.ordered(n, r))
}

// saySlavicLongForm says an abbreviation. One that stands for a noun has the case of the preposition before it.
func saySlavicLongForm(c *context) (string, bool) {
	long, ok := sayLongForm(c)
	key := strings.TrimSuffix(c.text[c.at:c.at+c.size], ".")
	noun := c.locale.slavic.nouns[strings.TrimSpace(long)]
	if a, _ := c.shortFor(key, c.after); !ok || noun == nil || !strings.Contains(a.conditions, "c") {
		return long, ok
	}
	kase := c.kase('n')
	for _, likelier := range []byte("dp") {
		if strings.IndexByte(c.allowed(), likelier) >= 0 {
			kase = likelier
		}
	}
	return strings.Replace(long, strings.TrimSpace(long), noun.forms["s"+string(kase)], 1), true
}
