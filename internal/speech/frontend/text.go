package frontend

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

func oneOf(runes string) func(rune) bool {
	return func(r rune) bool { return strings.ContainsRune(runes, r) }
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isUpper(r rune) bool { return r >= 'A' && r <= 'Z' }

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

func words(list ...string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, word := range list {
		set[word] = true
	}
	return set
}

// title returns the word before the position unless a sentence ends with it: "vol. I", but not "the book. I".
func (c *context) title() string {
	before := c.before()
	short := c.locale.abbreviations
	isShort := len(short[before])+len(short[strings.ToLower(before)]) > 0
	if strings.HasSuffix(strings.TrimRight(c.text[:c.at], " \u00a0"), ".") && !isShort {
		return ""
	}
	return before
}

func startsLower(word string) bool { return unicode.IsLower(firstOf(word)) }

func startsUpper(word string) bool { return unicode.IsUpper(firstOf(word)) }

// romanNumeral matches a Roman numeral below 400.
var romanNumeral = regexp.MustCompile(`^C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})$`)

// roman returns the value of a Roman numeral below 400, or 0 if it is none.
func roman(written string) (n int64) {
	if strings.Trim(written, "CLXVI") != "" || !romanNumeral.MatchString(written) {
		return 0
	}
	values, last := map[rune]int64{'C': 100, 'L': 50, 'X': 10, 'V': 5, 'I': 1}, int64(0)
	for _, digit := range written {
		if n += values[digit]; values[digit] > last {
			n -= 2 * last
		}
		last = values[digit]
	}
	return n
}

func lastOf(text string) rune {
	r, _ := utf8.DecodeLastRuneInString(text)
	return r
}

func firstOf(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

// startsCapitals reports whether a word is shouted.
func startsCapitals(word string) bool {
	return len(word) > 1 && word == strings.ToUpper(word) && !isDigit(rune(word[0]))
}
