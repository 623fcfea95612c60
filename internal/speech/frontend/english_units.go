package frontend

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// unitPattern has the longest units first, because the first that matches is taken.
const unitPattern = `km²|km³|cm²|mm²|m²|m³|cm³|km2|m2|km/h|m/s²|m/s|ft²|mi/h|kWh|MWh|kbps|[mM]bps|Gbps|mph|rpm|km|cm|` +
	`mm|µm|nm|[kK][gG]|mg|µg|lbs|lb\.?|oz\.?|GHz|MHz|kHz|Hz|kW|MW|GW|kV|mV|mA|mAh|kB|KB|MB|GB|TB|PB|mL|ml|dB|°C|°F|°|` +
	`%|‰|hrs?\.?|h|mins?\.?|secs?\.?|ms|ft\.?|yds?\.?|in\.|kcal|kJ|sq\.? ?ft\.?|mi\.|bpm|psi|hp|tsp\.?|tbsp\.?|m|g|L|l|W|V`

func (l *locale) unitName(symbol string, single bool) string {
	unit := l.units[strings.ReplaceAll(strings.ReplaceAll(symbol, ".", ""), " ", "")]
	if single {
		return unit.one
	}
	return unit.many
}

func sayUnit(c *context) (string, bool) {
	amount, gap, symbol := c.groups[1], c.groups[2], c.groups[3]
	if len(symbol) == 1 && isUpper(rune(symbol[0])) && gap != "" {
		if symbol != "V" && symbol != "W" || c.isAdjective() || amount == "1" || startsUpper(c.next()) {
			return "", false // "5 L", "a 4 V": too often initials
		}
	}
	spoken := c.locale.cardinal(amount) + " " + c.locale.unitName(symbol, amount == "1" || gap == "-" || c.isAdjective())
	if strings.HasSuffix(symbol, ".") && c.endsSentence() {
		spoken += "."
	}
	return spoken, true
}

// sayLoneUnit says a unit after a fraction or a large number: "4 1/2 lbs", "100 million kg".
func sayLoneUnit(c *context) (string, bool) {
	symbol := c.groups[0]
	if c.previous() != ' ' || len(symbol) == 1 && isUpper(rune(symbol[0])) {
		return "", false
	}
	last := len(c.spans) - 1
	isPart := last >= 0 && c.spans[last].Kind == Fraction && c.text[c.plain:c.at] == " "
	if !isPart && !c.isAfterLargeNumber() {
		return "", false
	}
	spoken := c.locale.unitName(symbol, isPart && !strings.Contains(c.spans[last].Spoken, " and "))
	return spoken + c.fullStop(), spoken != ""
}

// isAfterLargeNumber reports whether the words before the position are a number like "100 million".
func (c *context) isAfterLargeNumber() bool {
	before := strings.Fields(c.text[max(0, c.at-20):c.at])
	n := len(before)
	if n < 2 || !isDigit(lastOf(before[n-2])) {
		return false
	}
	switch before[n-1] {
	case "thousand", "million", "billion", "trillion":
		return true
	}
	return false
}

func lastOf(text string) rune {
	r, _ := utf8.DecodeLastRuneInString(text)
	return r
}

// isAdjective reports whether an amount is part of a noun phrase: "a 5 kg bag".
func (c *context) isAdjective() bool {
	before := c.before()
	return (before == "a" || before == "an" || before == "A") && strings.HasPrefix(c.after, " ") &&
		startsLower(c.next()) && !c.locale.tables.sets["little"][c.next()]
}

// sayInches says the size of a screen, as a quotation mark after a number is most often meant.
func sayInches(c *context) (string, bool) {
	quotes := strings.Count(c.text[c.plain:c.at], `"`)
	for _, s := range c.spans[max(0, len(c.spans)-20):] {
		if s.Kind != Unit {
			quotes += strings.Count(s.Original, `"`)
		}
	}
	if quotes%2 == 1 && !strings.HasSuffix(c.groups[0], "″") {
		return "", false // it ends a quotation
	}
	return c.locale.cardinal(c.groups[1]) + " " + c.locale.unitName("in", c.groups[1] == "1" || c.isAdjective()), true
}

// sayInchesMore says the inches of "6 ft 2 in".
func sayInchesMore(c *context) (string, bool) {
	head := strings.TrimSuffix(c.text[:c.at], " ")
	return c.locale.named(c.groups[1], "in"), strings.HasSuffix(strings.TrimSuffix(head, "."), " ft")
}

// sayShortScale says "1.5M users" and "3K views": only before what is counted, or with decimals, because "4K" and the
// like are names, too.
func sayShortScale(c *context) (string, bool) {
	t := c.locale.tables
	counts := strings.Contains(c.groups[1], ".") || startsLower(c.next()) && strings.HasPrefix(c.after, " ") &&
		!t.sets["resolved"][c.next()] && !t.sets["functionWords"][c.next()]
	return c.locale.cardinal(c.groups[1]) + c.locale.scaleName(c.groups[2]), counts
}

// sayFeet says a length in feet alone: "5' tall".
func sayFeet(c *context) (string, bool) {
	c.size = len(strings.TrimRight(c.groups[0], "abcdefghijklmnopqrstuvwxyz "))
	return c.locale.named(c.groups[1], "ft"), true
}

// sayBoth says two amounts in a row, of a unit and of a smaller one.
func sayBoth(unit, smaller string) func(*context) (string, bool) {
	return func(c *context) (string, bool) {
		return c.locale.named(c.groups[1], unit) + " " + c.locale.named(c.groups[2], smaller), true
	}
}

// scalePattern follows an amount of money.
const scalePattern = `(?:\s?(thousand|million|billion|trillion|bn|tn|[kKmMbBT])\b)?`

// sayCents says an amount below a dollar that is written as such.
func sayCents(c *context) (string, bool) {
	return c.locale.integer(c.groups[1]) + " " + c.locale.units["$"].small(c.groups[1]), true
}

// sayPence says an amount below a pound, which is so written in Britain alone.
func sayPence(c *context) (string, bool) {
	return c.locale.integer(c.groups[1]) + " " + c.locale.units["£"].small(c.groups[1]), !c.locale.american
}

func sayMoney(c *context) (string, bool) {
	from, to, scale := c.groups[3], c.groups[4], c.groups[5]
	m := c.locale.units[c.groups[2]]
	if c.isAdjective() {
		m.many = m.one
	}
	spoken := c.locale.tables.words["country "+c.groups[1]]
	switch {
	case to != "" && scale == "" && strings.Contains(from+to, "."):
		return c.locale.priced(from, spoken, m) + " to " + c.locale.priced(to, spoken, m), true
	case to != "":
		return c.locale.cardinal(from) + " to " + c.locale.cardinal(to) + c.locale.scaleName(scale) + " " + spoken +
			m.many, true
	case scale != "":
		return c.locale.cardinal(from) + c.locale.scaleName(scale) + " " + spoken + m.many, true
	default:
		return c.locale.priced(from, spoken, m), true
	}
}

func (l *locale) scaleName(scale string) string {
	if scale == "" {
		return ""
	}
	return " " + cmp.Or(l.tables.scales[strings.ToLower(scale)].one, scale)
}

// priced says money with its hundredths.
func (l *locale) priced(written, country string, m measure) string {
	whole, cents, _ := strings.Cut(strings.ReplaceAll(written, ",", ""), ".")
	if len(cents) == 1 && cents != "0" && m.sub != "" {
		cents += "0"
	}
	if len(cents) != 2 && cents != "" || m.sub == "" {
		return l.cardinal(written) + " " + country + m.many
	}
	large := l.integer(whole) + " " + country + m.name(whole)
	cents = strings.TrimLeft(cents, "0")
	small := l.integer(cents) + " " + m.small(cents)
	switch {
	case cents == "":
		return large
	case strings.Trim(whole, "0") == "":
		return small
	default:
		return large + " and " + small
	}
}

// name returns the name of so much of a unit.
func (m measure) name(digits string) string {
	if digits == "1" {
		return m.one
	}
	return m.many
}

// small returns the name of so many hundredths.
func (m measure) small(digits string) string {
	return measure{one: m.subOne, many: m.sub}.name(digits)
}

func sayMoneyAfter(c *context) (string, bool) {
	m := c.locale.units[c.groups[3]]
	if c.groups[2] != "" {
		return c.locale.cardinal(c.groups[1]) + c.locale.scaleName(c.groups[2]) + " " + m.many, true
	}
	return c.locale.priced(c.groups[1], "", m), !isDigit(firstOf(c.after)) // not "7 $5"
}
