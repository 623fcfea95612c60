package frontend

import (
	"cmp"
	"regexp"
	"strings"
)

func silent(*context) (string, bool) { return "", true }

// vulgar are the fractions that are one character.
var vulgar = map[string]string{
	"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅖": "2/5",
	"⅗": "3/5", "⅘": "4/5", "⅙": "1/6", "⅚": "5/6", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8",
}

// fraction returns the parts of a fraction, of which the whole number may be missing. It returns false if there is more
// before or after it.
func (c *context) fraction() (whole, top, bottom string, ok bool) {
	whole, top, bottom = c.groups[1], c.groups[2], c.groups[3]
	if written := vulgar[top]; written != "" {
		top, bottom, _ = strings.Cut(written, "/")
	}
	return whole, top, bottom, !isWord(c.previous()) && c.previous() != '/' && !strings.HasPrefix(c.after, "/")
}

// difference is the pattern of a subtraction, which looks like a range but is equal to something, or a division.
const difference = `(\d+)(\s?[-–−]\s?| [/:] )(\d+)\s?=`

// sayDifference reads a subtraction or division.
func sayDifference(c *context) (string, bool) {
	c.size = len(c.groups[1]) + len(c.groups[2]) + len(c.groups[3])
	sign := c.locale.names["sign"]["-"]
	if strings.ContainsAny(c.groups[2], "/:") {
		sign = c.locale.names["symbol"]["÷"]
	}
	return c.locale.integer(c.groups[1]) + " " + sign + " " + c.locale.integer(c.groups[3]), true
}

// sayModel reads "737-800" without a preposition, and in English as "seven thirty-seven eight hundred".
func sayModel(c *context) (string, bool) {
	l, first := c.locale, c.locale.integer(c.groups[1])
	if l.tables.isEnglish() {
		first = l.integer(c.groups[1][:1]) + l.minutes(c.groups[1][1:])
	}
	words := append([]string{first, l.integer(c.groups[2])}, strings.Split(c.groups[3], "")...)
	return strings.Join(words, " "), !l.tables.sets["label"][c.before()] && c.before() != "pp"
}

func sayRatio(c *context) (string, bool) {
	if c.previous() == ':' || strings.HasPrefix(c.after, ":") {
		return "", false
	}
	l, second := c.locale, c.amount(c.groups[2], 0)
	switch first, last := number(c.groups[1]), c.groups[2]; {
	case c.isAfter("verse"):
		return l.integer(c.groups[1]) + " " + second, true
	case l.tables.isEnglish() && len(last) == 2 && first > 24 && number(last) < 60 && first+number(last) != 100:
		return l.integer(c.groups[1]) + l.minutes(last), true // of a race
	}
	if kase := l.tables.words["ratio case"]; kase != "" {
		second = c.amountIn(c.groups[2], 'm', kase[0])
	}
	return l.integer(c.groups[1]) + l.tables.spaced("ratio") + second, true
}

// notationRules match notations that all languages share: models of aircraft, which look like ranges, exponents of a
// number or of up to three letters that are not a word, and formulas of chemistry.
func notationRules(numeral string) []rule {
	return []rule{
		on(Version, `(7[0-8]7)-(\d00|1?\d)([A-Z]{0,2})`, sayModel),
		on(Symbol, `\^(-?\d+|[a-z])`, sayPower),
		on(Number, `(`+numeral+`)[eE]([-+]?\d{1,3})`, sayScientific),
		on(Number, `(`+numeral+`|[A-Za-zα-ω]|[b-df-hj-np-tv-zα-ω]{2,3})(⁻?[⁰¹²³⁴-⁹]+)`, sayRaised),
		on(Symbol, `(?:(?:[A-Z][a-z]?){1,4}|[a-z]{1,3})[₀-₉][A-Za-z₀-₉]{0,12}`, sayFormula),
		on(Range, `(\d+):([1-9]\d{0,2}(?:[.,]\d{3})*[.,]\d00)`, sayRatio), // before times
	}
}

var raisedDigits = strings.NewReplacer("⁻", "-", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6",
	"⁷", "7", "⁸", "8", "⁹", "9")

// sayRaised reads a number or letters with an exponent. Letters may be a unit alone: "in m²".
func sayRaised(c *context) (string, bool) {
	l, base := c.locale, c.groups[1]
	power := raisedDigits.Replace(c.groups[2])
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
	default:
		base = c.amount(base, 0)
	}
	return base + l.power(power), power != "1"
}

// sayFormula spells "CO₂", and reads "log₂".
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

// sayScientific reads "1.5e-3".
func sayScientific(c *context) (string, bool) {
	if c.locale.tables.ordinals["e"] != "" && c.groups[2][0] == '+' { // "45e+2"
		return "", false
	}
	ten := " " + c.locale.names["symbol"]["×"] + " " + c.locale.integer("10")
	return c.amount(c.groups[1], 0) + ten + c.locale.power(strings.TrimPrefix(c.groups[2], "+")), true
}

// sayPower reads an exponent.
func sayPower(c *context) (string, bool) {
	return c.locale.power(c.groups[1]), isWord(c.previous())
}

func (l *locale) power(power string) string {
	words, minus := l.tables.words, ""
	if known := words["power "+power]; known != "" {
		return " " + known
	}
	if rest, ok := strings.CutPrefix(power, "-"); ok {
		power, minus = rest, l.names["sign"]["-"]+" "
	}
	if isDigit(rune(power[0])) {
		power = l.integer(power)
	}
	return " " + words["power"] + " " + minus + power
}

// sayPhone reads a telephone number digit by digit, in its groups.
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

// sayVersion reads a version number, which may follow the name of a program or the letter V.
func sayVersion(c *context) (string, bool) {
	written, spoken := c.groups[len(c.groups)-1], ""
	switch {
	case written == "" || len(c.groups) == 1:
		written = c.groups[0]
	case len(c.groups) > 2 && c.groups[1] != "":
		spoken = c.groups[1] + " "
	default:
		spoken = c.locale.tables.words["version"] + " "
	}
	dot := c.locale.tables.words["point"]
	if strings.Count(written, ".") == 3 {
		dot = c.locale.names["mark"]["."]
	}
	for i, part := range strings.Split(written, ".") {
		if i > 0 {
			spoken += " " + dot + " "
		}
		spoken += c.locale.integer(part)
	}
	return spoken, true
}
