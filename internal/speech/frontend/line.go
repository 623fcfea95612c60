package frontend

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// lineRules match the beginnings of lines, in every language, by the characters that these may begin with after white
// space. Only the number of an item is spoken.
var lineRules = []struct {
	kind    Kind
	first   string
	pattern *regexp.Regexp
}{
	{Markdown, "-*_`", regexp.MustCompile("^[ \t]*(?:-{3,}|\\*{3,}|_{3,}|```[A-Za-z0-9+-]*)[ \t]*(?:\n|$)")},
	// the line below the head of a table
	{Markdown, "|:-", regexp.MustCompile(`^[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+(?:[ \t]*:?-+:?[ \t]*)?(?:\n|$)`)},
	{Heading, "#", regexp.MustCompile(`^[ \t]*#{1,6}[ \t]+`)},
	{Heading, "=", regexp.MustCompile(`^={3,}[ \t]*(?:\n|$)`)}, // below the heading
	{ListItem, "-*+•‣◦", regexp.MustCompile(`^[ \t]*[-*+•‣◦][ \t]+(?:\[[ xX]\][ \t]+)?`)},
	{ListItem, "0123456789(ivx", regexp.MustCompile(`^[ \t]*(\d{1,3}|\(?[ivx]{1,6})[.)][ \t]+`)},
	{Markdown, ">", regexp.MustCompile(`^[ \t]*>(?:[> \t]*[> \t]|$)`)},
}

// matchLine matches the marks at the beginning of a line, and the end of a line that is a heading or an item.
func (s *scanner) matchLine() (found, bool) {
	if s.text[s.at] == '\n' {
		return s.matchNewline()
	}
	if s.at > 0 && s.text[s.at-1] != '\n' {
		return found{}, false
	}
	rest := s.rest()
	first := firstOf(strings.TrimLeft(rest, " \t"))
	for _, rule := range lineRules {
		if !strings.ContainsRune(rule.first, first) {
			continue
		}
		groups := rule.pattern.FindStringSubmatch(rest)
		if groups == nil || len(groups) > 1 && !s.isItem(groups[0], groups[1]) {
			continue
		}
		m := found{size: len(strings.TrimSuffix(groups[0], "\n")), kind: rule.kind}
		if m.size == 0 {
			continue
		}
		if len(groups) > 1 {
			n := lowerRoman(groups[1])
			if n > 0 {
				groups[1] = strconv.FormatInt(n, 10)
			}
			s.numeral = n
			m.spoken = s.locale.integer(groups[1]) + ", "
		}
		s.item = rule.kind != Markdown
		return m, true
	}
	return found{}, false
}

// isItem reports whether a number at the beginning of a line numbers an item: "3. Oktober" is a date, and "i. d. R." an
// abbreviation. Roman numerals of one letter other than "i" must follow their predecessor.
func (s *scanner) isItem(written, number string) bool {
	isOrdinal := s.locale.isOrdinal
	if !isDigit(rune(number[0])) {
		n := lowerRoman(number)
		isLetter := len(strings.TrimPrefix(number, "(")) == 1
		follows := n > 1 && n == s.numeral+1 || n == 1 && !shortFollows.MatchString(s.rest()[len(written):])
		return s.locale.speller != nil && n > 0 && (!isLetter || follows)
	}
	return s.locale.speller != nil && (isOrdinal == nil || !isOrdinal(s.rest()[len(written):]))
}

// shortFollows matches another abbreviation.
var shortFollows = regexp.MustCompile(`^\pL{1,4}\.`)

// lowerRoman returns the value of a Roman numeral in lower case, which may follow a bracket, or 0 if it is none.
func lowerRoman(written string) int64 {
	return roman(strings.ToUpper(strings.TrimPrefix(written, "(")))
}

// matchNewline ends a heading or an item, and the line before an item, with a full stop where it has no mark.
func (s *scanner) matchNewline() (found, bool) {
	item := s.item
	s.item = false
	if !item && !s.itemFollows() {
		return found{}, false
	}
	said := strings.TrimRightFunc(s.text[max(0, s.at-20):s.at], func(r rune) bool {
		return r == ' ' || r == '\t' || r == '\r' || strings.ContainsRune("*_`)\"”", r)
	})
	last, _ := utf8.DecodeLastRuneInString(said)
	if !isWord(last) {
		return found{}, false
	}
	return found{size: 1, spoken: ".\n", kind: ListItem}, true
}

func (s *scanner) itemFollows() bool {
	after := scanner{text: s.text, at: s.at + 1, locale: s.locale}
	if after.at == len(s.text) || s.text[after.at] == '\n' {
		return false
	}
	m, ok := after.matchLine()
	return ok && (m.kind == ListItem || m.kind == Heading)
}

// maxEmoji is the number of characters of the longest sequence of emoji with a name.
const maxEmoji = 12

// Characters that only change the look of an emoji, or join two.
const (
	variation    = '\ufe0f'
	textual      = '\ufe0e'
	keycap       = '\u20e3'
	joiner       = '\u200d'
	lightestSkin = '\U0001f3fb'
	darkestSkin  = '\U0001f3ff'
	firstTag     = '\U000e0020' // tags name the region of a flag
	lastTag      = '\U000e007f'
	regionalA    = '\U0001f1e6' // two regional letters are a country's flag
	regionalZ    = '\U0001f1ff'
)

// matchEmoji matches an emoji. A repeated emoji is silent.
func (s *scanner) matchEmoji(first rune) (found, bool) {
	isFlag := isRegional(first)
	if s.locale.speller == nil && !isFlag { // emoji have no names, and the joiner is a letter's in Sinhala
		return found{}, false
	}
	if !isModifier(first) && !isPicture(first) {
		return found{}, false
	}
	if s.row == maxRow { // the rest of a long row is silent
		rest := s.text[s.at:s.until()]
		return found{size: len(rest) - len(strings.TrimLeftFunc(rest, isPartOfEmoji)), kind: Emoji}, true
	}
	s.row++
	if isModifier(first) {
		return found{size: utf8.RuneLen(first), kind: Emoji}, true
	}
	named := s.emojiName
	if isFlag {
		named = s.country
	}
	name, size := named()
	if size == 0 {
		return found{}, false
	}
	if n := len(s.spans); n > 0 && s.plain == s.at && s.spans[n-1].Original == s.text[s.at:s.at+size] {
		return found{size: size, spoken: s.gapAfter(size), kind: Emoji}, true
	}
	return found{size: size, spoken: s.pad(name, size), kind: Emoji}, true
}

// country returns the name of the country of a flag at the position, "" if there is none, and the size of the flag.
func (s *scanner) country() (name string, size int) {
	var code []byte
	for _, r := range s.text[s.at:] {
		if !isRegional(r) || len(code) == 2 {
			break
		}
		code, size = append(code, byte('A'+r-regionalA)), size+utf8.RuneLen(r)
	}
	region, err := language.ParseRegion(string(code))
	names := display.Regions(language.Make(s.language))
	if err != nil || names == nil || region.String() == "ZZ" {
		return "", size
	}
	return names.Name(region), size
}

func isRegional(r rune) bool { return r >= regionalA && r <= regionalZ }

// emojiName returns the name of the longest sequence at the position that has one, and its size in the text.
func (s *scanner) emojiName() (name string, size int) {
	var room [8 * maxEmoji]byte
	bare, last := room[:0], joiner
	for n, r := range s.text[s.at:] {
		if n > 4*maxEmoji || !isModifier(r) && last != joiner {
			break
		}
		if !isModifier(r) || r == joiner {
			bare, last = utf8.AppendRune(bare, r), r
		}
		if known, ok := s.locale.emoji()[string(bare)]; ok {
			name, size = known, n+utf8.RuneLen(r)
		}
		if isTag(r) {
			name = ""
		}
	}
	return name, size
}

// isPicture reports whether a character is in the ranges of emoji.
func isPicture(r rune) bool { return r >= 0x2600 && r <= 0x2fff || r >= 0x1f000 }

func isPartOfEmoji(r rune) bool { return isModifier(r) || isPicture(r) }

func isModifier(r rune) bool {
	return r == variation || r == textual || r == keycap || r == joiner || r >= lightestSkin && r <= darkestSkin ||
		isTag(r)
}

func isTag(r rune) bool { return r >= firstTag && r <= lastTag }

// pad adds spaces if the spoken form would touch its neighbours.
func (s *scanner) pad(spoken string, size int) string {
	if r := s.previous(); !unicode.IsSpace(r) && !unicode.Is(unicode.Ps, r) {
		spoken = " " + spoken
	}
	return spoken + s.gapAfter(size)
}

// gapAfter returns a space if a word or an amount follows without one.
func (s *scanner) gapAfter(size int) string {
	if r, _ := utf8.DecodeRuneInString(s.text[s.at+size:]); isWord(r) || unicode.Is(unicode.Sc, r) {
		return " "
	}
	return ""
}
