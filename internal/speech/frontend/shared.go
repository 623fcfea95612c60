package frontend

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

func on(kind Kind, pattern string, say func(*context) (string, bool)) rule {
	return rule{kind: kind, pattern: regexp.MustCompile("^(?:" + pattern + ")"), say: say}
}

func oneOf(runes string) func(rune) bool {
	return func(r rune) bool { return strings.ContainsRune(runes, r) }
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }
func isUpper(r rune) bool { return r >= 'A' && r <= 'Z' }

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

// sayEmergency says the number of an emergency service digit by digit.
func sayEmergency(c *context) (string, bool) {
	return c.locale.digits(c.groups[0]), c.locale.tables.sets["dial"][strings.ToLower(c.before())]
}

// difference is the pattern of a subtraction, which looks like a range but is equal to something, or a division.
const difference = `(\d+)(\s?[-–−]\s?| [/:] )(\d+)\s?=`

// sayDifference says a subtraction or division.
func sayDifference(c *context) (string, bool) {
	c.size = len(c.groups[1]) + len(c.groups[2]) + len(c.groups[3])
	sign := c.locale.names["sign"]["-"]
	if strings.ContainsAny(c.groups[2], "/:") {
		sign = c.locale.names["symbol"]["÷"]
	}
	return c.locale.integer(c.groups[1]) + " " + sign + " " + c.locale.integer(c.groups[3]), true
}

// sayModel says "737-800" without a preposition, and as it is usual in English.
func sayModel(c *context) (string, bool) {
	l, first := c.locale, c.locale.integer(c.groups[1])
	if l.tables.isEnglish() {
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

func sayRatio(c *context) (string, bool) {
	if c.previous() == ':' || strings.HasPrefix(c.after, ":") {
		return "", false
	}
	return c.locale.integer(c.groups[1]) + " " + c.locale.tables.words["ratio"] + " " + c.locale.integer(c.groups[2]), true
}

// notationRules are about what is written alike in all languages: models of aircraft, which look like ranges, a number,
// or up to three letters that are no word, with an exponent, and formulas of chemistry.
func notationRules(numeral string) []rule {
	return []rule{
		on(Version, `(7[0-8]7)-(\d00|1?\d)([A-Z]{0,2})`, sayModel),
		on(Symbol, `\^(-?\d+|[a-z])`, sayPower),
		on(Number, `(`+numeral+`)[eE]([-+]?\d{1,3})`, sayScientific),
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
		base = c.amount(base, 0)
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

// sayScientific says "1.5e-3".
func sayScientific(c *context) (string, bool) {
	ten := " " + c.locale.names["symbol"]["×"] + " " + c.locale.integer("10")
	return c.amount(c.groups[1], 0) + ten + c.locale.power(strings.TrimPrefix(c.groups[2], "+")), true
}

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
		power, minus = rest, l.names["sign"]["-"]+" "
	}
	if isDigit(rune(power[0])) {
		power = l.integer(power)
	}
	return " " + words["power"] + " " + minus + power
}

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

// sayVersion says the number of a version, which may follow the name of a program or the letter V.
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
			words = append(words, strings.ReplaceAll(address[:size], "www", "w w w"))
		case l.names["mark"][string(r)] != "":
			words = append(words, l.names["mark"][string(r)])
		}
		address = address[size:]
	}
	return strings.Join(words, " ")
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

// sayHashtag says "#ThrowbackThursday" in words.
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
	case mark == "*" && (isDigit(previous) && isDigit(next) || previous == ' ' && next == ' '):
		return c.pad(c.locale.names["symbol"][mark], 1), c.locale.speller != nil
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
