package frontend

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

//go:embed german_nouns.tsv
var germanNouns string

//go:embed german_units.tsv
var germanUnits string

//go:embed german_abbreviations.tsv
var germanAbbreviations string

// german has the tables of German.
type german struct {
	genders       map[string]byte         // m, f or n of nouns in lower case
	ordered       map[string]bool         // nouns of which there is a first and a second
	units         map[string]measure      // by symbol
	abbreviations map[string]abbreviation // without the last full stop
}

// measure is a unit or a currency.
type measure struct {
	gender      byte
	one, many   string
	subOne, sub string // one and many hundredths of a currency
}

// abbreviation is an abbreviation's long form, which may have another one for women after a stroke. The conditions are
// letters: t if no sentence ends with it, 1, X, N, D, Y and R if a number, one that may be Roman, a name, a date, a year or
// a name of rulers must follow, # if a number must precede it, I if no initial may, and = if it has no full stop.
type abbreviation struct{ long, conditions string }

const (
	germanNumeral = `(?:[1-9]\d{0,2}(?:[.'’\x{a0}\x{202f} ]\d{3})+(?:,\d+)?|\d+(?:,\d+)?)`
	germanScale   = `(?:\s?(Mio\.|Mrd\.|Bio\.|Tsd\.|Millionen|Milliarden|Billionen))?`
	germanMoney   = `€|EUR|Euro|US\$|USD|\$|Dollar|£|GBP|CHF|Franken|¥|JPY`
)

var germanWording = wording{
	marks: map[rune]string{
		'.': "Punkt", '/': "Schrägstrich", '\\': "Backslash", ':': "Doppelpunkt", '?': "Fragezeichen", '=': "gleich",
		'&': "und", '-': "Bindestrich", '_': "Unterstrich", '#': "Raute", '%': "Prozent", '+': "plus", '@': "ät",
		'~': "Tilde", ',': "Komma",
	},
	signs: map[string]string{
		"#": "Nummer", "~": "etwa", "<": "kleiner als", ">": "größer als", "±": "plus minus", "≈": "etwa",
		"§": "Paragraph", "№": "Nummer", "-": "minus", "−": "minus",
	},
	symbols: map[string]string{
		"&": "und", "+": "plus", "=": "gleich", "×": "mal", "÷": "geteilt durch", "*": "mal", "/": "Schrägstrich",
		"→": "zu", "™": "", "®": "", "©": "Copyright", "√": "Wurzel aus", "∞": "unendlich",
	},
	and: "und", or: "oder", to: "bis", decimal: "Komma", point: "Punkt", version: "Version", plus: "plus", per: "pro",
	hashtag: "Hashtag",
}

func newGerman() *locale {
	g := parseGerman()
	l := &locale{
		speller: parseRules(germanRules), emoji: emojiDe, counting: "%spellout-numbering", words: germanWording, german: g,
		units: g.units, abbreviations: g.abbreviations, starters: germanStarters,
	}
	l.rules = slices.Concat(markdownRules(), []rule{
		on(Symbol, "/", sayPer), // before paths
	}, addressRules(), germanDateRules(), germanAmountRules(g), []rule{
		on(Number, `[1-9]\d{0,2}(?:\.\d{3}){2,}(?:,\d+)?`, sayGermanNumber),
		on(Version, `\d{1,3}(?:\.\d+){2,3}`, sayVersion),
		on(Version, `[vV](\d+(?:\.\d+){1,3})`, sayVersion),
		on(Ordinal, `(\d{1,3})\.`, sayGermanOrdinal),
		on(Number, `(\d{1,4})-?(mal|fach\pL*|jährig\pL*|tägig\pL*|stündig\pL*|minütig\pL*|prozentig\pL*|`+
			`teilig\pL*|stellig\pL*|stöckig\pL*|köpfig\pL*|seitig\pL*|Jährig\pL*)`, sayGermanCompound),
		on(Number, `(\d{1,4})-`, sayGermanHyphen),
		on(Number, germanNumeral, sayGermanNumber),
		on(Version, `(\d+\.\d+)`, sayGermanPoint),
		on(Roman, `([IVXLC]{1,7})\.?`, sayGermanRoman),
		on(Abbreviation, `(\pL*[sS])tr\.`, sayGermanStreet),
		on(Abbreviation, `((?:\pL\.){2,6})|\pL{1,7}\.(?:[ \x{a0}\x{202f}]?\pL{1,3}\.){0,3}`,
			sayLongForm),
		on(Hashtag, `[#@](\pL[\pL\d_]*)`, sayHashtag),
		on(Symbol, `(§§?)\s?`, sayGermanParagraph),
		on(Symbol, `([#~<>±≈№−-])\s?[$£€]?\d[\d,.]*`, saySign),
		on(Symbol, `[&+=×÷*/→™®©√∞]`, saySymbol),
	})
	return l
}

func parseGerman() *german {
	g := &german{
		genders: make(map[string]byte), ordered: make(map[string]bool), units: make(map[string]measure),
		abbreviations: make(map[string]abbreviation),
	}
	for row := range rows(germanNouns, 2) {
		for noun := range strings.FieldsSeq(row[1]) {
			g.genders[noun] = row[0][0]
			g.ordered[noun] = g.ordered[noun] || strings.HasSuffix(row[0], "!")
		}
	}
	for row := range rows(germanUnits, 5) {
		m := measure{gender: row[1][0], one: row[2], many: row[3], sub: row[4]}
		if m.many == "" {
			m.many = m.one
		}
		g.units[row[0]] = m
	}
	for row := range rows(germanAbbreviations, 3) {
		g.abbreviations[row[0]] = abbreviation{row[1], row[2]}
	}
	return g
}

// rows yields the lines of a table, each with n fields.
func rows(table string, n int) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(table) {
			fields := append(strings.Split(strings.TrimSuffix(line, "\n"), "\t"), make([]string, n)...)
			if !yield(fields[:n]) {
				return
			}
		}
	}
}

// unitPattern has the longest units first, because the first that matches is taken. Money has patterns of its own.
func (g *german) unitPattern() string {
	var symbols []string
	for symbol, m := range g.units {
		if m.sub == "" {
			symbols = append(symbols, regexp.QuoteMeta(symbol))
		}
	}
	slices.SortFunc(symbols, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return strings.Join(symbols, "|")
}

// genderOf returns the gender of a noun by its last part ("Arbeitstag") or its ending, or 0.
func (g *german) genderOf(noun string) byte {
	lower := strings.ToLower(noun)
	for i := range lower {
		if gender, ok := g.genders[lower[i:]]; ok && (i == 0 || len(lower)-i > 2) {
			return gender
		}
	}
	for _, e := range []struct {
		gender  byte
		endings []string
	}{
		{'f', []string{"ung", "heit", "keit", "schaft", "tion", "tät", "ik", "ur", "ei", "ie", "enz", "anz", "in", "e"}},
		{'n', []string{"chen", "lein", "ment", "um", "ma"}}, {'m', []string{"er", "ig", "ling", "or", "ismus"}},
	} {
		if slices.ContainsFunc(e.endings, func(ending string) bool { return strings.HasSuffix(lower, ending) }) {
			return e.gender
		}
	}
	return 0
}

// labels reports whether a word may have a number as its name.
func (g *german) labels(word string) bool {
	return g.genderOf(word) != 0 || strings.Contains(g.abbreviations[word].conditions, "1")
}

// isOrdered reports whether a noun follows ordinal numbers without an article: "2. Auflage".
func (g *german) isOrdered(noun string) bool {
	lower := strings.ToLower(noun)
	for i := range lower {
		if g.ordered[lower[i:]] && (i == 0 || len(lower)-i > 2) {
			return true
		}
	}
	return false
}

// isOrdinal reports whether a number with a full stop before a text is an ordinal number and not that of an item.
func (g *german) isOrdinal(after string) bool {
	word := firstWord(after)
	return germanMonth(word) != "" || startsUpper(word) && g.isOrdered(word) && !strings.HasPrefix(after[len(word):], ":")
}

func firstWord(text string) string {
	if i := strings.IndexFunc(text, func(r rune) bool { return !isWord(r) }); i >= 0 {
		return text[:i]
	}
	return text
}

// sayGermanNumber says a number, or a year where its form and its neighbours allow one: "1987 wurde", "im Jahr 1987".
func sayGermanNumber(c *context) (string, bool) {
	written := c.groups[0]
	if isDigit(c.previous()) || strings.HasPrefix(c.after, "@") || isDigit(nextRune(c.after)) && c.after[0] == '.' {
		return "", false
	}
	if len(written) == 4 && isDigit(rune(written[1])) && written >= "1100" && written <= "1999" &&
		(!startsUpper(c.next()) || beforeYear[strings.ToLower(c.before())] || germanMonth(c.before()) != "") {
		return c.locale.year(number(written)), true
	}
	if written == "1" && rangeFollows.MatchString(c.after[:min(len(c.after), 12)]) {
		return c.locale.spell("%spellout-cardinal-masculine", 1), true
	}
	return c.germanAmount(written, c.nounGender()), true
}

// rangeFollows matches what follows the first number of "1 bis 2 Tage".
var rangeFollows = regexp.MustCompile(`^(?:\s?[-–]\s?|\sbis\s)\d+\s`)

var beforeYear = words("jahr", "jahre", "jahres", "seit", "anno", "ab", "bis", "sommer", "winter", "herbst", "frühjahr",
	"frühling", "ende", "anfang", "mitte", "um", "von", "und")

// nounGender returns the gender of the noun of which there is one, and 0 if there is none, as in "Zimmer 1".
func (c *context) nounGender() byte {
	before := c.before()
	noun := c.next()
	if startsUpper(before) && germanCase(before) == 0 && c.locale.german.labels(before) {
		return 0
	}
	if adjective := noun; startsLower(noun) && strings.HasSuffix(strings.TrimRight(noun, "rsnm"), "e") {
		_, after, _ := strings.Cut(c.after[:min(len(c.after), 80)], adjective)
		noun = firstWord(strings.TrimPrefix(after, " "))
	}
	if !startsUpper(noun) {
		return 0
	}
	if gender := c.locale.german.genderOf(noun); gender != 0 {
		return gender
	}
	return 'n'
}

// germanAmount says a number before a noun of a gender. Only 1 depends on that, and on the case.
func (c *context) germanAmount(written string, gender byte) string {
	if written != "1" || gender == 0 {
		return c.locale.cardinal(germanDigits(written))
	}
	forms := map[byte][5]string{ // for no case, accusative, dative and genitive
		'm': {"masculine", "n", "m", "s"}, 'f': {"feminine", "feminine", "r", "r"}, 'n': {"neuter", "neuter", "m", "s"},
	}
	return c.locale.spell("%spellout-cardinal-"+forms[gender][germanCase(c.before())], 1)
}

// germanDigits rewrites a number as the interpreter of rules takes it: 1.234,5 as 1234.5.
func germanDigits(written string) string {
	written = strings.Map(func(r rune) rune {
		if isDigit(r) || r == ',' {
			return r
		}
		return -1
	}, written)
	return strings.ReplaceAll(written, ",", ".")
}

var (
	accusative = words("für", "um", "ohne", "durch", "gegen", "dauert", "dauerte", "dauern", "hat", "habe", "haben",
		"hatte", "hatten", "braucht", "brauche", "brauchen", "brauchte", "kostet", "kostete", "gibt", "gab", "kauft",
		"kaufte", "trinkt", "isst", "wartet", "wartete", "enthält", "sieht", "nimmt", "bekommt", "je", "pro", "nur", "noch")
	dative = words("mit", "nach", "seit", "von", "vor", "bei", "aus", "zu", "in", "ab", "auf", "binnen", "unter")
	// genitive has prepositions alone.
	genitive = words("innerhalb", "während", "wegen", "trotz")
)

// germanCase returns the case after a word: 1 accusative, 2 dative, 3 genitive, 0 for all else.
func germanCase(before string) int {
	before = strings.ToLower(before)
	return slices.Index([]bool{accusative[before], dative[before], genitive[before]}, true) + 1
}

// sayGermanCompound says "5-jährig" and "3fach" as one word.
func sayGermanCompound(c *context) (string, bool) {
	spoken := c.germanAmount(c.groups[1], 'n')
	if len(c.groups) > 3 {
		return spoken + "prozent" + c.groups[3], true
	}
	if startsUpper(c.groups[2]) {
		return strings.ToUpper(spoken[:1]) + spoken[1:] + strings.ToLower(c.groups[2]), true
	}
	return spoken + c.groups[2], true
}

// sayGermanHyphen says the number of "3-Zimmer-Wohnung".
func sayGermanHyphen(c *context) (string, bool) {
	if !unicode.IsLetter(firstOf(c.after)) {
		return "", false
	}
	if c.groups[1] != "1" {
		return c.locale.integer(c.groups[1]) + "-", true
	}
	return c.locale.spell("%spellout-cardinal-masculine", 1) + "-", true
}

// sayGermanPoint says "3.5" as it is written.
func sayGermanPoint(c *context) (string, bool) {
	whole, decimals, _ := strings.Cut(c.groups[1], ".")
	return c.locale.integer(whole) + " " + c.locale.words.point + " " + c.locale.integer(decimals), !isDigit(c.previous())
}
