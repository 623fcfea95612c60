package frontend

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sayURL says an address without its scheme and the punctuation of the sentence after it.
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
	return spellAddress(c.locale, strings.TrimSuffix(said, "/")), c.size > 0
}

func endsAddress(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("<>\"”", r) }

func sayAddress(c *context) (string, bool) { return spellAddress(c.locale, c.groups[0]), true }

// spellAddress says words as such, short numbers as numbers, and punctuation by its name.
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
			words = append(words, letters(address[:size]))
		case l.words.marks[r] != "":
			words = append(words, l.words.marks[r])
		}
		address = address[size:]
	}
	return strings.Join(words, " ")
}

// letters spells what is no word.
func letters(word string) string {
	if word == "www" {
		return "w w w"
	}
	return word
}

// maxShortNumber is the number of digits that are said as one number within an address.
const maxShortNumber = 4

func (l *locale) shortNumber(digits string) string {
	if len(digits) > maxShortNumber {
		return l.digits(digits)
	}
	return l.integer(digits)
}

func words(list ...string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, word := range list {
		set[word] = true
	}
	return set
}

func sayRoman(c *context) (string, bool) {
	n, before := roman(c.groups[0]), strings.ToLower(c.title())
	switch {
	case n == 0 || strings.HasPrefix(c.after, "'") || c.previous() == '.':
		return "", false
	case c.locale.tables.sets["part"][before]:
		return c.locale.spell(c.locale.counting, n), true
	case c.locale.tables.sets["name"][before] && (len(c.groups[0]) > 1 || before != "i" && !startsLower(c.next())):
		return "the " + c.locale.ordinal(n), true
	}
	return "", false
}

// title returns the word before the position unless a sentence ends with it: "vol. I", but not "the book. I".
func (c *context) title() string {
	before := c.before()
	short, key := c.locale.abbreviations, strings.ToLower(before)
	isShort := short[before].long+short[key].long+c.locale.tables.words["before number "+key] != ""
	if strings.HasSuffix(strings.TrimRight(c.text[:c.at], " \u00a0"), ".") && !isShort {
		return ""
	}
	return before
}

func startsLower(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unicode.IsLower(r)
}

func startsUpper(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unicode.IsUpper(r)
}

// romanDigits match a Roman numeral by its hundreds, tens and ones.
var romanDigits = regexp.MustCompile(`^(C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})$`)

// romanNumerals has the hundreds, tens and ones from 1, each with a space before it.
const romanNumerals = " C CC CCC CD D DC DCC DCCC CM X XX XXX XL L LX LXX LXXX XC I II III IV V VI VII VIII IX"

// roman returns the value of a Roman numeral below 400, or 0 if it is none.
func roman(written string) (n int64) {
	for i, numeral := range romanDigits.FindStringSubmatch(written) {
		if place := slices.Index(strings.Split(romanNumerals, " "), numeral); i > 0 {
			n = n*10 + int64(max(place-9*(i-1), 0))
		}
	}
	return n
}

func sayWithout(c *context) (string, bool) {
	if c.groups[0] == "w/o" {
		return "without", true
	}
	r, _ := utf8.DecodeRuneInString(c.after)
	switch {
	case isWord(r):
		return "with ", true
	default:
		return "with", unicode.IsSpace(r)
	}
}

func sayAbbreviation(c *context) (string, bool) {
	written := strings.TrimSuffix(c.groups[0], ".")
	key := strings.ToLower(written)
	if long, ok := sayBeforeNumber(c, key); ok {
		return long, true
	}
	if long, ok := streetOrPerson(c, key); ok {
		return long + c.fullStop(), true
	}
	sets := c.locale.tables.sets
	a, known := c.locale.abbreviations[key]
	switch {
	case len(written) > 1 && !strings.Contains(written, ".") && written == strings.ToUpper(written):
		return "", false // "EST."
	case !known:
		return sayInitials(c, written)
	case key == "al" && c.before() != "et", sets["capital"][key] && !startsUpper(written),
		sets["before name"][key] && !startsUpper(c.next()) && !isDigit(firstOf(c.next())),
		sets["after name"][key] && !startsUpper(c.before()) && !isDigit(firstOf(c.before())):
		return "", false
	}
	if sets["before name"][key] || sets["title"][key] {
		return a.long, true
	}
	return a.long + c.fullStop(), true
}

func firstOf(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

func sayBeforeNumber(c *context, key string) (string, bool) {
	long := c.locale.tables.words["before number "+key]
	next := strings.TrimLeft(c.after[:min(len(c.after), 4)], " \u00a0#")
	tail := firstWord(strings.TrimLeft(c.after[:min(len(c.after), 12)], " \u00a0"))
	if long == "" || !isDigit(firstOf(next)) && !(c.locale.tables.sets["part"][key] && roman(tail) > 0) {
		return "", false
	}
	if strings.HasPrefix(c.after, " ") || strings.HasPrefix(c.after, "\u00a0") {
		return long, true
	}
	return long + " ", true
}

// streetOrPerson says "Dr." and "St." by their neighbours: "Dr. Maple", "Maple Dr.", "St. Paul", "Main St.".
func streetOrPerson(c *context, key string) (string, bool) {
	if key != "dr" && key != "st" || !startsUpper(c.groups[0]) {
		return "", false
	}
	before, next := c.before(), c.next()
	apart := !startsUpper(next) || c.locale.tables.sets["starter"][next] || key == "st" && !strings.HasPrefix(c.after, " ")
	if isName(c, before) && (startsUpper(before) && apart || isDigit(firstOf(before))) {
		return map[string]string{"dr": "Drive", "st": "Street"}[key], true
	}
	if startsUpper(next) {
		c.groups[0] = "" // no sentence ends before a name
		return c.locale.abbreviations[key].long, true
	}
	return "Street", key == "st" && strings.HasSuffix(c.groups[0], ".")
}

// isName reports whether the word before the position is next to it and no first word of a sentence.
func isName(c *context, before string) bool {
	return strings.HasSuffix(c.text[:c.at], before+" ") && len(before) > 1
}

// sayInitials says letters with full stops between them one by one.
func sayInitials(c *context, written string) (string, bool) {
	if strings.Count(written, ".") == 0 || len(written) != 2*strings.Count(written, ".")+1 {
		return "", false
	}
	spoken := strings.ReplaceAll(written, ".", " ")
	if next := c.next(); next == "" || c.locale.tables.sets["starter"][next] {
		spoken += c.fullStop()
	}
	return spoken, true
}

// sayWord says abbreviations without a full stop.
func sayWord(c *context) (string, bool) {
	key := strings.ToLower(c.groups[0])
	switch {
	case strings.HasPrefix(c.after, ".") && key != "us", strings.HasPrefix(c.after, "'"):
		return "", false
	case c.groups[0] == "US":
		if after, ok := strings.CutPrefix(c.after, ". "); ok && startsUpper(after) {
			c.size++
			return "U S.", true
		}
		return "U S", !startsCapitals(c.next()) && !startsCapitals(c.before())
	case key == "no" || key == "nos" || key == "nr":
		return "", false
	case strings.HasPrefix(key, "ww"):
		return "World War " + c.locale.spell(c.locale.counting, roman(c.groups[0][2:])), true
	case key == "vs":
		return "versus", true
	case key == "dr" || key == "st":
		long, _ := streetOrPerson(c, key)
		return long, long != ""
	case c.locale.tables.sets["after name"][key]:
		before := c.before()
		return c.locale.abbreviations[key].long, isName(c, before) && (startsUpper(before) || isDigit(firstOf(before)))
	case strings.HasPrefix(c.after, " ") && startsUpper(c.next()):
		return c.locale.abbreviations[key].long, true
	}
	return "", false
}

// startsCapitals reports whether a word is shouted.
func startsCapitals(word string) bool {
	return len(word) > 1 && word == strings.ToUpper(word) && !isDigit(rune(word[0]))
}

// sayHashtag says "#ThrowbackThursday" in words.
func sayHashtag(c *context) (string, bool) {
	if isWord(c.previous()) {
		return "", false
	}
	name := c.locale.tables.words["hashtag"]
	if c.groups[0][0] == '@' {
		name = c.locale.words.marks['@']
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

// saySign says a sign before a number, and leaves the number.
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
	return c.pad(c.locale.words.signs[sign], c.size), true
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
	case mark == "*" && (isDigit(previous) && isDigit(next) || previous == ' ' && next == ' '):
		return c.pad(c.locale.words.symbols[mark], 1), c.locale.speller != nil
	case mark[0] == '_' && isWord(previous) && isWord(next):
		return " ", true
	case mark[0] == '~' && len(mark) == 1:
		return "", false
	}
	return "", true
}

// isPer reports whether the position follows an amount.
func (s *scanner) isPer() bool {
	kind := s.kindBefore()
	return kind == Money || kind == Unit || kind == Number
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
	case symbol == "/" && c.isPer() && c.locale.units[c.next()].one != "":
		unit := c.next()
		c.size += len(unit)
		return " " + c.locale.tables.words["per"] + " " + c.locale.units[unit].one, true
	case symbol == "/" && c.isPer() && unicode.IsLetter(next):
		return sayPer(c)
	case symbol == "@" && (previous != ' ' || next != ' '):
		return "", false
	case symbol == "/" && (!isWord(previous) || !isWord(next)):
		return "", false
	case symbol == "/" && c.before() == c.locale.tables.words["and"] && c.next() == c.locale.tables.words["or"]:
		return " ", true
	case symbol == "™" || symbol == "®":
		return "", true
	}
	return c.pad(c.locale.words.symbols[symbol], c.size), true
}
