package frontend

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// newEnglish makes the locale of English. In addition to the tables it has years among its numbers, dates that begin
// with the month, times in halves of the day, names with numbers and heteronyms.
func newEnglish(american bool, names ...string) *locale {
	l := newTables("en", "en", names...)
	l.american, l.counting, l.ordinals = american, "%spellout-cardinal-verbose", "%spellout-ordinal-verbose"
	l.clocked = func(_ *context, hour, minute string) string { return l.clock(hour, minute) }
	if american {
		l.counting, l.ordinals = "%spellout-cardinal", "%spellout-ordinal"
	}
	month, suffix, numeral := l.monthPattern(), l.suffixPattern(), l.tables.numeral()
	coin := `((?:US|CA?|AU?|NZ|HK)?[$£€¥₹₩]|USD|EUR|GBP|JPY)\s?`
	l.rules = l.tabledRules([]rule{
		on(Number, `\d{5}(?:-\d{4})?`, sayZIP),
		on(Phone, `\d{3}-(?:\d{2}-\d{4}|\d{3}-\d{4}-\d{1,4})|0\d{2,4} \d{3,4} \d{3,4}`, sayPhone),
		on(Phone, `(?:\+\d{1,3}[ .-]?|1[ .-])?(?:\(\d{2,4}\)[ .-]?|\d{3}[ .-])?\d{3}[ .-]\d{4}`, sayPhone),
		on(Time, `(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d{1,3})?))?(?:\s?([aApP])(?:\.\s?[mM]\.?|[mM]))?`, sayTime),
		on(Time, `(\d{1,2})(?:\.(\d{2}))?()\s?([aApP])(?:\.\s?[mM]\.|[mM])`, sayTime),
		on(Date, month+`[\s-](\d{1,2})`+suffix+`(?:[-–](\d{1,2})\b)?(?:(?:,?\s|-)(\d{4}))?`, sayMonthDay),
		on(Range, coin+`(`+numeral+`)[-–][$£€]?(`+numeral+`)(?:\s?(`+l.scalePattern()+`)\b)?`, sayPrices),
		on(Date, `['’]?(\d{1,3})0s`, sayDecade),
		on(Unit, `(\d+(?:\.\d+)?)["″]`, sayInches),
	}, []rule{
		on(Version, `\d{1,3}(?:\.\d+){2,3}|[vV]()(\d{1,3}(?:\.\d+){0,3})`, sayVersion),
		on(Version, `(`+programs+`) (\d+(?:\.\d+)+)`, sayVersion),
		unlessAfter(oneOf("-–0123456789"), on(Range, `(`+numeral+`)([-–—]\s?)(`+numeral+`)`, sayRange)),
		on(Number, `(\d{4})(?:\s[A-Z]\.?|\s[A-Z][a-z]+){1,3}\s(?:`+streets+`)\b`, sayHouse),
		on(Number, `(`+numeral+`)([kKMB])`, sayShortScale),
		on(Number, `\d{4}`, sayNumbered), on(Date, `\d{4}`, sayYear),
		unlessAfter(oneOf("."), on(Number, `\.\d+`, sayDecimals)),
		on(Abbreviation, `(?:[A-Za-z]\.){2,6}[A-Za-z]`, sayLetters), on(Abbreviation, `US`, sayUS),
		on(Heteronym, heteronymPattern(), sayHeteronym),
		unlessAfter(isDigit, on(Symbol, `-\d{1,3}`, saySerial)),
		on(Symbol, `@`, saySymbol),
	})
	return l
}

// isEnglish reports whether the language is English, in which years and numbers of names are read in pairs of digits,
// days are ordinal numbers, and units are singular in adjectives.
func (t *tables) isEnglish() bool { return t.words["numbered"] == "pairs" }

// sayNumbered reads the number of a room, a flight or the like by its pairs of digits: "Flight 1175", "UA 1175".
func sayNumbered(c *context) (string, bool) {
	before := c.before()
	isCode := len(before) == 2 && startsCapitals(before) && strings.HasSuffix(c.text[:c.at], before+" ")
	if !isCode && !c.isAfter("numbered") || c.groups[0][0] == '0' || strings.HasPrefix(c.after, "@") {
		return "", false
	}
	return c.locale.year(number(c.groups[0])), true
}

// sayYear reads a number as a year if its form or the words around it show that it is one.
func sayYear(c *context) (string, bool) {
	continues := strings.HasPrefix(c.after, "@") || strings.HasPrefix(c.after, ".") && isDigit(nextRune(c.after))
	return c.locale.year(number(c.groups[0])), !continues && isYear(c, c.groups[0])
}

// isYear reports whether a number of four digits is a year.
func isYear(c *context, written string) bool {
	before, first, sets := c.before(), firstOf(c.after), c.locale.tables.sets
	switch {
	case !plausibleYear(written):
		return false
	case strings.HasSuffix(strings.TrimRight(c.text[:c.at], " "), "©"):
		return true
	case slices.Contains([]string{", ", " and ", ", and "}, c.text[c.plain:c.at]) &&
		len(c.spans) > 0 && c.spans[len(c.spans)-1].Kind == Date:
		return c.next() == "" || sets["little"][c.next()]
	case before == "was" || before == "is":
		return strings.Contains(c.text[max(0, c.at-20):c.at], "year ")
	case c.isAfter("year"), sets["month"][strings.ToLower(before)] && !sets["no month"][before]:
		return !strings.HasPrefix(c.after, "%")
	}
	return written >= "1900" && (c.after == "" || strings.ContainsRune(".,;:)?!\n'", first)) && !isDigit(nextRune(c.after))
}

// streets are words with which the name of a street ends.
const streets = `St|Ave|Rd|Blvd|Dr|Ln|Hwy|Pkwy|Expy|Ct|Street|Avenue|Road|Boulevard|Drive|Lane|Highway|Court|Way|Place`

// sayHouse reads the number of a house in pairs of digits: "1428 Elm St.".
func sayHouse(c *context) (string, bool) {
	digits := c.groups[1]
	c.size = len(digits)
	return c.locale.year(number(digits)), true
}

// sayZIP reads an American postal code after its state.
func sayZIP(c *context) (string, bool) {
	before, isCapital := c.before(), strings.HasSuffix(c.text[:c.at], "D.C. ")
	return c.locale.digits(c.groups[0]), isCapital || startsCapitals(before) && len(before) == 2
}

// sayDecimals reads a number without a whole part, which may end a name: "beta.1".
func sayDecimals(c *context) (string, bool) { return c.pad(c.amount(c.groups[0], 0), c.size), true }

// saySerial reads the number after a name in capital letters: "COVID-19", "F-16".
func saySerial(c *context) (string, bool) {
	return " " + c.locale.integer(c.groups[0][1:]), startsCapitals(c.before()) && isUpper(c.previous())
}

// programs are names after which the number of a version follows.
const programs = `Python|Go|Java|Ruby|PHP|Node|Windows|Android|iOS|macOS|Ubuntu|Debian|Version`

// sayDecade reads "1990s" as "nineteen nineties". The group is the number without its last digit.
func sayDecade(c *context) (string, bool) {
	digits := c.groups[1] + "0"
	spoken := c.locale.integer(digits)
	if len(digits) == 4 {
		spoken = c.locale.yearOf(digits)
	}
	if before, ok := strings.CutSuffix(spoken, "y"); ok {
		spoken = before + "ie"
	}
	return spoken + "s", digits[0] != '0'
}

// sayRange reads the first of two numbers and the dash, or a range of years.
func sayRange(c *context) (string, bool) {
	from, to := c.groups[1], c.groups[3]
	isYears := len(from) == 4 && plausibleYear(from) && (len(to) == 2 || len(to) == 4 && plausibleYear(to))
	between, hasUnit := " "+c.locale.tables.words["to"]+" ", c.locale.unitFollows(c.after)
	if c.before() == "between" {
		between = " and "
	}
	switch {
	case !hasUnit && (strings.HasPrefix(c.after, "-") || isSerial(from, c.groups[2], to)):
		return "", false
	case isYears && !hasUnit:
		return c.locale.yearOf(from) + between + c.locale.yearOf(to), true
	}
	c.size -= len(to)
	return c.amount(from, 0) + between, true
}

// unitFollows reports whether a text begins with a unit.
func (l *locale) unitFollows(text string) bool {
	text = strings.TrimLeft(text[:min(len(text), 8)], " -")
	symbol := cmp.Or(firstWord(text), string(firstOf(text)))
	isShort := strings.HasPrefix(text, symbol+".") && l.units[symbol+"."].one != ""
	return isShort || l.units[symbol].one != ""
}

// yearOf spells a year of four or two digits.
func (l *locale) yearOf(digits string) string {
	if len(digits) == 2 && digits < "10" {
		return strings.TrimLeft(l.minutes(digits), " ")
	}
	return l.year(number(digits))
}

func sayMonthDay(c *context) (string, bool) {
	name, day, last, year := c.groups[1], c.groups[3], c.groups[4], c.groups[5]
	if !isDay(day) || strings.HasPrefix(c.after, ":") || strings.HasPrefix(c.after, "%") ||
		c.locale.tables.sets["no month"][name] {
		return "", false
	}
	spoken := c.locale.tables.said[strings.ToLower(name)] + " "
	if last == "" && !c.locale.american {
		spoken += "the "
	}
	spoken += c.locale.ordinal(number(day))
	if last != "" {
		spoken += " to " + c.locale.ordinal(number(last))
	}
	switch {
	case year != "" && strings.HasPrefix(c.after, "-"): // of another date
		c.size = len(strings.TrimRight(strings.TrimSuffix(c.groups[0], year), ", "))
	case year != "":
		spoken += ", " + c.locale.yearOf(year)
	}
	return spoken, last == "" || isDay(last)
}

func sayTime(c *context) (string, bool) {
	hour, minute, second, half := c.groups[1], c.groups[2], c.groups[3], c.groups[4]
	switch {
	case number(hour) > 24 || minute != "" && number(minute) > 59 || c.previous() == ':':
		return "", false
	case half != "":
		return c.locale.hourOf(hour, minute) + " " + strings.ToLower(half) + " m" + c.stop(c.groups[0], c.after), true
	case halfFollows.MatchString(c.after[:min(len(c.after), 20)]):
		return c.locale.hourOf(hour, minute), true
	case second != "":
		return c.withSeconds(hour, minute, second), true
	}
	return c.locale.clock(hour, minute), true
}

// hourOf spells a time on the twelve-hour clock.
func (l *locale) hourOf(hour, minute string) string {
	if hour = strings.TrimLeft(hour, "0"); hour == "" {
		hour = "12"
	}
	return l.integer(hour) + l.minutes(minute)
}

// halfFollows matches the end of a span of time with the half of the day, which is read once: "9:00-10:30 am".
var halfFollows = regexp.MustCompile(`^\s?[-–]\s?\d{1,2}:\d{2}\s?[aApP](?:\.\s?)?[mM]`)

func (l *locale) clock(hour, minute string) string {
	n := number(hour)
	switch {
	case number(minute) == 0 && n >= 1 && n <= 12:
		return l.spell(l.counting, n) + " o'clock"
	case number(minute) == 0:
		return l.spell(l.counting, n) + " hundred"
	default:
		return l.spell(l.counting, n) + l.minutes(minute)
	}
}

// minutes spells the minutes after an hour, with a space before them, and returns "" for a full hour.
func (l *locale) minutes(digits string) string {
	switch n := number(digits); {
	case n <= 0:
		return ""
	case n < 10:
		return " oh " + l.spell(l.counting, n)
	default:
		return " " + l.spell(l.counting, n)
	}
}

// isAdjective reports whether an amount is part of a noun phrase: "a 5 kg bag".
func (c *context) isAdjective() bool {
	sets := c.locale.tables.sets
	return sets["articles"][c.before()] && strings.HasPrefix(c.after, " ") && c.next() != "" &&
		!sets["little"][c.next()]
}

// singular returns a measure without its plural if the amount is an adjective.
func (c *context) singular(m measure) measure {
	if c.isAdjective() {
		m.many = m.one
	}
	return m
}

// isInitial reports whether a capital letter after a number is more likely an initial than a unit: "5 L", "a 4 V".
func (c *context) isInitial(amount, symbol string) bool {
	if len(symbol) != 1 || !isUpper(rune(symbol[0])) || c.groups[0] == amount+symbol || !c.locale.tables.isEnglish() {
		return false
	}
	return symbol != "V" && symbol != "W" || c.isAdjective() || amount == "1" || startsUpper(c.next())
}

// sayInches reads a quotation mark after a number as inches, unless it ends a quotation.
func sayInches(c *context) (string, bool) {
	quotes := strings.Count(c.text[c.plain:c.at], `"`)
	for _, s := range c.spans[max(0, len(c.spans)-20):] {
		if s.Kind != Unit {
			quotes += strings.Count(s.Original, `"`)
		}
	}
	endsQuotation := quotes%2 == 1 && !strings.HasSuffix(c.groups[0], "″")
	return c.quantity(c.groups[1], c.locale.units["in."]), !endsQuotation
}

// sayShortScale reads "1.5M users" and "3K views". It requires a counted noun or decimals, because "4K" and the like
// are names, too.
func sayShortScale(c *context) (string, bool) {
	t := c.locale.tables
	counts := strings.Contains(c.groups[1], ".") || startsLower(c.next()) && strings.HasPrefix(c.after, " ") &&
		!t.sets["resolved"][c.next()] && !t.sets["functionWords"][c.next()]
	return c.scaled(c.groups[1], c.groups[2], ""), counts
}

// sayPrices reads a range of amounts of money, both of which may have hundredths.
func sayPrices(c *context) (string, bool) {
	from, to, scale, m := c.groups[2], c.groups[3], c.groups[4], c.singular(c.locale.units[c.groups[1]])
	switch {
	case scale != "":
		return c.amount(from, 0) + " to " + c.scaled(to, scale, m.many), m.one != ""
	case strings.Contains(from+to, "."):
		return c.sum(from, m) + " to " + c.sum(to, m), m.one != ""
	}
	return c.amount(from, 0) + " to " + c.amount(to, 0) + " " + m.many, m.one != ""
}

// sayLetters reads initials without their full stops: "U.S".
func sayLetters(c *context) (string, bool) {
	return strings.ReplaceAll(c.groups[0], ".", " "), !strings.HasPrefix(c.after, ".")
}

// sayUS reads "US" as the name of the country, unless a neighbouring word is in capitals, too.
func sayUS(c *context) (string, bool) {
	if after, ok := strings.CutPrefix(c.after, ". "); ok && startsUpper(after) {
		c.size++
		return "U S.", true
	}
	isName := !strings.HasPrefix(c.after, "'") && !startsCapitals(c.next()) && !startsCapitals(c.before())
	return "U S", isName
}
