package frontend

import (
	"cmp"
	"strconv"
	"strings"
)

// monthPattern matches months. In small letters, those that are words of another meaning are missing.
const monthPattern = `(?:january|february|april|june|july|august|september|october|november|december|` +
	`jan\.?|feb\.?|apr\.?|jun\.?|jul\.?|aug\.?|sept?\.?|oct\.?|nov\.?|` +
	`JAN(?:UARY|\.)?|FEB(?:RUARY|\.)?|MAR(?:CH|\.)?|APR(?:IL|\.)?|JUNE?\.?|JULY?\.?|AUG(?:UST|\.)?|SEPT?(?:EMBER|\.)?|` +
	`OCT(?:OBER|\.)?|NOV(?:EMBER|\.)?|DEC(?:EMBER|\.)?|` +
	`Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?\.?|July?\.?|` +
	`Aug(?:ust|\.)?|Sept?(?:ember|\.)?|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?)`

// monthOf returns the full name of a month that is written in full or by its first letters.
func (c *context) monthOf(written string) string {
	return cmp.Or(c.locale.tables.said[strings.ToLower(strings.TrimSuffix(written, "."))], written)
}

func isDay(digits string) bool { return number(digits) >= 1 && number(digits) <= 31 }

// date says a date in the order of the region. The year may be missing.
func (l *locale) date(day, month, year string) string {
	spoken := month + " " + l.ordinal(number(day))
	if !l.american {
		spoken = "the " + l.ordinal(number(day)) + " of " + month
	}
	if year == "" {
		return spoken
	}
	if l.american {
		spoken += ","
	}
	return spoken + " " + l.yearOf(year)
}

// yearOf says a year of four or two digits.
func (l *locale) yearOf(digits string) string {
	if len(digits) == 2 && digits < "10" {
		return "oh " + l.integer(digits[1:])
	}
	return l.year(number(digits))
}

// numbered says a date of numbers; it fails if these are no date.
func (l *locale) numbered(day, month, year string) (string, bool) {
	n := number(month)
	if n < 1 || n > 12 || !isDay(day) {
		return "", false
	}
	return l.date(day, l.tables.months[n-1], year), true
}

func sayISODate(c *context) (string, bool) {
	spoken, ok := c.locale.dated(c, c.groups[3], c.groups[2], c.groups[1])
	if clock := strings.TrimPrefix(c.groups[4], "T"); clock != "" {
		hour, minute, _ := strings.Cut(clock, ":")
		spoken += ", " + c.locale.clocked(c, hour, minute)
	}
	if c.groups[5] != "" {
		spoken += " U T C"
	}
	return spoken, ok
}

// saySlashDate reads the month first in the United States, unless it cannot be one.
func saySlashDate(c *context) (string, bool) {
	first, second := c.groups[1], c.groups[2]
	if c.locale.american && number(first) <= 12 || number(second) > 12 {
		first, second = second, first
	}
	return c.locale.numbered(first, second, c.groups[3])
}

func sayDottedDate(c *context) (string, bool) {
	return c.locale.numbered(c.groups[1], c.groups[2], c.groups[3])
}

func sayDayMonth(c *context) (string, bool) {
	if !isDay(c.groups[1]) {
		return "", false
	}
	spoken := "the " + c.locale.ordinal(number(c.groups[1])) + " of " + c.monthOf(c.groups[2])
	if c.before() == "the" {
		spoken = strings.TrimPrefix(spoken, "the ")
	}
	if c.groups[3] != "" {
		spoken += " " + c.locale.yearOf(c.groups[3])
	}
	return spoken + c.fullStop(), true
}

func sayMonthDay(c *context) (string, bool) {
	day, last, year := c.groups[2], c.groups[3], c.groups[4]
	if !isDay(day) || strings.HasPrefix(c.after, ":") || strings.HasPrefix(c.after, "%") {
		return "", false
	}
	spoken := c.monthOf(c.groups[1]) + " "
	if last == "" && !c.locale.american {
		spoken += "the "
	}
	spoken += c.locale.ordinal(number(day))
	if last != "" {
		spoken += " to " + c.locale.ordinal(number(last))
	}
	if year != "" {
		spoken += ", " + c.locale.yearOf(year)
	}
	return spoken, last == "" || isDay(last)
}

func sayMonthYear(c *context) (string, bool) {
	return c.monthOf(c.groups[1]) + " " + c.locale.yearOf(c.groups[2]), plausibleYear(c.groups[2])
}

// fullStop returns the full stop that ends both an abbreviation and the sentence.
func (c *context) fullStop() string {
	if strings.HasSuffix(c.groups[0], ".") && c.endsSentence() && !c.locale.tables.sets["after time"][c.next()] {
		return "."
	}
	return ""
}

func sayTime(c *context) (string, bool) {
	hour, minute, second, half := c.groups[1], c.groups[2], c.groups[3], c.groups[4]
	if number(hour) > 24 || minute != "" && number(minute) > 59 || c.previous() == ':' {
		return "", false
	}
	if half == "" {
		spoken := c.locale.clock(hour, minute)
		if second != "" {
			spoken = c.locale.withSeconds(hour, minute, second)
		}
		return spoken, true
	}
	spoken := c.locale.integer(strings.TrimLeft(hour, "0")) + c.locale.minutes(minute)
	if number(hour) == 0 {
		spoken = "twelve" + c.locale.minutes(minute)
	}
	return spoken + " " + strings.ToLower(half) + " m" + c.fullStop(), true
}

// sayFromTo says from which time to which something lasts.
func sayFromTo(c *context) (string, bool) {
	for i := 1; i < 5; i += 2 {
		if number(c.groups[i]) > 24 || number(c.groups[i+1]) > 59 || c.previous() == ':' {
			return "", false
		}
	}
	if c.groups[5] == "" {
		return c.locale.clock(c.groups[1], c.groups[2]) + " to " + c.locale.clock(c.groups[3], c.groups[4]), true
	}
	from := c.locale.integer(strings.TrimLeft(c.groups[1], "0")) + c.locale.minutes(c.groups[2])
	to := c.locale.integer(strings.TrimLeft(c.groups[3], "0")) + c.locale.minutes(c.groups[4])
	return from + " to " + to + " " + strings.ToLower(c.groups[5]) + " m" + c.fullStop(), true
}

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

// minutes says the minutes after an hour, with a space before them; the full hour has none.
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

func (l *locale) withSeconds(hour, minute, second string) string {
	return l.named(hour, "hr") + " " + l.named(minute, "min") + " " + l.named(second, "sec")
}

// named says an amount of a unit.
func (l *locale) named(digits, symbol string) string {
	n := number(digits)
	return l.spell(l.counting, n) + " " + l.units[symbol].name(strconv.FormatInt(n, 10))
}
