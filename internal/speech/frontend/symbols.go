package frontend

import (
	"strings"
	"unicode"
)

// saySign reads a sign before a number, and leaves the number.
func saySign(c *context) (string, bool) {
	sign := c.groups[1]
	previous := c.previous()
	if (sign == "-" || sign == "−") && !unicode.IsSpace(previous) && !strings.ContainsRune("([=", previous) {
		return "", false
	}
	c.size = len(sign)
	if sign == "-" && unicode.IsSpace(firstOf(c.text[c.at+1:])) {
		return "", false // a dash
	}
	return c.pad(c.locale.names["sign"][sign], c.size), true
}

// saySilentLink leaves the text of a link, without its brackets.
func saySilentLink(c *context) (string, bool) {
	c.size = strings.IndexByte(c.groups[0], '[') + 1
	return "", strings.HasSuffix(c.groups[0], ")")
}

// sayMarks leaves out the marks of Markdown; between numbers, an asterisk multiplies.
func sayMarks(c *context) (string, bool) {
	previous, next := c.previous(), firstOf(c.after)
	switch mark := c.groups[0]; {
	case mark == "*" && (isDigit(previous) && isDigit(next) || previous == ' ' && next == ' ' &&
		(len(c.before()) == 1 || isDigit(firstOf(c.before())))):
		return c.pad(c.locale.names["symbol"][mark], 1), c.locale.speller != nil
	case mark[0] == '_' && isWord(previous) && isWord(next):
		return " ", true
	case mark[0] == '~' && len(mark) == 1:
		return "", false
	}
	return "", true
}

// kindBefore returns the kind of the span that ends at the position.
func (s *scanner) kindBefore() Kind {
	if len(s.spans) == 0 || s.plain != s.at {
		return Plain
	}
	return s.spans[len(s.spans)-1].Kind
}

func saySymbol(c *context) (string, bool) {
	previous, next := c.previous(), firstOf(c.after)
	symbol := c.groups[0]
	switch {
	case symbol == "@" && (previous != ' ' || next != ' '):
		return "", false
	case symbol == "/" && (!isWord(previous) || !isWord(next)):
		return "", false
	case symbol == "/" && c.before() == c.locale.tables.words["and"] && c.next() == c.locale.tables.words["or"]:
		return " ", true
	case symbol == "™" || symbol == "®":
		return "", true
	}
	return c.pad(c.locale.names["symbol"][symbol], c.size), true
}

// comparisons are the signs that programs write in ASCII.
var comparisons = map[string]string{
	"!=": "≠", "!==": "≠", "==": "=", "===": "=", "<=": "≤", ">=": "≥", "->": "→", "=>": "→", "&&": "&",
}

// sayComparison reads a sign of programs in ASCII like the mathematical one.
func sayComparison(c *context) (string, bool) {
	sign := c.locale.names["symbol"][comparisons[c.groups[0]]]
	return c.pad(sign, c.size), !strings.HasPrefix(c.after, "=") && !strings.HasPrefix(c.after, ">")
}
