package frontend

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// rule replaces what its pattern matches at the start of a word, a number or a mark.
type rule struct {
	kind    Kind
	pattern *regexp.Regexp
	unless  func(*scanner) bool // reports quickly that the rule does not apply at the position; may be nil
	say     func(*context) (spoken string, ok bool)
}

// on returns a rule for a pattern.
func on(kind Kind, pattern string, say func(*context) (string, bool)) rule {
	return rule{kind: kind, pattern: regexp.MustCompile("^(?:" + pattern + ")"), say: say}
}

// unlessAfter returns a rule that does not apply after some characters, because its match would have begun before them.
func unlessAfter(characters func(rune) bool, r rule) rule {
	r.unless = func(s *scanner) bool { return characters(s.previous()) }
	return r
}

// locale is how a language in a region is spoken.
type locale struct {
	rules    []rule
	speller  speller
	counting string // the set of rules for cardinal numbers
	american bool   // the month comes before the day
	emoji    func() map[string]string
	names    map[string]map[string]string                 // of characters, by "mark", "sign" and "symbol"; see tables
	tables   *tables                                      // nil if the language has none
	ordinals string                                       // the set of rules for ordinal numbers
	clocked  func(c *context, hour, minute string) string // spells a time of the day
	// isOrdinal reports by the following text whether a number with a full stop is an ordinal number; may be nil
	isOrdinal func(after string) bool

	units         map[string]measure        // by symbol
	abbreviations map[string][]abbreviation // without the last full stop

	prepared sync.Once
	filtered *filter
}

// filter returns the filter of the rules.
func (l *locale) filter() *filter {
	l.prepared.Do(func() { l.filtered = newFilter(l.rules) })
	return l.filtered
}

// The locales are made when they are first used, or by Prepare.
var (
	american = sync.OnceValue(func() *locale { return newEnglish(true, "en") })
	british  = sync.OnceValue(func() *locale { return newEnglish(false, "en", "en-GB") })
	others   = sync.OnceValue(newOthers)
)

// Prepare loads everything that texts in languages with rules need, so that none waits for it. The others are loaded
// with their first text, in some milliseconds.
func Prepare() {
	others().filter()
	for _, locale := range slices.Concat([]func() *locale{american, british}, slices.Collect(maps.Values(tabled))) {
		locale().filter()
		locale().emoji()
	}
}

func localeOf(language string) *locale {
	switch {
	case language == "en-us" || language == "en-us-nyc" || language == "en":
		return american()
	case strings.HasPrefix(language, "en-"):
		return british()
	}
	if locale, ok := tabled[language]; ok {
		return locale()
	}
	if locale, ok := counted[language]; ok {
		return locale()
	}
	return others()
}

// newOthers returns the locale of languages without rules of their own: only the marks of Markdown are left out.
func newOthers() *locale {
	return &locale{rules: markdownRules()}
}

// linkTarget is the pattern of the address of a link, which may have brackets in pairs.
const linkTarget = `(?:[^()\s]|\([^()\s]*\))+`

func markdownRules() []rule {
	return []rule{
		on(Markdown, `!?\[(?:!\[)?[^\[\]\n]+\]\(`+linkTarget+`\)`, saySilentLink),
		on(Markdown, `\]\(`+linkTarget+`\)`, silent),
		on(Markdown, "\\*+|_+|~~|`+", sayMarks),
		on(Markdown, `(?i)</?(?:a|abbr|b|big|cite|code|del|em|i|ins|kbd|mark|q|s|small|span|strong|u)`+attributes, silent),
		on(Markdown, `(?i)</?su[bp]`+attributes, sayTemplate(" ")),
		on(Markdown, `(?i)</?(?:br|div|h[1-6]|hr|li|ol|p|ul)`+attributes, sayTemplate("\n")),
	}
}

// attributes matches the attributes of an HTML tag, and its end.
const attributes = `(?:\s+[a-z-]+="[^"<>\n]*")*\s*/?>`

// symbolRules are about hashtags and signs.
func symbolRules() []rule {
	return []rule{
		on(Hashtag, `[#@](\pL[\pL\d_]*)`, sayHashtag),
		on(Symbol, `([#~<>±≈§№−-])\s?[$£€]?\.?\d[\w,.º°ª]*`, saySign),
		unlessAfter(isWord, on(Emoji, `[:;]'?-?(?:[()]+\B|[DP]\b)`, silent)),
		unlessAfter(oneOf("!<=>-"), on(Symbol, `!==?|===?|[<>]=|[=-]>|&&`, sayComparison)),
		on(Symbol, `[&+=≠≤≥×÷*/→™®©√∞]`, saySymbol),
	}
}

// addressRules are about addresses and paths, which look alike in every language.
func addressRules() []rule {
	return []rule{
		on(URL, `(?i)(?:https?://|ftp://|file://|www\.)[^\s<>"”]+`, sayURL),
		unlessAfter(oneOf("._%+-"), on(Email, `[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+`, sayAddress)),
		unlessAfter(oneOf(".-"), on(URL, `(?i)[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*`+
			`\.(?:com|org|net|io|dev|edu|gov|co\.uk|uk|de|fr|ai|app)(?:/[^\s<>"”]*)?`, sayURL)),
		unlessAfter(oneOf(".-"), on(URL,
			`[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*\.(?:be|br|ch|es|eu|it|mx|nl|pl|pt|ru)(?:/[^\s<>"”]*)?`, sayURL)),
		unlessAfter(isWord, on(Path, `(?:~|\.{1,2})?(?:/[\w.-]*\w)+/?`, sayAddress)),
		on(Path, `[A-Z]:\\(?:[\w.\\-]*\w)?`, sayAddress),
		unlessAfter(oneOf(".-_"), on(Path,
			`(?i)[a-z0-9][\w-]*\.(?:txt|pdf|docx?|xlsx?|csv|json|html?|zip|jpe?g|png|mp3|wav|go|js|py|exe)`, sayAddress)),
	}
}

func parseEmoji(emojiNames string) map[string]string {
	names := make(map[string]string, 2000)
	for line := range strings.Lines(emojiNames) {
		emoji, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		names[emoji] = name
	}
	return names
}

func (l *locale) integer(digits string) string {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n >= maxSpelled || len(digits) > 1 && digits[0] == '0' {
		return l.digits(digits)
	}
	return l.spell(l.counting, n)
}

// spell spells a number by a set of rules, or writes it for the engine if there is none.
func (l *locale) spell(set string, n int64) string {
	if set == "" {
		return strconv.FormatInt(n, 10)
	}
	return l.tables.corrected(set, strings.ReplaceAll(l.speller.spell(set, n), ",", ""))
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

func (l *locale) ordinal(n int64) string {
	if l.ordinals != "" {
		return l.spell(l.ordinals, n)
	}
	return l.spell("%spellout-ordinal", n)
}

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
