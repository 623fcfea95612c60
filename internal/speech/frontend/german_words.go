package frontend

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func germanAmountRules(g *german) []rule {
	units := g.unitPattern()
	return []rule{
		on(Phone, `(?:\+\d{1,3}|\(?0\d{1,5}\)?)(?:[ /–-]{0,3}\(?\d{1,9}\)?){1,6}`, sayGermanPhone),
		on(Money, `(`+germanMoney+`)\s?(`+germanNumeral+`)()`+germanScale, sayGermanMoney),
		on(Money, `()(`+germanNumeral+`)(,[-–—]+)?`+germanScale+`\s?(`+germanMoney+`)`, sayGermanMoney),
		on(Fraction, `(?:(\d{1,3})\s)?(\d{1,3})/(\d{1,3})(?:\s?(`+units+`)\b)?`, sayGermanFraction),
		on(Fraction, `(?:(\d{1,4})\s?)?([½⅓⅔¼¾⅛⅜⅝⅞])()(?:\s?(`+units+`)\b)?`, sayGermanVulgar),
		on(Range, `[-–—]\s?| [-–—]\s`, sayDash),
		on(Number, `(`+germanNumeral+`)\s?[x×]\s?`, sayGermanTimes),
		on(Number, `(\d{1,4})()\s?-?%-?(ig\pL*)`, sayGermanCompound),
		on(Unit, `(`+germanNumeral+`)([ \x{a0}\x{202f}-]?)(`+units+`)`, sayGermanUnit),
		on(Unit, `km|kg|m[²³]?|h|l|g|t|kWh|qm`, sayUnitAlone),
	}
}

// minPhone is the number of digits of the shortest telephone number with its area code.
const minPhone = 7

func sayGermanPhone(c *context) (string, bool) {
	count := strings.Count(strings.Map(func(r rune) rune {
		if isDigit(r) {
			return '0'
		}
		return -1
	}, c.groups[0]), "0")
	if count < minPhone {
		return "", false
	}
	return sayPhone(c)
}

func sayGermanMoney(c *context) (string, bool) {
	symbol := c.groups[1]
	if symbol == "" {
		symbol = c.groups[len(c.groups)-1]
	}
	if isDigit(c.previous()) {
		return "", false
	}
	return c.germanSum(c.groups[2], c.groups[4], c.locale.units[symbol]), true
}

// germanSum says money with its hundredths: "zwölf Euro fünfzig".
func (c *context) germanSum(written, scale string, m measure) string {
	if scale != "" {
		return c.germanMeasure(written, c.locale.units[scale]) + " " + m.many
	}
	whole, cents, _ := strings.Cut(written, ",")
	switch {
	case len(cents) != 2 || m.sub == "":
		return c.germanMeasure(written, m)
	case cents == "00":
		return c.germanMeasure(whole, m)
	case whole == "0":
		return c.germanMeasure(strings.TrimLeft(cents, "0"), measure{gender: 'm', one: m.sub, many: m.sub})
	default:
		return c.germanMeasure(whole, m) + " " + c.locale.integer(strings.TrimLeft(cents, "0"))
	}
}

// germanMeasure says an amount with its unit.
func (c *context) germanMeasure(written string, m measure) string {
	if written == "1" {
		return c.germanAmount(written, m.gender) + " " + m.one
	}
	return c.germanAmount(written, m.gender) + " " + m.many
}

func sayGermanUnit(c *context) (string, bool) {
	symbol := c.groups[3]
	if isDigit(c.previous()) {
		return "", false
	}
	return c.germanMeasure(c.groups[1], c.locale.units[symbol]) + c.stop(symbol, c.after), true
}

// sayUnitAlone says the unit that an amount is for: "3 € pro kg", "3 €/kg".
func sayUnitAlone(c *context) (string, bool) {
	n := len(c.spans)
	per := c.previous() == '/' && n > 0 && c.spans[n-1].Kind == Symbol && c.plain == c.at
	return c.locale.units[c.groups[0]].one, per || c.before() == c.locale.words.per || c.before() == "je"
}

func sayGermanFraction(c *context) (string, bool) {
	if isWord(c.previous()) || c.previous() == '/' || strings.HasPrefix(c.after, "/") {
		return "", false
	}
	top, bottom := number(c.groups[2]), number(c.groups[3])
	switch {
	case c.groups[2] == "24" && c.groups[3] == "7":
		return c.locale.integer(c.groups[2]) + " " + c.locale.integer(c.groups[3]), true
	case top == 0 || bottom < 2 || bottom > 20 && bottom != 100 || top >= bottom && c.groups[1] != "":
		return c.locale.integer(c.groups[2]) + " durch " + c.locale.integer(c.groups[3]), c.groups[1] == ""
	}
	return c.germanMixed(c.groups[1], top, bottom), true
}

func sayGermanVulgar(c *context) (string, bool) {
	f := vulgar[c.groups[2]]
	return c.germanMixed(c.groups[1], f[0], f[1]), true
}

// germanMixed says a whole number, which may be missing, and a fraction: "zweieinhalb", "drei Viertel", "eine halbe".
func (c *context) germanMixed(whole string, top, bottom int64) string {
	unit := c.locale.units[c.groups[4]]
	gender, name := c.nounGender(), ""
	if unit.one != "" {
		gender, name = unit.gender, " "+unit.many
	}
	switch {
	case bottom == 2 && top == 1 && whole != "":
		return strings.Replace(c.locale.integer(whole), "eins", "ein", 1) + "einhalb" + name
	case bottom == 2 && top == 1 && gender != 0:
		return c.germanAmount("1", gender) + " halb" + c.halfEnding(gender) + name
	case bottom == 2 && top == 1:
		return "ein halb"
	case whole != "":
		whole = c.locale.integer(whole) + " "
	}
	part := strings.TrimSuffix(c.locale.ordinal(bottom), "te") + "tel"
	if bottom == 2 {
		part = "halbe"
	}
	spoken := c.locale.spell("%spellout-cardinal-masculine", top) + " "
	return whole + spoken + strings.ToUpper(part[:1]) + part[1:] + name
}

// halfEnding returns the ending of "halb" after "ein": "ein halber Liter", "eine halbe Stunde".
func (c *context) halfEnding(gender byte) string {
	form := germanCase(c.before())
	switch {
	case gender == 'f' && form < 2:
		return "e"
	case form >= 2 || form == 1 && gender == 'm':
		return "en"
	default:
		return map[byte]string{'m': "er", 'n': "es"}[gender]
	}
}

// sayDash says a dash between two amounts as "bis". In numbers with more dashes than one, they are silent.
func sayDash(c *context) (string, bool) {
	previous := c.previous()
	if !isDigit(firstOf(c.after)) || previous == '.' && c.groups[0][0] == ' ' ||
		!isDigit(previous) && !strings.ContainsRune(".%€", previous) {
		return "", false
	}
	head := c.text[max(0, c.at-20):c.at]
	token := head[strings.LastIndexByte(head, ' ')+1:] + chunkOf(c.text[c.at:][:min(len(c.text)-c.at, 20)])
	if strings.Count(token, "-") > 1 {
		return " ", true
	}
	return " " + c.locale.words.to + " ", true
}

// sayGermanTimes says "3 x 4" and "3x".
func sayGermanTimes(c *context) (string, bool) {
	if isDigit(firstOf(c.after)) {
		return c.locale.cardinal(germanDigits(c.groups[1])) + " mal ", !isDigit(c.previous())
	}
	c.size = len(strings.TrimRight(c.groups[0], " \n"))
	return c.germanAmount(c.groups[1], 'n') + "mal", !isDigit(c.previous()) && !strings.Contains(c.groups[0][:c.size], " ")
}

// sayPer says the stroke between an amount and what it is for, which is no path.
func sayPer(c *context) (string, bool) {
	return " " + c.locale.words.per + " ", c.isPer() && unicode.IsLetter(firstOf(c.after))
}

// sayGermanParagraph says the sign before the number of a section of a law.
func sayGermanParagraph(c *context) (string, bool) {
	if len(c.groups[1]) > len("§") {
		return "Paragraphen ", true
	}
	return "Paragraph ", true
}

// germanParts are the words before a number that counts parts.
var germanParts = words("kapitel", "teil", "band", "akt", "szene", "abschnitt", "artikel", "phase", "typ", "klasse",
	"stufe", "buch", "anhang", "abbildung", "tabelle", "version", "punkt", "nummer", "gruppe", "satz", "liga", "hartz",
	"sekundarstufe")

// germanRegnal are the names before a Roman numeral that is an ordinal number, queens' last.
var (
	germanRegnal = words("ludwig", "karl", "heinrich", "friedrich", "wilhelm", "otto", "johannes", "paul", "pius",
		"benedikt", "franz", "joseph", "josef", "napoleon", "georg", "eduard", "richard", "jakob", "alexander", "nikolaus",
		"peter", "iwan", "gregor", "leo", "innozenz", "urban", "clemens", "philipp", "ferdinand", "leopold", "maximilian",
		"rudolf", "konrad", "albrecht", "august", "christian", "gustav", "adolf", "ramses", "ptolemäus", "harald", "felipe",
		"carlos", "charles", "henry", "louis", "sixtus", "julius", "johann", "ernst", "albert", "bonifatius")
	germanQueens = words("elisabeth", "katharina", "maria", "margarete", "viktoria", "beatrix", "isabella")
)

// sayGermanRoman says "Ludwig XIV." as "Ludwig der Vierzehnte" and "Kapitel IV" as "Kapitel vier".
func sayGermanRoman(c *context) (string, bool) {
	n, before := roman(c.groups[1]), c.before()
	lower := strings.ToLower(before)
	dotted := strings.HasSuffix(c.groups[0], ".")
	if _, ok := c.ordinalEnding('m', ""); ok && n > 0 && dotted && before != "" {
		return c.germanRegnal(n), true
	}
	if next := c.next(); n > 0 && dotted && startsUpper(next) && c.locale.german.isOrdered(next) {
		return c.locale.ordinal(n) + c.strongEnding(c.locale.german.genderOf(next)), true
	}
	name, genitive := strings.CutSuffix(lower, "s")
	genitive = genitive && germanRegnal[name]
	switch {
	case n == 0 || strings.HasPrefix(c.after, "'"):
		return "", false
	case germanParts[lower]:
		c.size = len(c.groups[1])
		return c.locale.spell(c.locale.counting, n), true
	case germanRegnal[lower] || genitive || germanQueens[lower]:
		article, ending := c.article(before, genitive)
		spoken := article + " " + capital(c.locale.ordinal(n)) + ending
		return spoken + c.stop(c.groups[0], c.after), true
	}
	return "", false
}

// germanRegnal says an ordinal number after a determiner: of a name ("Karl der Fünfte"), or of a noun ("im zweiten
// Weltkrieg").
func (c *context) germanRegnal(n int64) string {
	next := c.next()
	ending, _ := c.ordinalEnding(c.locale.german.genderOf(next), next)
	spoken := c.locale.ordinal(n) + ending
	if earlier := c.earlier(c.before()).before(); startsUpper(earlier) && germanRegnal[strings.ToLower(earlier)] {
		spoken = capital(spoken)
	}
	return spoken + c.stop(c.groups[0], c.after)
}

// article returns the article between a name and its number, in the case of the preposition before the name, and the
// ending of the number.
func (c *context) article(name string, genitive bool) (article, ending string) {
	at := c.earlier(name)
	for range 2 { // "Johannes Paul"
		if before := at.before(); germanRegnal[strings.ToLower(before)] {
			at = at.earlier(before)
		}
	}
	form := germanCase(at.before())
	switch queen := germanQueens[strings.ToLower(name)]; {
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

func capital(word string) string {
	r, size := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(r)) + word[size:]
}

// sayGermanStreet says "Hauptstr." as "Hauptstraße".
func sayGermanStreet(c *context) (string, bool) {
	return c.groups[1] + "traße" + c.stop(c.groups[0], c.after), true
}

// sayLongForm says the longest abbreviation at the position: "z. B." may be followed by "u. a.".
func sayLongForm(c *context) (string, bool) {
	for written := c.groups[0]; ; {
		key := strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return -1
			}
			return r
		}, written[:len(written)-1])
		c.size = len(written)
		after := c.text[c.at+c.size:]
		if long, ok := c.longForm(key, after); ok {
			return long, true
		}
		i := strings.LastIndexByte(written[:len(written)-1], '.')
		if i < 0 {
			c.size = len(c.groups[0])
			letters := strings.TrimSuffix(strings.ReplaceAll(c.groups[1], ".", " "), " ") // "U.S.A."
			return letters + c.stop(c.groups[1], c.after), letters != ""
		}
		written = written[:i+1]
	}
}

// longForm returns what an abbreviation stands for before a text, where its conditions hold.
func (c *context) longForm(key, after string) (string, bool) {
	a, ok := c.locale.abbreviations[key]
	if first, size := utf8.DecodeRuneInString(key); !ok && unicode.IsUpper(first) && size < len(key) {
		a, ok = c.locale.abbreviations[string(unicode.ToLower(first))+key[size:]]
		a.long = capital(a.long)
	}
	for _, condition := range a.conditions {
		ok = ok && c.holds(condition, after)
	}
	long, woman, _ := strings.Cut(a.long, "|")
	if woman != "" && strings.HasSuffix(firstWord(strings.TrimLeft(after, " \u00a0\u202f")), "a") {
		long = woman
	}
	if after != "" && isWord(firstOf(after)) {
		long += " "
	}
	if !strings.Contains(a.conditions, "t") || strings.TrimSpace(after) == "" {
		long += c.stop(".", after)
	}
	return long, ok
}

// holds reports whether a condition of an abbreviation holds before a text.
func (c *context) holds(condition rune, after string) bool {
	next := strings.TrimLeft(after[:min(len(after), 40)], " \u00a0\u202f,-–")
	switch condition {
	case '1', 'D':
		return isDigit(firstOf(next))
	case 'X':
		return isDigit(firstOf(next)) || roman(firstWord(next)) > 0
	case 'N':
		return unicode.IsUpper(firstOf(next))
	case 'Y':
		return len(firstWord(next)) == 4 && plausibleYear(firstWord(next))
	case 'R':
		name := strings.ToLower(firstWord(next))
		return c.locale.tables.sets["name"][name] || c.locale.tables.sets["queen"][name]
	case '#':
		return isDigit(firstOf(c.before()))
	case 'I':
		return len(c.before()) != 1 || !startsUpper(c.before())
	}
	return true
}

// germanStarters are the words with which a sentence begins more often than it goes on.
var germanStarters = words("Der", "Die", "Das", "Er", "Sie", "Es", "Wir", "Ich", "Ihr", "Dann", "Danach", "Am", "Im",
	"In", "Und", "Aber", "Doch", "Dort", "Hier", "Heute", "Morgen", "Gestern", "Seit", "Von", "Vor", "Mit", "Nach", "Bei",
	"Ein", "Eine", "Dieser", "Diese", "Dieses", "Man", "So", "Auch", "Wenn", "Als", "Was", "Wer", "Wie", "Wo", "Alle")

// stop returns the full stop that ends both what is written and the sentence.
func (c *context) stop(written, after string) string {
	tail := strings.TrimLeft(after[:min(len(after), 60)], " \u00a0\"“”»)*")
	if strings.HasSuffix(written, ".") &&
		(tail == "" || tail[0] == '\n' || after[0] != ',' && c.locale.starts(firstWord(tail))) {
		return "."
	}
	return ""
}

// starts reports whether a word after a full stop begins a sentence.
func (l *locale) starts(word string) bool {
	if l.starters == nil {
		return startsUpper(word)
	}
	return l.starters[word]
}
