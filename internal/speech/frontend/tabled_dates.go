package frontend

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func (l *locale) tabledDateRules() []rule {
	t, month := l.tables, l.monthPattern()
	of := `[\s-]?(?:(?:` + cmp.Or(t.words["of dates"], t.words["of"]) + `)\s)?`
	clock := alternatives(strings.Fields("h " + t.words["o'clock"]))
	day := `(\d{1,2})` + l.suffixPattern()
	return []rule{
		on(Date, `(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(T\d{2}:\d{2})?(?::\d{2}(?:\.\d+)?)?(Z)?`, sayISODate),
		on(Date, `(\d{1,2})([/.-])(\d{1,2})([/.-])(\d{4}|\d{2})`+t.yearEnd(), sayTabledDate),
		unlessAfter(oneOf("/"), on(Date, `(\d{1,2})/(\d{1,2})`, sayShortDate)),
		on(Date, day+`(?:\s?[-–]\s?`+day+`)?`+of+month+`(?:`+of+`(\d{4})`+t.yearEnd()+`)?`, sayTabledDayMonth),
		on(Time, `(\d{1,2}):(\d{2})(?::(\d{2}(?:[.,]\d{1,3})?))?(?:\s?(`+clock+`)\b)?`, sayTabledTime),
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
	if l.tables.declines() {
		return ""
	}
	return `(?:\.?(?:` + alternatives(slices.Collect(maps.Keys(l.tables.ordinals))) + `))?`
}

func isDay(digits string) bool { return number(digits) >= 1 && number(digits) <= 31 }

func sayISODate(c *context) (string, bool) {
	spoken, ok := sayDated(c, c.groups[3], c.groups[2], c.groups[1], "")
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

// sayDated spells a date, or fails if the numbers are none. The year may be missing, and the month may be Roman.
func sayDated(c *context, day, month, year, word string) (string, bool) {
	n, t := max(number(month), roman(month)), c.locale.tables
	if n < 1 || n > 12 || !isDay(day) {
		return "", false
	}
	if c.locale.american {
		return c.inYear(t.months[n-1]+" "+c.locale.ordinal(number(day))+",", year, word), true
	}
	return c.dayOf(day) + c.inYear(t.spaced("of month")+t.months[n-1], year, word), true
}

// spaced returns a word that links two others, with the spaces around it. A hyphen has none.
func (t *tables) spaced(name string) string {
	switch word := t.words[name]; word {
	case "", " ":
		return " "
	case "-":
		return word
	default:
		return " " + word + " "
	}
}

// inYear adds a year, which may be "", and the word after it to a date.
func (c *context) inYear(spoken, year, word string) string {
	switch t := c.locale.tables; {
	case year == "":
		return strings.TrimSuffix(spoken, ",")
	case t.declines():
		return spoken + " " + c.locale.yearIn(year, 'g') + c.yearSaid(word)
	default:
		return spoken + t.spaced("of year") + c.locale.yearNumber(year)
	}
}

// inHundreds reports whether a language reads a number of four digits in hundreds, as a year or a count.
func (l *locale) inHundreds(written string) bool {
	return l.tables.words["hundred"] != "" && len(written) == 4 && written >= "1100" && written < "2000" &&
		strings.Trim(written, "0123456789") == ""
}

// yearNumber spells a year: "negentienhonderdvijf".
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

// dayOf spells the number of a day, which is an ordinal number in German and English, and in other languages may be one
// for the first.
func (c *context) dayOf(digits string) string {
	l := c.locale
	switch n := number(digits); {
	case l.tables.declines():
		return l.ordered(n, reading{gender: l.tables.words["day gender"][0], kase: c.dayCase()})
	case l.tables.hasCapitals():
		return l.ordinal(n) + c.dayEnding()
	case l.tables.isEnglish() && c.isAfter("before ordinal"):
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
	if number(month) > 12 && !c.locale.tables.declines() || c.locale.american && c.groups[2] != "." && number(day) <= 12 {
		day, month = month, day
	}
	spoken, ok := sayDated(c, day, month, year, c.groups[6])
	if c.groups[6] != "" {
		spoken += c.stop(c.groups[0], c.after)
	}
	return spoken, ok
}

// sayShortDate reads a day and a month after a word that introduces a date, or in a span of two dates.
func sayShortDate(c *context) (string, bool) {
	day, month := c.groups[1], c.groups[2]
	if c.locale.american {
		day, month = month, day
	}
	isFraction := number(day) <= 12 && number(c.groups[1]) < number(c.groups[2])
	isPadded := len(c.groups[0]) == len("01/02") && (c.groups[1][0] == '0' || c.groups[2][0] == '0')
	isDate := isPadded || c.isAfter("day") || c.isAfter("weekday") ||
		!isFraction && (c.isInSpanOf(dateSpan) || c.isAfter("before day"))
	goesOn := strings.ContainsRune("/.", firstOf(c.after)) && isDigit(nextRune(c.after))
	if !isDate || goesOn || c.locale.unitFollows(c.after) {
		return "", false
	}
	return sayDated(c, day, month, "", "")
}

// span matches the other end of a span, before and after a position.
type span [2]*regexp.Regexp

func spanOf(form string) span {
	const dash, border = `\s?[-–]\s?`, `(?:^|[^\d/]|$)`
	return span{regexp.MustCompile(border + form + dash + `$`), regexp.MustCompile(`^` + dash + form + border)}
}

var (
	dateSpan  = spanOf(`\d{1,2}/\d{1,2}`)
	clockSpan = spanOf(`\d{1,2}\.[0-5]\d`)
)

// isInSpanOf reports whether a dash joins the match to another text of its form.
func (c *context) isInSpanOf(s span) bool {
	const longest = 10
	return s[0].MatchString(c.text[max(0, c.at-longest):c.at]) || s[1].MatchString(c.after[:min(len(c.after), longest)])
}

// sayTabledDayMonth reads a day, or two, before the name of a month, which may be abbreviated before a year or with a
// full stop.
func sayTabledDayMonth(c *context) (string, bool) {
	day, last, name := c.groups[1], c.groups[2], strings.ToLower(c.groups[3])
	dot, year, word := c.groups[4], c.groups[5], c.groups[6]
	l := c.locale
	month := l.tables.said[name]
	isFull, isOrdinal := name == strings.ToLower(month), c.groups[0][len(day)] == '.'
	isUnclear := !isFull && !isOrdinal && !l.tables.isEnglish() && !l.tables.declines() ||
		l.tables.sets["no month"][c.groups[3]]
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
		spoken += l.tables.spaced("to") + c.dayOf(last)
	}
	spoken = c.inYear(spoken+l.tables.spaced("of month")+month, year, word)
	if !isFull && year == "" || word != "" {
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
	if and := t.words["and seconds"]; and != "" && c.groups[4] != "h" {
		seconds := c.quantity(unpadded(second), c.locale.units["s"])
		return sayClock(c, hour, minute) + " " + and + " " + seconds, true
	}
	return c.withSeconds(hour, minute, second), true
}

// withSeconds spells hours, minutes and seconds with their units.
func (c *context) withSeconds(digits ...string) string {
	for i, symbol := range strings.Fields(cmp.Or(c.locale.tables.words["clock"], "h min s")) {
		digits[i] = c.quantity(unpadded(digits[i]), c.locale.units[symbol])
	}
	return strings.Join(digits, " ")
}

// unpadded returns a part of a time without the zero before it.
func unpadded(digits string) string { return cmp.Or(strings.TrimPrefix(digits, "0"), "0") }

// sayHours reads "14h30" and "14 h".
func sayHours(c *context) (string, bool) {
	if strings.ContainsRune(":,.", c.previous()) || number(c.groups[1]) > 24 || number(c.groups[2]) > 59 ||
		c.locale.tables.declines() || c.locale.tables.isEnglish() || strings.ContainsRune("'’", firstOf(c.after)) {
		return "", false
	}
	return c.tabledClock(c.groups[1], c.groups[2], true), true
}

var percentFollows = regexp.MustCompile(`^\s?%`)

// sayDottedTime reads "ore 14.30" and "9.00-13.00".
func sayDottedTime(c *context) (string, bool) {
	isClock := c.isAfter("clock") || c.groups[3] != "" || c.governed() != "" && !percentFollows.MatchString(c.after) ||
		c.locale.tables.words["decimal"] == "," && c.isInSpanOf(clockSpan)
	goesOn := strings.HasPrefix(c.after, ".") && isDigit(nextRune(c.after))
	if c.locale.tables.isEnglish() || !isClock || goesOn || number(c.groups[1]) > 24 || number(c.groups[2]) > 59 {
		return "", false
	}
	c.dropStop(c.groups[3])
	return c.tabledClock(c.groups[1], c.groups[2], false), true
}

func sayClock(c *context, hour, minute string) string { return c.tabledClock(hour, minute, false) }

// tabledClock spells a time, with the word for hours if the language or the text has it.
func (c *context) tabledClock(hour, minute string, withUnit bool) string {
	t := c.locale.tables
	if t.declines() {
		return c.clockIn(hour, minute, c.clockCase('n'))
	}
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

// saySeason reads "2025/26" without the stroke.
func saySeason(c *context) (string, bool) {
	first, last := c.groups[1], c.groups[2]
	follows := (number(first)+1)%100 == number(last[len(last)-2:])
	return c.locale.yearNumber(first) + " " + c.locale.integer(last), plausibleYear(first) && follows
}
