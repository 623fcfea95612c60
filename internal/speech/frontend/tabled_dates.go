package frontend

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func (l *locale) tabledDateRules() []rule {
	t, month := l.tables, l.monthPattern()
	of := `\s?(?:(?:` + cmp.Or(t.words["of dates"], t.words["of"]) + `)\s)?`
	clock := alternatives([]string{"h", cmp.Or(t.words["o'clock"], "h")})
	day := `(\d{1,2})` + l.suffixPattern()
	return []rule{
		on(Date, `(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(T\d{2}:\d{2})?(?::\d{2}(?:\.\d+)?)?(Z)?`, sayISODate),
		on(Date, `(\d{1,2})([/.-])(\d{1,2})([/.-])(\d{4}|\d{2})`, sayTabledDate),
		unlessAfter(oneOf("/"), on(Date, `(\d{1,2})/(\d{1,2})`, sayShortDate)),
		on(Date, day+`(?:\s?[-–]\s?`+day+`)?`+of+month+`(?:`+of+`(\d{4})\b)?`, sayTabledDayMonth),
		on(Time, `(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\s?(`+clock+`)\b)?`, sayTabledTime),
		on(Time, `(\d{1,2})\s?(?:`+cmp.Or(t.words["clock unit"], "[hH]")+`)(?:\s?(\d{2}))?(?:\s?min)?`, sayHours),
		on(Time, `(\d{1,2})\.(\d{2})(?:\s?(`+clock+`)\b)?`, sayDottedTime),
		on(Range, `(\d+):(\d+)`, sayRatio),
		on(Range, `(\d{4})/(\d{4}|\d{2})`, saySeason),
	}
}

// monthPattern matches the name of a month, and its full stop.
func (l *locale) monthPattern() string {
	return `((?i:` + alternatives(slices.Collect(maps.Keys(l.tables.monthOf))) + `))(\.)?`
}

// suffixPattern matches the end of an ordinal number, which may be missing.
func (l *locale) suffixPattern() string {
	return `(?:\.?(?:` + alternatives(slices.Collect(maps.Keys(l.tables.ordinals))) + `))?`
}

func isDay(digits string) bool { return number(digits) >= 1 && number(digits) <= 31 }

func sayISODate(c *context) (string, bool) {
	spoken, ok := sayDated(c, c.groups[3], c.groups[2], c.groups[1])
	if clock := strings.TrimPrefix(c.groups[4], "T"); clock != "" {
		hour, minute, _ := strings.Cut(clock, ":")
		spoken += ", " + c.locale.clocked(c, hour, minute)
	}
	if c.groups[5] != "" {
		spoken += " U T C"
	}
	isMixed := c.groups[0][len("2006")] != c.groups[0][len("2006-")+len(c.groups[2])]
	return spoken, ok && !isMixed
}

// sayDated says a date; it fails if the numbers are none. The year may be missing.
func sayDated(c *context, day, month, year string) (string, bool) {
	if c.locale.slavic != nil {
		return c.locale.slavicDate(day, month, year, c.dayCase())
	}
	n, t := number(month), c.locale.tables
	if n < 1 || n > 12 || !isDay(day) {
		return "", false
	}
	if c.locale.american {
		return c.locale.inYear(t.months[n-1]+" "+c.locale.ordinal(number(day))+",", year), true
	}
	return c.dayOf(day) + c.locale.inYear(t.linked("month")+t.months[n-1], year), true
}

// linked returns the preposition before the month or the year of a date, with the spaces around it.
func (t *tables) linked(unit string) string {
	if word := t.words["of "+unit]; word != "" {
		return " " + word + " "
	}
	return " "
}

// inYear adds a year, which may be "", to a date.
func (l *locale) inYear(spoken, year string) string {
	if year == "" {
		return strings.TrimSuffix(spoken, ",")
	}
	return spoken + l.tables.linked("year") + l.yearNumber(year)
}

// inHundreds reports whether a language says a number of four digits in hundreds, as a year or a count.
func (l *locale) inHundreds(written string) bool {
	return l.tables.words["hundred"] != "" && len(written) == 4 && written >= "1100" && written < "2000" &&
		strings.Trim(written, "0123456789") == ""
}

// yearNumber says the number of a year: "negentienhonderdvijf".
func (l *locale) yearNumber(written string) string {
	n := number(written)
	switch {
	case l.tables.isEnglish():
		return l.yearOf(written)
	case !l.inHundreds(written):
		return l.integer(written)
	case n%100 == 0:
		return l.spell(l.counting, n/100) + l.tables.words["hundred"]
	default:
		rest := cmp.Or(l.spell("%spellout-cardinal", n%100), l.spell(l.counting, n%100))
		return l.spell(l.counting, n/100) + l.tables.words["hundred"] + rest
	}
}

// dayOf says the number of a day, which is an ordinal number in German and English. In other languages, the first may
// be one.
func (c *context) dayOf(digits string) string {
	l := c.locale
	switch n := number(digits); {
	case l.tables.hasCapitals():
		return l.ordinal(n) + c.dayEnding()
	case l.tables.isEnglish() && c.before() == "the":
		return l.ordinal(n)
	case l.tables.isEnglish():
		return "the " + l.ordinal(n)
	case n != 1 || l.tables.words["first day"] == "" || strings.ContainsRune("'’", c.previous()): // "l'1"
		return l.spell(l.counting, n)
	}
	return l.tables.words["first day"]
}

// sayTabledDate reads the day first, unless that cannot be one or the date is an American one without full stops. Years
// of two digits follow a stroke alone.
func sayTabledDate(c *context) (string, bool) {
	day, month, year := c.groups[1], c.groups[3], c.groups[5]
	if c.groups[2] != c.groups[4] || len(year) == 2 && c.groups[2] != "/" {
		return "", false
	}
	if number(month) > 12 || c.locale.american && c.groups[2] != "." && number(day) <= 12 {
		day, month = month, day
	}
	return sayDated(c, day, month, year)
}

// sayShortDate says a day and a month after a word that shows that they are a date.
func sayShortDate(c *context) (string, bool) {
	day, month := c.groups[1], c.groups[2]
	if c.locale.american {
		day, month = month, day
	}
	isDate := c.isAfter("day") || c.isAfter("weekday") || number(day) > 12 && c.isAfter("before day")
	if !isDate || strings.HasPrefix(c.after, "/") || c.hasUnit() {
		return "", false
	}
	return sayDated(c, day, month, "")
}

// sayTabledDayMonth says a day, or two, before the name of a month, which may be abbreviated before a year or with a
// full stop.
func sayTabledDayMonth(c *context) (string, bool) {
	day, last, name, dot, year := c.groups[1], c.groups[2], strings.ToLower(c.groups[3]), c.groups[4], c.groups[5]
	l := c.locale
	month := l.tables.said[name]
	isFull, isOrdinal := name == strings.ToLower(month), c.groups[0][len(day)] == '.'
	isUnclear := !isFull && !isOrdinal && !l.tables.isEnglish() || l.tables.sets["no month"][c.groups[3]]
	if !isDay(day) || last != "" && !isDay(last) || isUnclear && dot+year == "" {
		return "", false
	}
	if isFull && dot != "" {
		if year != "" { // the next sentence begins with a number
			return "", false
		}
		c.size--
	}
	spoken := c.dayOf(day)
	if last != "" {
		spoken += " " + l.tables.words["to"] + " " + c.dayOf(last)
	}
	spoken = l.inYear(spoken+l.tables.linked("month")+month, year)
	if !isFull && year == "" {
		spoken += c.stop(c.groups[0], c.after)
	}
	return spoken, true
}

func sayTabledTime(c *context) (string, bool) {
	hour, minute, second := c.groups[1], c.groups[2], c.groups[3]
	t := c.locale.tables
	if strings.ContainsRune(":,.", c.previous()) || strings.HasPrefix(c.after, ":") || number(hour) > 24 ||
		number(minute) > 59 || number(second) > 59 || c.isAfter("score") {
		return "", false
	}
	if second == "" {
		return c.tabledClock(hour, minute, len(c.groups) > 4 && c.groups[4] != ""), true
	}
	if and := t.words["and seconds"]; and != "" {
		return sayClock(c, hour, minute) + " " + and + " " + c.quantity(noZero(second), c.locale.units["s"]), true
	}
	return c.withSeconds(hour, minute, second), true
}

// withSeconds says hours, minutes and seconds with their units.
func (c *context) withSeconds(digits ...string) string {
	for i, symbol := range strings.Fields(cmp.Or(c.locale.tables.words["clock"], "h min s")) {
		digits[i] = c.quantity(strconv.FormatInt(number(digits[i]), 10), c.locale.units[symbol])
	}
	return strings.Join(digits, " ")
}

// sayHours says "14h30" and "14 h".
func sayHours(c *context) (string, bool) {
	if strings.ContainsRune(":,.", c.previous()) || number(c.groups[1]) > 24 || number(c.groups[2]) > 59 ||
		strings.ContainsRune("'’", firstOf(c.after)) {
		return "", false
	}
	return c.tabledClock(c.groups[1], c.groups[2], true), true
}

// sayDottedTime says "ore 14.30".
func sayDottedTime(c *context) (string, bool) {
	isClock := c.isAfter("clock") || c.groups[3] != ""
	if c.locale.tables.isEnglish() || !isClock || number(c.groups[1]) > 24 || number(c.groups[2]) > 59 {
		return "", false
	}
	return c.tabledClock(c.groups[1], c.groups[2], false), true
}

func sayClock(c *context, hour, minute string) string { return c.tabledClock(hour, minute, false) }

// tabledClock says a time, with the word for hours where the language or the text has it.
func (c *context) tabledClock(hour, minute string, withUnit bool) string {
	t := c.locale.tables
	spoken := c.quantity(strconv.FormatInt(number(hour), 10), c.locale.units[cmp.Or(t.words["clock unit"], "h")])
	n := number(minute)
	if uses := t.words["hours"]; !withUnit && uses != "always" && (uses == "never" || n > 0) {
		spoken = c.count(strconv.FormatInt(number(hour), 10), 'f')
	}
	if n <= 0 {
		return spoken
	}
	return spoken + " " + strings.TrimLeft(t.words["and minutes"]+" ", " ") + c.locale.spell(c.locale.counting, n)
}

// saySeason says "2025/26" without the stroke.
func saySeason(c *context) (string, bool) {
	first, last := c.groups[1], c.groups[2]
	follows := (number(first)+1)%100 == number(last[len(last)-2:])
	return c.locale.yearNumber(first) + " " + c.locale.integer(last), plausibleYear(first) && follows
}
