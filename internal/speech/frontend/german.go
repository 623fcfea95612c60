package frontend

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// newGerman makes the locale of German. In addition to the tables it has ordinal numbers with a full stop, with endings
// that depend on the words around them, and words with numbers in them.
func newGerman() *locale {
	l := newTables("de", "de", "de")
	l.isOrdinal = l.tables.isGermanOrdinal
	l.rules = l.tabledRules([]rule{
		on(Date, `(\d{1,2})\.\s?(\d{1,2})\.(?:\s?(\d{4})\b|(\d{2})\b)?`, sayGermanDate),
		on(Roman, `([IVXLC]{1,7})\.?`, sayGermanRoman),
	}, []rule{
		on(Ordinal, `(\d{1,3})\.`, sayGermanOrdinal),
	})
	return l
}

// formsOf returns the forms of a noun for a look-up in the tables: without the ending of a plural or, if nouns have
// capitals, its last parts ("Arbeitstag").
func (t *tables) formsOf(noun string) []string {
	if !t.hasCapitals() {
		return []string{noun, strings.TrimSuffix(noun, "s"), strings.TrimSuffix(noun, "es")}
	}
	noun = strings.ToLower(noun)
	forms := []string{noun}
	for i := range noun {
		if i > 0 && len(noun)-i > 2 {
			forms = append(forms, noun[i:])
		}
	}
	return forms
}

// hasCapitals reports whether nouns begin with capitals.
func (t *tables) hasCapitals() bool { return t.words["nouns"] == "capital" }

// isOrdered reports whether a noun follows ordinal numbers without an article: "2. Auflage".
func (t *tables) isOrdered(noun string) bool {
	isListed := func(form string) bool { return t.sets["ordered"][form] }
	return startsUpper(noun) && slices.ContainsFunc(t.formsOf(noun), isListed)
}

// isMonth reports whether a word is the name of a month or the beginning of one.
func (t *tables) isMonth(word string) bool {
	return startsUpper(word) && t.monthOf[strings.ToLower(strings.TrimSuffix(word, "."))] > 0
}

// isGermanOrdinal reports whether a number with a full stop before a text is an ordinal number.
func (t *tables) isGermanOrdinal(after string) bool {
	word := firstWord(after)
	return t.isMonth(word) || t.isOrdered(word) && !strings.HasPrefix(after[len(word):], ":") ||
		orderedFollows.MatchString(" "+after[:min(len(after), 20)])
}

// orderedFollows matches the text after the first of two ordinal numbers.
var orderedFollows = regexp.MustCompile(`^\s?(?:bis|und|oder|i|oraz|lub|albo)(?:\szum)?\s\d{1,3}\.\s`)

// nounAfterAdjective returns the noun after the match, possibly after an adjective, or another word if there is none.
func (c *context) nounAfterAdjective() string {
	rest := c.after[:min(len(c.after), 80)]
	word, rest := spacedWord(rest[len(rangeAfter.FindString(rest)):])
	if startsLower(word) && strings.HasSuffix(strings.TrimRight(word, "rsnm"), "e") {
		word, _ = spacedWord(rest)
	}
	return word
}

// nounGender returns the gender of the noun of which there is one, and 0 if there is none, as in "Zimmer 1".
func (c *context) nounGender() byte {
	t, before, noun := c.locale.tables, c.label(), c.nounAfterAdjective()
	isLabel := t.genderOf(before) != 0 || c.locale.isLabel(before)
	switch gender := t.genderOf(noun); {
	case !startsUpper(noun), startsUpper(before) && t.caseAfter(before) == 0 && isLabel:
		return 0
	case rangeAfter.MatchString(c.after[:min(len(c.after), 20)]):
		return 'm' // of "1 bis 2 Tage"
	case gender != 0:
		return gender
	default:
		return 'n'
	}
}

// isLabel reports whether a number must follow an abbreviation.
func (l *locale) isLabel(short string) bool {
	return slices.ContainsFunc(l.abbreviations[short], func(a abbreviation) bool {
		return strings.ContainsAny(a.conditions, "1X")
	})
}

// caseAfter returns the case after a word: 1 accusative, 2 dative, 3 genitive, 0 for all else.
func (t *tables) caseAfter(word string) int {
	word = strings.ToLower(word)
	return slices.IndexFunc([]string{"accusative", "dative", "genitive"}, func(name string) bool {
		return t.sets[name][word]
	}) + 1
}

// isDative reports whether the word before the position, or before an earlier amount and "und" or "bis", governs the
// dative.
func (c *context) isDative() bool {
	before := c.before()
	if amount := firstAmount.FindStringSubmatch(c.text[max(0, c.at-40):c.at]); amount != nil {
		before = amount[1]
	}
	return before != "auf" && c.locale.tables.caseAfter(before) == dative // "kürzt auf 5 Meter"
}

const dative = 2 // as an index of the forms of a number

// firstAmount matches the word before the first of two amounts, up to the second.
var firstAmount = regexp.MustCompile(`(\pL+) \d[\d.,]*(?: (?:und|bis|oder) |\s?[-–]\s?)$`)

func sayGermanDate(c *context) (string, bool) {
	if c.isAfter("part") || len(c.groups[1]) == 1 && c.groups[2][0] == '0' && c.groups[3] == "" { // "Raum 2.01."
		return "", false
	}
	spoken, ok := sayDated(c, c.groups[1], c.groups[2], c.groups[3]+c.groups[4], "")
	return spoken + c.stop(c.groups[0], c.after), ok
}

// dayEnding returns the ending of the number of a day: "der dritte", "am dritten", "Berlin, dritter Oktober".
func (c *context) dayEnding() string {
	before := c.before()
	lower := strings.ToLower(before)
	if c.locale.tables.sets["weekday"][lower] {
		return c.earlier(before).dayEnding()
	}
	if strings.ContainsRune("-–", c.previous()) { // "vom 3.–5.4."
		if ending, ok := c.previousEnding(); ok {
			return ending
		}
	}
	if ending, ok := c.ordinalEnding('m', ""); ok {
		return ending
	}
	return c.strongEnding('m')
}

// earlier returns the context at the word before the position.
func (c *context) earlier(word string) *context {
	s := *c.scanner
	s.at = max(strings.LastIndex(s.text[:s.at], word), 0)
	return &context{scanner: &s}
}

// ordinalEnding returns the ending of "dritte" by the determiner before it and the noun after it: "dem dritten", "ein
// drittes Kind". ok is false without a determiner.
func (c *context) ordinalEnding(gender byte, noun string) (ending string, ok bool) {
	sets := c.locale.tables.sets
	switch before := strings.ToLower(c.before()); {
	case sets["weak"][before], strings.HasSuffix(before, "er") && sets["definite"][before] && gender == 'f',
		before == "die" && gender != 'f' && strings.HasSuffix(noun, "en"):
		return "n", true
	case sets["definite"][before]:
		return "", true
	case sets["indefinite"][before]:
		return map[byte]string{0: "r", 'm': "r", 'n': "s"}[gender], true
	case before == "bis" || before == "und" || before == "oder":
		return c.previousEnding()
	}
	return "", false
}

// IsGermanOrdinal reports whether a number with a full stop between two words is a German ordinal number, in a text of
// any language: no sentence ends with it. Words that are English, too, need a month or the like after the number.
func IsGermanOrdinal(before, after string) bool {
	t := tabled["de"]().tables
	switch before = strings.ToLower(before); {
	case t.said[strings.ToLower(after)] == after && after != "":
		return true
	case before == "am" || before == "im" || before == "die" || before == "den":
		return t.isMonth(after) || t.isOrdered(after)
	default:
		return t.sets["weak"][before] || t.sets["definite"][before]
	}
}

// previousEnding returns the ending of the last ordinal number near the position.
func (c *context) previousEnding() (ending string, ok bool) {
	for i := len(c.spans) - 1; i >= max(len(c.spans)-3, 0); i-- {
		if s := c.spans[i]; s.Kind == Ordinal || s.Kind == Date {
			word, _, _ := strings.Cut(strings.TrimSuffix(s.Spoken, "."), " ")
			last := word[max(len(word)-1, 0):]
			return strings.Trim(last, "e"), strings.ContainsAny(last, "enrsm")
		}
	}
	return "", false
}

// strongEnding returns the ending without a determiner: "in dritter Generation".
func (c *context) strongEnding(gender byte) string {
	endings := map[byte][4]string{'m': {"r", "n", "m", "n"}, 'f': {"", "", "r", "r"}, 'n': {"s", "s", "m", "n"}}
	return endings[gender][c.caseBefore()]
}

// sayGermanOrdinal reads a number with a full stop as an ordinal number if the words around it require one.
func sayGermanOrdinal(c *context) (string, bool) {
	if isWord(firstOf(c.after)) || strings.ContainsRune(".,", c.previous()) {
		return "", false
	}
	noun := c.nounAfterAdjective()
	gender := c.locale.tables.genderOf(noun)
	ending, ok := c.ordinalEnding(gender, noun)
	switch {
	case !ok && c.locale.tables.isOrdered(c.next()):
		ending, ok = c.strongEnding(gender), true
	case !ok && orderedFollows.MatchString(c.after[:min(len(c.after), 20)]):
		noun := firstWord(orderedFollows.ReplaceAllString(c.after[:min(len(c.after), 60)], ""))
		ending, ok = c.strongEnding(cmp.Or(c.locale.tables.genderOf(noun), 'm')), true
	}
	return c.locale.ordinal(number(c.groups[1])) + ending + c.stop(c.groups[0], c.after), ok
}

// sayGermanRoman reads "Ludwig XIV." as "Ludwig der Vierzehnte".
func sayGermanRoman(c *context) (string, bool) {
	n, before, t := roman(c.groups[1]), c.before(), c.locale.tables
	lower := strings.ToLower(before)
	dotted := strings.HasSuffix(c.groups[0], ".")
	if _, ok := c.ordinalEnding('m', ""); ok && n > 0 && dotted && before != "" {
		return c.germanRegnal(n), true
	}
	if next := c.next(); n > 0 && dotted && t.isOrdered(next) {
		return c.locale.ordinal(n) + c.strongEnding(t.genderOf(next)), true
	}
	name, genitive := strings.CutSuffix(lower, "s")
	genitive = genitive && t.sets["name"][name]
	if n == 0 || strings.HasPrefix(c.after, "'") || !t.sets["name"][lower] && !genitive && !t.sets["queen"][lower] {
		return "", false
	}
	article, ending := c.article(before, genitive)
	spoken := article + " " + capital(c.locale.ordinal(n)) + ending
	return spoken + c.stop(c.groups[0], c.after), true
}

// germanRegnal spells an ordinal number after a determiner: of a name ("Karl der Fünfte"), or of a noun ("im zweiten
// Weltkrieg").
func (c *context) germanRegnal(n int64) string {
	next := c.next()
	ending, _ := c.ordinalEnding(c.locale.tables.genderOf(next), next)
	spoken := c.locale.ordinal(n) + ending
	earlier := c.earlier(c.before()).before()
	if startsUpper(earlier) && c.locale.tables.sets["name"][strings.ToLower(earlier)] {
		spoken = capital(spoken)
	}
	return spoken + c.stop(c.groups[0], c.after)
}

// article returns the article between a name and its number, in the case of the preposition before the name, and the
// ending of the number.
func (c *context) article(name string, genitive bool) (article, ending string) {
	at := c.earlier(name)
	for range 2 { // "Johannes Paul"
		if before := at.before(); c.locale.tables.sets["name"][strings.ToLower(before)] {
			at = at.earlier(before)
		}
	}
	form := at.caseBefore()
	switch queen := c.locale.tables.sets["queen"][strings.ToLower(name)]; {
	case genitive:
		return "des", "n"
	case queen && form >= 2:
		return "der", "n"
	case queen:
		return "die", ""
	case form == 0:
		return "der", ""
	default:
		return []string{"den", "dem", "des"}[form-1], "n"
	}
}
