package frontend

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// unitPattern has the longest units first, because the first that matches is taken.
const unitPattern = `km²|km³|cm²|mm²|m²|m³|cm³|km2|m2|km/h|m/s²|m/s|ft²|mi/h|kWh|MWh|kbps|[mM]bps|Gbps|mph|rpm|km|cm|` +
	`mm|µm|nm|[kK][gG]|mg|µg|lbs|lb\.?|oz\.?|GHz|MHz|kHz|Hz|kW|MW|GW|kV|mV|mA|mAh|kB|KB|MB|GB|TB|PB|mL|ml|dB|°C|°F|°|%|‰|` +
	`hrs?\.?|mins?\.?|secs?\.?|ms|ft\.?|yds?\.?|in\.|kcal|kJ|sq\.? ?ft\.?|mi\.|bpm|psi|hp|tsp\.?|tbsp\.?|m|g|L|l|W|V`

// units has the names of units: one, and many where that is not one with an s.
var units = map[string][2]string{
	"km": {"kilometer"}, "cm": {"centimeter"}, "mm": {"millimeter"}, "m": {"meter"}, "µm": {"micrometer"},
	"nm": {"nanometer"}, "km²": {"square kilometer"}, "km2": {"square kilometer"}, "m²": {"square meter"},
	"m2": {"square meter"}, "cm²": {"square centimeter"}, "mm²": {"square millimeter"}, "m³": {"cubic meter"},
	"cm³": {"cubic centimeter"}, "ft²": {"square foot", "square feet"}, "sqft": {"square foot", "square feet"},
	"km/h": {"kilometer per hour", "kilometers per hour"}, "m/s": {"meter per second", "meters per second"},
	"m/s²": {"meter per second squared", "meters per second squared"}, "mi/h": {"mile per hour", "miles per hour"},
	"mph": {"mile per hour", "miles per hour"}, "rpm": {"revolution per minute", "revolutions per minute"},
	"bpm": {"beat per minute", "beats per minute"}, "kg": {"kilogram"}, "mg": {"milligram"}, "µg": {"microgram"},
	"g": {"gram"}, "lb": {"pound"}, "lbs": {"pound"}, "oz": {"ounce"}, "L": {"liter"}, "l": {"liter"},
	"mL": {"milliliter"}, "ml": {"milliliter"}, "Hz": {"hertz", "hertz"}, "kHz": {"kilohertz", "kilohertz"},
	"MHz": {"megahertz", "megahertz"}, "GHz": {"gigahertz", "gigahertz"}, "W": {"watt"}, "kW": {"kilowatt"},
	"MW": {"megawatt"}, "GW": {"gigawatt"}, "kWh": {"kilowatt hour"}, "MWh": {"megawatt hour"}, "V": {"volt"},
	"kV": {"kilovolt"}, "mV": {"millivolt"}, "mA": {"milliampere"}, "mAh": {"milliampere hour"}, "kB": {"kilobyte"},
	"KB": {"kilobyte"}, "MB": {"megabyte"}, "GB": {"gigabyte"}, "TB": {"terabyte"}, "PB": {"petabyte"},
	"kbps": {"kilobit per second", "kilobits per second"}, "Mbps": {"megabit per second", "megabits per second"},
	"KG": {"kilogram"}, "Kg": {"kilogram"}, "mbps": {"megabit per second", "megabits per second"},
	"km³": {"cubic kilometer"}, "Gbps": {"gigabit per second", "gigabits per second"}, "dB": {"decibel"},
	"°C": {"degree Celsius", "degrees Celsius"}, "°F": {"degree Fahrenheit", "degrees Fahrenheit"}, "°": {"degree"},
	"%": {"percent", "percent"}, "‰": {"per mille", "per mille"}, "hr": {"hour"}, "hrs": {"hour"}, "min": {"minute"},
	"mins": {"minute"}, "sec": {"second"}, "secs": {"second"}, "ms": {"millisecond"}, "ft": {"foot", "feet"},
	"yd": {"yard"}, "yds": {"yard"}, "in": {"inch", "inches"}, "mi": {"mile"}, "kcal": {"kilocalorie"},
	"kJ": {"kilojoule"}, "psi": {"p s i", "p s i"}, "hp": {"horsepower", "horsepower"}, "tsp": {"teaspoon"},
	"tbsp": {"tablespoon"},
}

func unitName(symbol string, single bool) string {
	names := units[strings.NewReplacer(".", "", " ", "").Replace(symbol)]
	switch {
	case single || names[0] == "":
		return names[0]
	case names[1] != "":
		return names[1]
	default:
		return names[0] + "s"
	}
}

func sayUnit(c *context) (string, bool) {
	amount, gap, symbol := c.groups[1], c.groups[2], c.groups[3]
	if len(symbol) == 1 && isUpper(rune(symbol[0])) && gap != "" {
		if symbol != "V" && symbol != "W" || c.isAdjective() || amount == "1" || startsUpper(c.next()) {
			return "", false // "5 L", "a 4 V": too often initials
		}
	}
	spoken := c.locale.cardinal(amount) + " " + unitName(symbol, amount == "1" || gap == "-" || c.isAdjective())
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
	spoken := unitName(symbol, isPart && !strings.Contains(c.spans[last].Spoken, " and "))
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
		startsLower(c.next()) && !little[c.next()]
}

// little are words that begin no noun.
var little = words("and", "or", "per", "a", "an", "the", "in", "on", "at", "of", "for", "to", "is", "was", "each",
	"every")

// sayInches says the size of a screen, as a quotation mark after a number is most often meant.
func sayInches(c *context) (string, bool) {
	if strings.Count(c.text[max(0, c.at-window):c.at], `"`)%2 == 1 && !strings.HasSuffix(c.groups[0], "″") {
		return "", false // it ends a quotation
	}
	return c.locale.cardinal(c.groups[1]) + " " + unitName("in", c.groups[1] == "1" || c.isAdjective()), true
}

func sayHeight(c *context) (string, bool) {
	feet, inches := "feet", "inches"
	if c.groups[1] == "1" {
		feet = "foot"
	}
	if c.groups[2] == "1" {
		inches = "inch"
	}
	return c.locale.integer(c.groups[1]) + " " + feet + " " + c.locale.integer(c.groups[2]) + " " + inches, true
}

// scalePattern follows an amount of money.
const scalePattern = `(?:\s?(thousand|million|billion|trillion|bn|tn|[kKmMbB])\b)?`

var scales = map[string]string{
	"k": "thousand", "m": "million", "b": "billion", "bn": "billion", "tn": "trillion",
}

// currency has the names of a currency: one, many, one hundredth, many of these.
type currency [4]string

var currencies = map[string]currency{
	"$": {"dollar", "dollars", "cent", "cents"}, "£": {"pound", "pounds", "penny", "pence"},
	"€": {"euro", "euros", "cent", "cents"}, "¥": {"yen", "yen"}, "₹": {"rupee", "rupees", "paisa", "paise"},
	"₩": {"won", "won"},
}

var countries = map[string]string{
	"US": "U S ", "C": "Canadian ", "CA": "Canadian ", "A": "Australian ", "AU": "Australian ",
	"NZ": "New Zealand ", "HK": "Hong Kong ",
}

// sayCents says an amount below a dollar that is written as such.
func sayCents(c *context) (string, bool) {
	return c.locale.integer(c.groups[1]) + " " + currencies["$"][2+oneOrMany(c.groups[1])], true
}

func sayMoney(c *context) (string, bool) {
	from, to, scale := c.groups[3], c.groups[4], c.groups[5]
	name := currencies[c.groups[2]]
	if c.isAdjective() {
		name[1] = name[0]
	}
	spoken := countries[c.groups[1]]
	switch {
	case to != "" && scale == "" && strings.Contains(from+to, "."):
		return amount(c.locale, from, spoken, name) + " to " + amount(c.locale, to, spoken, name), true
	case to != "":
		return c.locale.cardinal(from) + " to " + c.locale.cardinal(to) + scaleName(scale) + " " + spoken + name[1], true
	case scale != "":
		return c.locale.cardinal(from) + scaleName(scale) + " " + spoken + name[1], true
	default:
		return amount(c.locale, from, spoken, name), true
	}
}

func scaleName(scale string) string {
	if scale == "" {
		return ""
	}
	if name, ok := scales[strings.ToLower(scale)]; ok {
		return " " + name
	}
	return " " + scale
}

// amount says money with its hundredths.
func amount(l *locale, written, country string, name currency) string {
	whole, cents, _ := strings.Cut(strings.ReplaceAll(written, ",", ""), ".")
	if len(cents) == 1 && cents != "0" && name[2] != "" {
		cents += "0"
	}
	if len(cents) != 2 && cents != "" || name[2] == "" {
		return l.cardinal(written) + " " + country + name[1]
	}
	large := l.integer(whole) + " " + country + name[oneOrMany(whole)]
	small := l.integer(strings.TrimLeft(cents, "0")) + " " + name[2+oneOrMany(strings.TrimLeft(cents, "0"))]
	switch {
	case strings.Trim(cents, "0") == "":
		return large
	case strings.Trim(whole, "0") == "":
		return small
	default:
		return large + " and " + small
	}
}

func oneOrMany(digits string) int {
	if digits == "1" {
		return 0
	}
	return 1
}

func sayMoneyAfter(c *context) (string, bool) {
	symbol := c.groups[3]
	if i := slices.Index([]string{"USD", "EUR", "GBP", "JPY"}, symbol); i >= 0 {
		symbol = []string{"$", "€", "£", "¥"}[i]
	}
	name := currencies[symbol]
	if c.groups[2] != "" {
		return c.locale.cardinal(c.groups[1]) + scaleName(c.groups[2]) + " " + name[1], true
	}
	return amount(c.locale, c.groups[1], "", name), true
}
