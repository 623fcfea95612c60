package frontend

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// sayURL reads an address without its scheme and the punctuation of the sentence after it.
func sayURL(c *context) (string, bool) {
	address := c.groups[0]
	if i := strings.IndexFunc(c.after, endsAddress); i >= 0 {
		address += c.after[:i]
	} else {
		address += c.after
	}
	address = strings.TrimRight(address, `.,;:!?)]}'"*_>”`)
	c.size = len(address)
	_, said, ok := strings.Cut(address, "://")
	if !ok {
		said = address
	}
	isWord := c.locale.tables.sets["no domain"][address[strings.LastIndexByte(address, '.')+1:]]
	isAddress := c.size > 0 && (!isWord || strings.HasPrefix(address, "www."))
	return spellAddress(c.locale, strings.TrimSuffix(said, "/")), isAddress
}

func endsAddress(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("<>\"”", r) }

func sayAddress(c *context) (string, bool) { return spellAddress(c.locale, c.groups[0]), true }

// spellAddress reads words as such, short numbers as numbers, and punctuation by its name.
func spellAddress(l *locale, address string) string {
	var words []string
	for address != "" {
		r, size := utf8.DecodeRuneInString(address)
		switch {
		case isDigit(r):
			size = len(address) - len(strings.TrimLeft(address, "0123456789"))
			words = append(words, l.shortNumber(address[:size]))
		case isWord(r):
			size = len(address) - len(strings.TrimLeftFunc(address, func(r rune) bool { return isWord(r) && !isDigit(r) }))
			words = append(words, strings.ReplaceAll(address[:size], "www", "w w w"))
		case l.names["mark"][string(r)] != "":
			words = append(words, l.names["mark"][string(r)])
		}
		address = address[size:]
	}
	return strings.Join(words, " ")
}

// maxShortNumber is the maximum number of digits of an address that are read as one number.
const maxShortNumber = 4

func (l *locale) shortNumber(digits string) string {
	if len(digits) > maxShortNumber {
		return l.digits(digits)
	}
	return l.integer(digits)
}

// sayHashtag reads "#ThrowbackThursday" as words.
func sayHashtag(c *context) (string, bool) {
	if isWord(c.previous()) {
		return "", false
	}
	name := c.locale.tables.words["hashtag"]
	if c.groups[0][0] == '@' {
		name = c.locale.names["mark"]["@"]
	}
	return name + " " + splitWords(c.locale, c.groups[1]), true
}

// splitWords splits a name at capitals, digits and underscores.
func splitWords(l *locale, name string) string {
	var out strings.Builder
	previous := rune(0)
	for name != "" {
		r, size := utf8.DecodeRuneInString(name)
		begins := unicode.IsUpper(r) && !unicode.IsUpper(previous) || isDigit(r) || isDigit(previous) || r == '_'
		if out.Len() > 0 && begins {
			out.WriteByte(' ')
		}
		switch {
		case isDigit(r):
			size = len(name) - len(strings.TrimLeft(name, "0123456789"))
			out.WriteString(l.shortNumber(name[:size]))
		case r != '_':
			out.WriteRune(r)
		}
		previous, name = r, name[size:]
	}
	return strings.TrimSpace(out.String())
}
