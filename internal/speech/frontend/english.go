package frontend

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// numeral is the pattern of a number with separators of thousands and decimals.
const numeral = `(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)`

// sum is a numeral that may have no whole part.
const sum = `(?:` + numeral + `|\.\d+)`

func newEnglish(american bool) *locale {
	l := newTables("en", "en", "en")
	l.american, l.counting, l.ordinals = american, "%spellout-cardinal-verbose", "%spellout-ordinal-verbose"
	l.dated = func(_ *context, day, month, year string) (string, bool) { return l.numbered(day, month, year) }
	l.clocked = func(_ *context, hour, minute string) string { return l.clock(hour, minute) }
	if american {
		l.counting, l.ordinals = "%spellout-cardinal", ""
	}
	l.rules = []rule{
		on(Number, `\d{5}(?:-\d{4})?`, sayZIP),
		on(Phone, `\d{3}-(?:\d{2}-\d{4}|\d{3}-\d{4}-\d{1,4})`, sayPhone),
		on(Phone, `0\d{2,4} \d{3,4} \d{3,4}`, sayPhone),
		on(Phone, `(?:\+\d{1,3}[ .-]?|1[ .-])?(?:\(\d{2,4}\)[ .-]?|\d{3}[ .-])?\d{3}[ .-]\d{4}`, sayPhone),
		on(Phone, `\+\d{1,3}(?:[ .-]?\(?\d{2,8}\)?){2,5}|97[89]-\d-\d+-\d+-\d`, sayPhone), // and ISBN
		on(Date, `(\d{4})-(\d{2})-(\d{2})(T\d{2}:\d{2})?(?::\d{2}(?:\.\d+)?)?(Z)?`, sayISODate),
		on(Date, `(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})`, saySlashDate),
		on(Date, `(\d{4})/(\d{1,2})/(\d{1,2})()()`, sayISODate),
		on(Date, `(\d{1,2})-(\d{1,2})-(\d{4})`, saySlashDate),
		on(Date, `(\d{1,2})\.(\d{1,2})\.(\d{4})`, sayDottedDate),
		on(Version, `\d{1,3}(?:\.\d+){2,3}`, sayVersion),
		on(Version, `[vV](\d{1,3}(?:\.\d+){0,3})`, sayVersion),
		on(Range, `(\d{1,2}):(\d{2})\s?[-–]\s?(\d{1,2}):(\d{2})(?:\s?([aApP])(?:\.\s?[mM]\.|[mM]))?`,
			sayFromTo),
		on(Time, `(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\s?([aApP])(?:\.\s?[mM]\.?|[mM]))?`, sayTime),
		on(Time, `(\d{1,2})(?:\.(\d{2}))?()\s?([aApP])(?:\.\s?[mM]\.|[mM])`, sayTime),
		on(Range, `(\d+):(\d+)`, sayRatio),
		on(Unit, `(\d{1,2})['′]\s?(\d{1,2})(?:"|″|'')`, sayBoth("ft", "in")),
		on(Unit, `(\d{1,3})\s?h(?:rs?)?\s?(\d{1,2})\s?m(?:ins?)?`, sayBoth("hr", "min")),
		on(Unit, `(\d{1,3})(?:′|['’] (?:tall|long|wide|high|deep)\b)`, sayFeet),
		on(Date, `(\d{1,2})(?:st|nd|rd|th)?\s(?:of\s)?(`+monthPattern+`)(?:,?\s(\d{4}))?`, sayDayMonth),
		on(Date, `(\d{1,2})(?:st|nd|rd|th)?\s(?:of\s)?(may|march),?\s(\d{4})`, sayDayMonth),
		on(Date, `(`+monthPattern+`)[\s-](\d{1,2})(?:st|nd|rd|th)?(?:[-–](\d{1,2})\b)?(?:(?:,?\s|-)(\d{4}))?`,
			sayMonthDay),
		on(Date, `(`+monthPattern+`),?\s(\d{4})`, sayMonthYear),
		on(Money, `(US|CA?|AU?|NZ|HK)?([$])\s?(`+numeral+`)(?:[-–][$]?(`+numeral+`))?`+scalePattern, sayMoney),
		on(Money, `()([$£€¥₹₩]|USD|EUR|GBP|JPY)\s?(`+sum+`)(?:[-–][$£€]?(`+numeral+`))?`+scalePattern, sayMoney),
		on(Money, `(\d+)\s?¢`, sayCents), on(Money, `(\d{1,2})p`, sayPence),
		on(Money, `(`+numeral+`)(?:\s?(million|billion|trillion|bn|tn|m|k))?\s?([$£€¥₹]|USD|EUR|GBP|JPY)`,
			sayMoneyAfter),
		on(Date, `(\d{1,2})0s`, sayDecade), on(Date, `(\d{3})0s`, sayDecade),
		on(Date, `['’](\d)0s`, sayDecade),
		on(Ordinal, `(\d{1,3}(?:,\d{3})+|\d+)(?:st|nd|rd|th)`, sayOrdinal),
		unlessAfter(oneOf("/"), on(Fraction, `(?:(\d{1,3})\s)?(\d{1,3})/(\d{1,3})(?:(?i)st|nd|rd|th)?`, sayFraction)),
		on(Fraction, `(?:(\d{1,4})\s?)?([½⅓⅔¼¾⅛⅜⅝⅞])`, sayVulgar),
		unlessAfter(oneOf("-–−"), on(Number, difference, sayDifference)),
		on(Range, `(\d+)[-–](\d+)x`, sayFolds),
		unlessAfter(oneOf("-–0123456789"), on(Range,
			`(`+numeral+`)[-–—]\s?(`+numeral+`)(?:([ -]?)(`+unitPattern+`)([^A-Za-z0-9]|$))?`, sayRange)),
		on(Number, `(\d+)[x×]\s?(\d+)`, sayTimes), on(Number, `(`+numeral+`)x`, sayFold),
		on(Number, `(`+numeral+`)[eE]([-+]?\d{1,3})`, sayScientific),
		on(Number, `401(?:\(k\)|k)`, sayPension),
		on(Unit, `(`+numeral+`)([  -]?)(`+unitPattern+`)`, sayUnit),
		on(Unit, `(\d{1,2}) in`, sayInchesMore),
		on(Unit, `(`+unitPattern+`)`, sayLoneUnit),
		on(Number, `(\d{4})(?:\s[A-Z]\.?|\s[A-Z][a-z]+){1,3}\s(?:`+streets+`)\b`, sayHouse),
		on(Number, `911|999|112`, sayEmergency),
		on(Version, `(?:`+programs+`) (\d+(?:\.\d+)+)`, sayRelease),
		on(Unit, `(\d+(?:\.\d+)?)["″]`, sayInches),
		on(Number, `(`+numeral+`)([KMB])`, sayShortScale),
		on(Number, numeral, sayNumber), unlessAfter(oneOf("."), on(Number, `\.\d+`, sayDecimals)),
		on(Roman, `[IVXLC]{1,7}`, sayRoman),
		on(Abbreviation, `w/o?`, sayWithout), on(Symbol, `([A-G])#`, saySharp),
		on(Abbreviation, `(?:[A-Za-z]\.){2,6}(?:[A-Za-z]\b)?|[A-Za-z]{1,7}\.(?:[A-Z]\.)?`, sayAbbreviation),
		on(Abbreviation, `(?:Dr|Mr|Mrs|Ms|Prof|vs|US|WWII?|Mt|No|nr|Nos|St|Ave|Blvd|Rd|Ln|Hwy|Pkwy|Expy|Ct)`, sayWord),
		on(Heteronym, heteronymPattern(), sayHeteronym),
		on(Hashtag, `[#@]([A-Za-z]\w*)`, sayHashtag),
		on(Symbol, `([#~<>±≈§№])\s?[$£€]?\d[\w,.]*`, saySign),
		unlessAfter(isWord, on(Symbol, `([−-])\s?[$£€]?\d[\w,.]*`, saySign)),
		on(Symbol, `[-–] ?['’$£€]?\d\w*`, sayUntil),
		on(Symbol, ` [-–] ?[$£€]?\d\w*`, sayUntil),
		unlessAfter(isDigit, on(Symbol, `-\d{1,3}`, saySerial)),
		on(Symbol, `\^(-?\d+|[a-z])`, sayPower),
		on(Symbol, `[&+=≠≤≥×÷*/→™®©√∞@]`, saySymbol),
	}
	l.rules = slices.Concat(markdownRules(), addressRules(), notationRules(numeral), l.rules)
	return l
}

func on(kind Kind, pattern string, say func(*context) (string, bool)) rule {
	return rule{kind: kind, pattern: regexp.MustCompile("^(?:" + pattern + ")"), say: say}
}

func oneOf(runes string) func(rune) bool {
	return func(r rune) bool { return strings.ContainsRune(runes, r) }
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }
func isUpper(r rune) bool { return r >= 'A' && r <= 'Z' }

func silent(*context) (string, bool) { return "", true }

// sayNumber says a number, or a year where the words around it or its form say that it is one.
func sayNumber(c *context) (string, bool) {
	written := c.groups[0]
	if strings.HasPrefix(c.after, "@") {
		return "", false
	}
	if len(written) == 4 && c.isNumbered() && written[0] != '0' {
		return c.locale.paired(written), true
	}
	if isYear(c, written) {
		return c.locale.year(number(written)), true
	}
	return c.locale.cardinal(written), true
}

func isYear(c *context, written string) bool {
	if len(written) != 4 || !plausibleYear(written) {
		return false
	}
	if strings.HasSuffix(strings.TrimRight(c.text[:c.at], " "), "©") {
		return true
	}
	if before := c.before(); before == "was" || before == "is" {
		return c.isAbout("year")
	}
	if c.locale.tables.sets["year"][strings.ToLower(c.before())] {
		return !strings.HasPrefix(c.after, "%")
	}
	first, _ := utf8.DecodeRuneInString(c.after)
	return written >= "1900" && (c.after == "" || strings.ContainsRune(".,;:)?!\n'", first)) && !isDigit(nextRune(c.after))
}

// isAbout reports whether a word is among those shortly before the position.
func (c *context) isAbout(word string) bool {
	return strings.Contains(c.text[max(0, c.at-20):c.at], word+" ")
}

// streets are words with which the name of a street ends.
const streets = `St|Ave|Rd|Blvd|Dr|Ln|Hwy|Pkwy|Expy|Ct|Street|Avenue|Road|Boulevard|Drive|Lane|Highway|Court|Way|Place`

// sayHouse says the number of a house by its pairs of digits: "1428 Elm St.".
func sayHouse(c *context) (string, bool) {
	digits := c.groups[1]
	c.size = len(digits)
	return c.locale.paired(digits), true
}

// isNumbered reports whether a number is that of a room, a flight or the like: "Flight 1175", "UA 1175".
func (c *context) isNumbered() bool {
	before := c.before()
	return c.locale.tables.sets["numbered"][strings.ToLower(before)] || len(before) == 2 && startsCapitals(before) &&
		strings.HasSuffix(c.text[:c.at], before+" ")
}

// paired says a number of four digits by its pairs.
func (l *locale) paired(digits string) string {
	head, tail := digits[:len(digits)-2], digits[len(digits)-2:]
	if digits[0] == '0' || tail == "00" {
		return l.integer(digits)
	}
	return l.integer(head) + l.minutes(tail)
}

// sayEmergency says the number of an emergency service digit by digit.
func sayEmergency(c *context) (string, bool) {
	return c.locale.digits(c.groups[0]), c.locale.tables.sets["dial"][strings.ToLower(c.before())]
}

// difference is the pattern of a subtraction, which looks like a range but is equal to something, or a division.
const difference = `(\d+)(\s?[-–−]\s?| [/:] )(\d+)\s?=`

// sayDifference says a subtraction or division.
func sayDifference(c *context) (string, bool) {
	c.size = len(c.groups[1]) + len(c.groups[2]) + len(c.groups[3])
	sign := c.locale.words.signs["-"]
	if strings.ContainsAny(c.groups[2], "/:") {
		sign = c.locale.words.symbols["÷"]
	}
	return c.locale.integer(c.groups[1]) + " " + sign + " " + c.locale.integer(c.groups[3]), true
}

// sayZIP says an American postal code after its state.
func sayZIP(c *context) (string, bool) {
	before := c.before()
	return c.locale.digits(c.groups[0]), startsCapitals(before) && len(before) == 2
}

// sayDecimals says a number without a whole part, which may end a name: "beta.1".
func sayDecimals(c *context) (string, bool) {
	return c.pad(c.locale.cardinal(c.groups[0]), c.size), true
}

// sayUntil says the dash after a time, a date or an amount: "2pm-5pm".
func sayUntil(c *context) (string, bool) {
	c.size = strings.IndexAny(c.groups[0], "0123456789'’$£€")
	kind := c.kindBefore()
	return " to ", kind == Time || kind == Date || kind == Money
}

// saySerial says the number of a name in capital letters: "COVID-19", "F-16".
func saySerial(c *context) (string, bool) {
	return " " + c.locale.integer(c.groups[0][1:]), startsCapitals(c.before()) && isUpper(c.previous())
}

// programs are names after which the number of a version follows.
const programs = `Python|Go|Java|Ruby|PHP|Node|Windows|Android|iOS|macOS|Ubuntu|Debian|Version`

// sayRelease says the version of a program whose name comes before it.
func sayRelease(c *context) (string, bool) {
	name, _, _ := strings.Cut(c.groups[0], " ")
	c.groups = []string{c.groups[1]}
	spoken, ok := sayVersion(c)
	return name + " " + spoken, ok
}

// sayModel says "737-800" without a preposition, and as it is usual in English.
func sayModel(c *context) (string, bool) {
	l, first := c.locale, c.locale.integer(c.groups[1])
	if l.tables.hasPairs() {
		first = l.paired(c.groups[1])
	}
	words := append([]string{first, l.integer(c.groups[2])}, strings.Split(c.groups[3], "")...)
	return strings.Join(words, " "), !l.tables.sets["label"][c.before()] && c.before() != "pp"
}

func plausibleYear(written string) bool {
	return written >= "1010" && written <= "2099" && !strings.Contains(written, ".")
}

// nextRune returns the second character.
func nextRune(text string) rune {
	if len(text) < 2 {
		return 0
	}
	return rune(text[1])
}

func sayOrdinal(c *context) (string, bool) {
	n := number(strings.ReplaceAll(c.groups[1], ",", ""))
	spoken := c.locale.ordinal(n)
	return spoken, spoken != ""
}

// sayDecade says "1990s" as "nineteen nineties". The group is the number without its last digit.
func sayDecade(c *context) (string, bool) {
	tens := c.groups[1]
	digit := number(tens[len(tens)-1:])
	century := number(tens[:len(tens)-1] + "0")
	if tens[:len(tens)-1] == "" {
		century = -1
	}
	if len(tens) == 2 && century >= 0 { // "100s"
		return c.locale.integer(tens+"0") + "s", true
	}
	spoken := ""
	if century >= 0 {
		spoken = c.locale.integer(tens[:len(tens)-1])
	}
	switch {
	case digit >= 2:
		return strings.TrimSpace(spoken + " " + plural(c.locale.integer(string(tens[len(tens)-1])+"0"))), true
	case digit == 1:
		return strings.TrimSpace(spoken + " tens"), true
	case century >= 0 && century%100 == 0:
		return c.locale.integer(tens+"0") + "s", true
	case century >= 0:
		return spoken + " hundreds", true
	default:
		return "", false
	}
}

func plural(word string) string {
	if before, ok := strings.CutSuffix(word, "y"); ok {
		return before + "ies"
	}
	return word + "s"
}

// sayFraction says fractions with small denominators by their names, and mixed numbers.
func sayFraction(c *context) (string, bool) {
	if isWord(c.previous()) || strings.HasPrefix(c.after, "/") {
		return "", false
	}
	top, bottom := number(c.groups[2]), number(c.groups[3])
	switch {
	case c.groups[2] == "24" && c.groups[3] == "7", c.groups[0] == "9/11", top == bottom && top >= 10:
		return c.locale.integer(c.groups[2]) + " " + c.locale.integer(c.groups[3]), true
	case top == 0 || bottom < 2 || bottom > 20 && bottom != 100 || top >= bottom && c.groups[1] != "":
		return c.locale.integer(c.groups[2]) + " over " + c.locale.integer(c.groups[3]), c.groups[1] == ""
	}
	return mixed(c.locale, c.groups[1], fraction(c.locale, top, bottom)), true
}

func mixed(l *locale, whole, part string) string {
	switch {
	case whole == "":
		return part
	case strings.HasPrefix(part, "one "):
		part = "a" + strings.TrimPrefix(part, "one")
		if strings.HasPrefix(part, "a eigh") {
			part = "an" + part[1:]
		}
	}
	return l.integer(whole) + " and " + part
}

func fraction(l *locale, top, bottom int64) string {
	name := l.ordinal(bottom)
	switch {
	case bottom == 2 && top == 1:
		name = "half"
	case bottom == 2:
		name = "halve"
	case bottom == 4:
		name = "quarter"
	}
	if top != 1 {
		name += "s"
	}
	return l.spell(l.counting, top) + " " + name
}

var vulgar = map[string][2]int64{
	"½": {1, 2}, "⅓": {1, 3}, "⅔": {2, 3}, "¼": {1, 4}, "¾": {3, 4}, "⅕": {1, 5}, "⅖": {2, 5},
	"⅗": {3, 5}, "⅘": {4, 5}, "⅙": {1, 6}, "⅚": {5, 6}, "⅛": {1, 8}, "⅜": {3, 8}, "⅝": {5, 8}, "⅞": {7, 8},
}

func sayVulgar(c *context) (string, bool) {
	f := vulgar[c.groups[2]]
	return mixed(c.locale, c.groups[1], fraction(c.locale, f[0], f[1])), true
}

func sayRange(c *context) (string, bool) {
	from, to := c.groups[1], c.groups[2]
	c.drop(c.groups[5])
	if strings.HasPrefix(c.after, "-") {
		return "", false
	}
	say := c.locale.cardinal
	if plausibleYear(from) && len(from) == 4 && (len(to) == 2 || len(to) == 4 && plausibleYear(to)) && c.groups[4] == "" {
		say = func(n string) string { return sayYearOrPart(c.locale, n) }
	}
	spoken := say(from) + " to " + say(to)
	if c.groups[4] != "" {
		spoken += " " + c.locale.unitName(c.groups[4], c.groups[3] == "-")
		if strings.HasSuffix(c.groups[4], ".") && c.endsSentence() {
			spoken += "."
		}
	}
	return spoken, true
}

// drop leaves what was matched only to see that a word ends before it.
func (c *context) drop(end string) {
	c.size -= len(end)
	c.after = c.text[c.at+c.size:]
}

func sayYearOrPart(l *locale, written string) string {
	if len(written) == 4 || written[0] == '0' {
		return l.yearOf(written)
	}
	return l.cardinal(written)
}

func sayRatio(c *context) (string, bool) {
	if c.previous() == ':' || strings.HasPrefix(c.after, ":") {
		return "", false
	}
	return c.locale.integer(c.groups[1]) + " " + c.locale.tables.words["ratio"] + " " + c.locale.integer(c.groups[2]), true
}

// saySharp says "C#".
func saySharp(c *context) (string, bool) { return c.groups[1] + " sharp", !isWord(firstOf(c.after)) }

// notationRules are about what is written alike in all languages: models of aircraft, which look like ranges, a number,
// or up to three letters that are no word, with an exponent, and formulas of chemistry.
func notationRules(numeral string) []rule {
	return []rule{
		on(Version, `(7[0-8]7)-(\d00|1?\d)([A-Z]{0,2})`, sayModel),
		on(Number, `(`+numeral+`|[A-Za-zα-ω]|[b-df-hj-np-tv-zα-ω]{2,3})(⁻?[⁰¹²³⁴-⁹]+)`, sayRaised),
		on(Symbol, `(?:[A-Z][a-z]?){1,4}[₀-₉][A-Za-z₀-₉]{0,12}`, sayFormula),
	}
}

// sayRaised says a number or letters with an exponent. Letters may be a unit alone: "in m²".
func sayRaised(c *context) (string, bool) {
	l, base := c.locale, c.groups[1]
	power := strings.NewReplacer("⁻", "-", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7",
		"⁸", "8", "⁹", "9").Replace(c.groups[2])
	isAlone := startsLower(c.before()) && len(c.before()) > 1 || c.previous() == '/'
	if unit := l.units[c.groups[0]]; unit.one != "" && isAlone {
		if c.before() == "in" || c.before() == "en" {
			return cmp.Or(unit.many, unit.one), true
		}
		return unit.one, true
	}
	switch {
	case !isDigit(rune(base[0])):
		base = strings.TrimSpace(strings.Join(strings.Split(base, ""), " "))
	case l.slavic != nil:
		base = c.slavicAmount(base, 'm', 'n')
	default:
		base = l.cardinal(base)
	}
	return base + l.power(power), power != "1"
}

// sayFormula says "CO₂" letter by letter.
func sayFormula(c *context) (string, bool) {
	parts := formulaParts.FindAllString(c.groups[0], -1)
	for i, part := range parts {
		if firstOf(part) >= '₀' {
			parts[i] = c.locale.integer(strings.Map(func(r rune) rune { return r - '₀' + '0' }, part))
		}
	}
	return strings.Join(parts, " "), true
}

var formulaParts = regexp.MustCompile(`[A-Z][a-z]*|[a-z]+|[₀-₉]+`)

// sayPower says an exponent.
func sayPower(c *context) (string, bool) {
	return c.locale.power(c.groups[1]), isWord(c.previous())
}

func (l *locale) power(power string) string {
	words, minus := l.tables.words, ""
	if known := words["power "+power]; known != "" {
		return " " + known
	}
	if rest, ok := strings.CutPrefix(power, "-"); ok {
		power, minus = rest, l.words.signs["-"]+" "
	}
	if isDigit(rune(power[0])) {
		power = l.integer(power)
	}
	return " " + words["power"] + " " + minus + power
}

func sayTimes(c *context) (string, bool) {
	return c.locale.integer(c.groups[1]) + " by " + c.locale.integer(c.groups[2]), true
}

func sayFolds(c *context) (string, bool) {
	return c.locale.integer(c.groups[1]) + " to " + c.locale.integer(c.groups[2]) + " times", true
}

// sayScientific says "1.5e-3".
func sayScientific(c *context) (string, bool) {
	power := strings.TrimPrefix(c.groups[2], "+")
	return c.locale.cardinal(c.groups[1]) + " times ten" + c.locale.power(power), true
}

func sayFold(c *context) (string, bool) { return c.locale.cardinal(c.groups[1]) + " times", true }

// sayPension says the name of American pension plans.
func sayPension(c *context) (string, bool) { return c.locale.clock("4", "01") + " k", true }

// sayPhone says a telephone number digit by digit, in its groups.
func sayPhone(c *context) (string, bool) {
	if isDigit(c.previous()) || c.previous() == '-' || strings.HasPrefix(c.after, "-") {
		return "", false
	}
	spoken := c.locale.digits(c.groups[0])
	if c.groups[0][0] == '+' {
		spoken = c.locale.tables.words["plus"] + " " + strings.TrimLeft(spoken, ", ")
	}
	return spoken, true
}

func sayVersion(c *context) (string, bool) {
	written, spoken := c.groups[0], ""
	if len(c.groups) > 1 {
		written, spoken = c.groups[1], c.locale.tables.words["version"]+" "
	}
	dot := c.locale.tables.words["point"]
	if strings.Count(written, ".") == 3 {
		dot = c.locale.words.marks['.']
	}
	for i, part := range strings.Split(written, ".") {
		if i > 0 {
			spoken += " " + dot + " "
		}
		spoken += c.locale.integer(part)
	}
	return spoken, true
}
