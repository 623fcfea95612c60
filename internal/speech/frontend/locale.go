package frontend

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

//go:embed rules/en.txt
var englishRules string

//go:embed rules/emoji.tsv
var emojiNames string

// rule replaces what its pattern matches at the start of a word, a number or a mark.
type rule struct {
	kind    Kind
	begins  func(rune) bool
	needs   string // characters of which the text up to the next space has at least one; "" for no such need
	pattern *regexp.Regexp
	say     func(*context) (spoken string, ok bool)
}

// locale is how a language in a region is spoken.
type locale struct {
	rules    []rule
	speller  speller
	counting string // the set of rules for cardinal numbers
	american bool   // the month comes before the day
	emoji    func() map[string]string
}

// The locales are made when they are first used, or by Prepare.
var (
	american = sync.OnceValue(func() *locale { return newEnglish(true) })
	british  = sync.OnceValue(func() *locale { return newEnglish(false) })
	others   = sync.OnceValue(newOthers)
	emoji    = sync.OnceValue(parseEmoji)
)

// Prepare loads everything that texts need, so that no text waits for it.
func Prepare() {
	american()
	british()
	others()
	emoji()
}

func localeOf(language string) *locale {
	switch {
	case language == "en-us" || language == "en-us-nyc" || language == "en":
		return american()
	case strings.HasPrefix(language, "en-"):
		return british()
	default:
		return others()
	}
}

// newOthers returns the locale of languages without rules of their own: only the marks of Markdown are left out.
func newOthers() *locale {
	return &locale{rules: markdownRules()}
}

func markdownRules() []rule {
	return []rule{
		on(Markdown, oneOf("!["), "", `!?\[[^\]\n]+\]\([^)\s]+\)`, saySilentLink),
		on(Markdown, oneOf("]"), "", `\]\([^)\s]+\)`, silent),
		on(Markdown, oneOf("*_~`"), "", "\\*+|_+|~~|`+", sayMarks),
	}
}

func parseEmoji() map[string]string {
	names := make(map[string]string, 2000)
	for line := range strings.Lines(emojiNames) {
		emoji, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		names[emoji] = name
	}
	return names
}

// cardinal spells a number as it is written: with separators of thousands, zeros before it, or decimals.
func (l *locale) cardinal(written string) string {
	whole, decimals, hasDecimals := strings.Cut(strings.ReplaceAll(written, ",", ""), ".")
	if whole == "" {
		whole = "0"
	}
	spoken := l.integer(whole)
	if hasDecimals {
		spoken += " point " + l.digits(decimals)
	}
	return spoken
}

func (l *locale) integer(digits string) string {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n >= maxSpelled || len(digits) > 1 && digits[0] == '0' {
		return l.digits(digits)
	}
	return l.spell(l.counting, n)
}

func (l *locale) spell(set string, n int64) string {
	return strings.ReplaceAll(l.speller.spell(set, n), ",", "")
}

// digits reads a number digit by digit; other characters become pauses.
func (l *locale) digits(written string) string {
	var out strings.Builder
	for _, r := range written {
		switch {
		case r >= '0' && r <= '9':
			if out.Len() > 0 {
				out.WriteByte(' ')
			}
			out.WriteString(l.spell(l.counting, int64(r-'0')))
		case out.Len() > 0 && !strings.HasSuffix(out.String()[max(0, out.Len()-1):], ","):
			out.WriteByte(',')
		}
	}
	return strings.TrimRight(out.String(), ",")
}

func (l *locale) ordinal(n int64) string { return l.spell("%spellout-ordinal", n) }

// year spells the number of a year.
func (l *locale) year(n int64) string {
	switch {
	case n >= 2000 && n < 2010 || n < 1010:
		return l.spell(l.counting, n)
	default:
		return strings.ReplaceAll(l.spell("%spellout-numbering-year", n), "oh-", "oh ")
	}
}

func number(digits string) int64 {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return -1
	}
	return n
}
