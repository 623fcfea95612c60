package frontend

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

func newPolish() *locale { return newSlavic("pl", false) }

func newRussian() *locale { return newSlavic("ru", true) }

func newSlavic(name string, isRussian bool) *locale {
	l := newTables(name, name, name)
	g := parseSlavic(file("tables/"+name+".tsv"), isRussian)
	for symbol, unit := range g.units {
		one := measure{one: unit.say(0, unit.noun.forms["sa"])}
		l.units[symbol], l.units[symbol+"."] = one, one
	}
	l.slavic = g
	l.isOrdinal = func(after string) bool { return g.isNumbered(firstWord(after)) }
	l.clocked = func(c *context, hour, minute string) string { return c.slavicClock(hour, minute, 'n') }
	l.rules = slices.Concat(markdownRules(), []rule{
		on(Symbol, "/", sayPer),
	}, addressRules(), notationRules(l.tables.numeral()), l.slavicDateRules(), l.slavicAmountRules(), l.tables.own,
		l.slavicWordRules())
	return l
}

func (l *locale) slavicDateRules() []rule {
	g := l.slavic
	joiners := alternatives(strings.Fields(l.tables.words["joiners"]))
	month := `(` + g.monthPattern() + `)`
	years := alternatives(g.formsOf("y"))
	yearWord := `(?:\s?((?:` + alternatives(g.column("year")) + `)\.|` + years + `))?`
	hours := `(\d{1,2})(?:[:.](\d{2}))?`
	return []rule{
		on(Phone, `\+?\(?\d{1,5}\)?(?:[ -]{1,2}\(?\d{2,9}\)?){1,5}`, saySlavicPhone),
		on(Date, `(\d{4})-(\d{2})-(\d{2})(T\d{2}:\d{2})?(?::\d{2}(?:\.\d+)?)?(Z)?`, sayISODate),
		on(Date, `(\d{1,2})\.(\d{1,2})\.(\d{4})`+yearWord, saySlavicDottedDate),
		on(Date, `(\d{1,2})\s([IVX]{1,4})\s(\d{4})()`, saySlavicDottedDate),
		on(Date, `(\d{4})/(\d{4}|\d{2})`, saySeason),
		on(Date, `(\d{1,2})(?:\s?[-–]\s?(\d{1,2}))?\s`+month+`(?:\s(\d{4})`+yearWord+`)?`, saySlavicDayMonth),
		on(Date, `(\d{1,2})()\s(?:`+joiners+`)\s\d{1,2}\s`+month, saySlavicFirst),
		on(Date, `(\d{4})()\s(?:`+joiners+`)\s\d{4}\s(?:`+years+`)`, saySlavicFirst),
		on(Date, `((?i:`+alternatives(g.monthForms())+`))\s(\d{4})`+yearWord,
			saySlavicMonthYear),
		on(Date, `(\d{1,4})(?:\s?[-–—]\s?(\d{4}))?\s?(`+alternatives(g.column("year", "years"))+`)\.`,
			saySlavicYear),
		on(Range, `(\d{4})\s?[-–—]\s?(\d{4})(?:\s(`+years+`))?`, saySlavicYears),
		on(Version, `\d{1,3}(?:\.\d+){2,3}`, sayVersion),
		on(Version, `[vV](\d+(?:\.\d+){1,3})`, sayVersion),
		on(Time, `(\d{1,2}):(\d{2})(?::(\d{2}))?`, saySlavicTime),
		on(Time, `(\d{1,2})\.(\d{2})()`, saySlavicDottedTime),
		on(Time, `[gG]odz\.\s?`+hours+`(?:\s?[-–—]\s?`+hours+`)?`, sayPolishHour),
		on(Range, `(\d+):(\d+)`, saySlavicRatio),
	}
}

// formsOf returns the forms of the nouns with a flag.
func (g *slavic) formsOf(flag string) (forms []string) {
	for form, readings := range g.forms {
		if slices.ContainsFunc(readings, func(r reading) bool { return strings.Contains(r.noun.flags, flag) }) {
			forms = append(forms, form)
		}
	}
	return forms
}

func (g *slavic) monthPattern() string {
	var all []string
	for short := range g.monthNumber {
		all = append(all, short+".")
	}
	return `(?i:` + dotted(all) + `)`
}

func (g *slavic) monthForms() (all []string) {
	for _, month := range g.months {
		for _, kase := range caseOrder {
			all = append(all, month.forms["s"+string(kase)])
		}
	}
	return slices.Compact(all)
}

// allowed returns the cases after the word before the position, the likeliest first, or "".
func (c *context) allowed() string {
	before := c.before()
	if sign := c.previous(); before == "" && strings.ContainsRune("+-−", sign) {
		s := *c.scanner
		s.at -= utf8.RuneLen(sign)
		return (&context{scanner: &s}).allowed()
	}
	if utf8.RuneCountInString(before) == 1 && strings.HasSuffix(strings.TrimRight(c.text[:c.at], " "), ".") {
		return "" // an abbreviation
	}
	if before != "" && strings.Contains("aiи", strings.ToLower(before)) {
		if between := amountBetween.FindStringSubmatch(c.text[max(0, c.at-60):c.at]); between != nil {
			before = between[1]
		}
	}
	return c.locale.slavic.governs[strings.ToLower(before)]
}

// amountBetween matches the first of two amounts and the conjunction after it.
var amountBetween = regexp.MustCompile(`(?i)(?:^|\PL)(między|pomiędzy|между)\s[\d.,]+\s(?:a|i|и)\s$`)

// kase returns the case after the word before the position, or another if there is none.
func (c *context) kase(otherwise byte) byte {
	if allowed := c.allowed(); allowed != "" {
		return allowed[0]
	}
	return otherwise
}

// likeAdjective reports whether a word in lower case is no noun by its ending.
func (c *context) likeAdjective(word string) bool {
	for i := range word {
		if i > 0 && c.locale.tables.sets["adjective"][word[i:]] {
			return c.locale.slavic.forms[word] == nil
		}
	}
	return false
}

// nounAfter returns the readings of the noun after the position.
func (c *context) nounAfter() []reading {
	g, word := c.locale.slavic, c.next()
	lower := strings.ToLower(word)
	if word == "" || g.governs[lower] != "" || c.locale.tables.sets["little"][lower] ||
		slices.Contains(c.locale.tables.bare, lower) {
		return nil
	}
	if c.likeAdjective(lower) {
		_, rest, _ := strings.Cut(c.after[:min(len(c.after), 120)], word)
		if second := firstWord(strings.TrimPrefix(rest, " ")); g.readings(second) != nil && g.governs[second] == "" {
			return g.readings(second)
		}
	}
	return g.readings(word)
}

// agree returns the gender and the case of a number before a noun.
func (c *context) agree(n int64, readings []reading) (gender, kase byte, ok bool) {
	g, category := c.locale.slavic, c.locale.slavic.category(n)
	allowed := c.allowed()
	if category == "few" && strings.IndexByte(allowed, 'g') < 0 { // else nouns in the genitive are guessed of verbs
		readings = slices.DeleteFunc(slices.Clone(readings), func(r reading) bool {
			return r.noun == nil && r.plural && r.kase == 'g' && r.gender != 'p'
		})
	}
	for _, wanted := range []byte(allowed + caseOrder) {
		for _, r := range readings {
			if strings.IndexByte(g.countCases(category, r), wanted) >= 0 {
				return r.gender, wanted, true
			}
		}
	}
	return 'm', c.kase('n'), false
}

// orderedBy returns how an ordinal number agrees with a noun near it, which it does if the noun is often numbered and
// is no count of the number.
func (c *context) orderedBy(n int64, readings []reading, allowed string) (reading, bool) {
	for _, list := range [][]reading{singular(readings), readings} {
		for _, wanted := range []byte(allowed + caseOrder) {
			for _, r := range list {
				if r.noun != nil && r.kase == wanted && r.noun.takesOrdinals(n) {
					return r, true
				}
			}
		}
	}
	return reading{}, false
}

func (n *noun) takesOrdinals(number int64) bool {
	return strings.Contains(n.flags, "!") || n.flags == "y" && number >= 1000 && number < 3000
}

// saySlavicNumber says a number that agrees with the noun after it, or a year.
func saySlavicNumber(c *context) (string, bool) {
	written := c.groups[0]
	if strings.HasPrefix(c.after, "@") || isDigit(nextRune(c.after)) && c.after[0] == '.' {
		return "", false
	}
	n, whole := wholeNumber(written)
	if kase := c.kase('n'); !whole && kase == 'p' && c.next() != "" {
		return c.slavicAmount(written, 'm', 'n'), true
	} else if !whole {
		return c.slavicAmount(written, 'm', kase), true
	}
	readings := c.nounAfter()
	if c.isLabel() {
		readings = nil
	}
	gender, kase, ok := c.agree(n, readings)
	r, isOrdered := c.orderedBy(n, singular(readings), c.allowed())
	switch {
	case c.locale.tables.sets["daytime"][c.next()] && n <= 24, c.isHour(n):
		return c.slavicClock(written, "", c.clockCase('n')), true
	case n >= 1000 && n < 2100 && c.locale.slavic.russian && slices.ContainsFunc(readings, isOfYears):
		return c.locale.ordered(n, reading{gender: 'm', kase: readings[0].kase}), true
	case isOrdered && (!ok || n > 1 && c.locale.slavic.category(n) == "one" || r.noun.flags == "y"):
		return c.locale.ordered(n, r), true
	case readings == nil && c.isBareYear(written):
		return c.locale.ordered(n, reading{gender: 'm', kase: c.kase('n')}), true
	case readings == nil && n >= 1000:
		if r, ok := c.orderedBy(n, c.nounBefore("y"), ""); ok {
			return c.locale.ordered(n, r), true
		}
	}
	if of := c.locale.slavic.collective(n, kase, c.next()); of != "" {
		return of, true
	}
	return c.locale.counted(n, gender, kase), true
}

// isHour reports whether a number is an hour by the word before it: "o 9".
func (c *context) isHour(n int64) bool {
	return n <= 24 && c.next() == "" && c.isAfter("at")
}

// collective returns the word for two or more of a noun that takes collective numbers, such as children.
func (g *slavic) collective(n int64, kase byte, noun string) string {
	for _, row := range g.rows["collective"] {
		if of := strings.Fields(row[1]); noun == row[0] && kase != 'd' && kase != 'i' && n >= 2 && n < int64(len(of)+2) {
			return of[n-2]
		}
	}
	return ""
}

// isLabel reports whether a number names the noun before it.
func (c *context) isLabel() bool {
	return c.locale.tables.sets["label"][strings.ToLower(c.label())] ||
		strings.HasSuffix(strings.TrimRight(c.text[:c.at], " "), "№")
}

// isBareYear reports whether a number is a year by the preposition before it.
func (c *context) isBareYear(written string) bool {
	return len(written) == 4 && plausibleYear(written) && c.isAfter("bare")
}

// nounBefore returns the readings of the noun before the position, if it has one of the flags.
func (c *context) nounBefore(flags string) []reading {
	return slices.DeleteFunc(slices.Clone(c.locale.slavic.forms[strings.ToLower(c.before())]), func(r reading) bool {
		return !strings.ContainsAny(r.noun.flags, flags)
	})
}

// isOfYears reports whether a noun is "годах" or the like, which follow years and no counts of them.
func isOfYears(r reading) bool {
	return r.noun != nil && r.noun.flags == "y" && r.plural && r.kase != 'g'
}

func singular(readings []reading) []reading {
	return slices.DeleteFunc(slices.Clone(readings), func(r reading) bool {
		return r.plural && (r.noun == nil || r.noun.gender != 'x')
	})
}

// wholeNumber returns a number that has neither decimals nor zeros before it.
func wholeNumber(written string) (int64, bool) {
	digits := strings.Map(func(r rune) rune {
		if isDigit(r) || r == ',' {
			return r
		}
		return -1
	}, written)
	n := number(digits)
	return n, n >= 0 && n < maxSpelled && (len(digits) == 1 || digits[0] != '0')
}

// slavicAmount says a number, which may have decimals or zeros before it.
func (c *context) slavicAmount(written string, gender, kase byte) string {
	if n, ok := wholeNumber(written); ok {
		return c.locale.counted(n, gender, kase)
	}
	l, g := c.locale, c.locale.slavic
	whole, decimals, _ := strings.Cut(written, ",")
	n, ok := wholeNumber(whole)
	places := g.decimals["1"+strings.Repeat("0", len(decimals))]
	switch {
	case !ok && decimals == "":
		return l.digits(whole)
	case ok && places != "":
		if kase == 'a' {
			kase = 'n'
		}
		return l.counted(n, 'f', kase) + " " + decimalForm(g.decimals["1"], n, kase) + " " +
			l.counted(number(decimals), 'f', kase) + " " + decimalForm(places, number(decimals), kase)
	case len(decimals) <= 2 && decimals[0] != '0':
		decimals = l.integer(decimals)
	default:
		decimals = l.digits(decimals)
	}
	return l.integer(strings.Map(onlyDigit, whole)) + " " + l.tables.words["comma"] + " " + decimals
}

func onlyDigit(r rune) rune {
	if isDigit(r) {
		return r
	}
	return -1
}

// decimalForm returns the form of "tenth" after a number: for one and many, nominative and genitive.
func decimalForm(forms string, n int64, kase byte) string {
	i := 1
	if slavicPlural(n) == "one" {
		i = 0
	}
	if kase != 'n' {
		i += 2
	}
	return strings.Fields(forms)[i]
}

// say returns the name of a unit, with the form of its noun, for one, few, many or a part.
func (u slavicUnit) say(count int, noun string) string {
	var out []string
	for part := range strings.FieldsSeq(u.template) {
		forms := strings.Split(part, "/")
		out = append(out, forms[min(count, len(forms)-1)])
	}
	return strings.ReplaceAll(strings.Join(out, " "), "_", noun)
}

// unitName returns the name of a unit after a number.
func (c *context) unitName(u slavicUnit, written string, kase byte) string {
	g := c.locale.slavic
	n, ok := wholeNumber(written)
	if !ok {
		return u.say(3, u.noun.forms["sg"])
	}
	count := slices.Index([]string{"one", "few", "other"}, g.category(n))
	if count == 1 && kase != 'n' && kase != 'a' {
		count = 2
	}
	return u.say(count, g.form(u.noun, n, kase))
}

// measured says an amount with its unit: "5 млн ₽", "2 кг".
func (c *context) measured(written, scale string, u slavicUnit, kase byte) string {
	if n := c.locale.slavic.scales[strings.TrimSuffix(scale, ".")]; n != nil {
		spoken := c.measured(written, "", slavicUnit{noun: n, template: "_"}, kase)
		if u.noun != nil {
			spoken += " " + u.say(2, u.noun.forms["xg"])
		}
		return spoken
	}
	return c.slavicAmount(written, u.noun.gender, kase) + " " + c.unitName(u, written, kase)
}

// slavicSum says money with its hundredths.
func (c *context) slavicSum(written, scale string, u slavicUnit, kase byte) string {
	whole, cents, _ := strings.Cut(written, ",")
	if scale != "" || len(cents) != 2 || u.sub == nil {
		return c.measured(written, scale, u, kase)
	}
	small := c.measured(strconv.FormatInt(number(cents), 10), "", slavicUnit{noun: u.sub, template: "_"}, kase)
	switch {
	case cents == "00":
		return c.measured(whole, "", u, kase)
	case whole == "0":
		return small
	default:
		return c.measured(whole, "", u, kase) + " " + small
	}
}

func (l *locale) slavicAmountRules() []rule {
	g, numeral := l.slavic, l.tables.numeral()
	scale := `(?:\s?(` + dotted(g.column("power")) + `))`
	first := slices.DeleteFunc(g.column("coin"), startsLower)
	units, coins := dotted(g.column("measure")), dotted(g.column("coin"))
	return []rule{
		on(Money, `(`+alternatives(first)+`)\s?(`+numeral+`)`+scale+`?`, saySlavicMoney),
		unlessAfter(oneOf("/"), on(Fraction, `(?:(\d{1,3})\s)?(\d{1,3})/(\d{1,3})`, saySlavicFraction)),
		on(Fraction, `(?:(\d{1,4})\s?)?([½⅓⅔¼¾⅛⅜⅝⅞])()`, saySlavicFraction),
		unlessAfter(oneOf("-–−"), on(Number, difference, sayDifference)),
		on(Range, `(`+numeral+`)\s?[-–—]\s?(`+numeral+`)\s?(`+coins+`|`+units+`)`, saySlavicRange),
		on(Range, `(`+numeral+`)[-–—]\s?(`+numeral+`)()`, saySlavicRange),
		on(Money, `(`+numeral+`)`+scale+`?[ \x{a0}\x{202f}]?(`+coins+`)`, saySlavicUnit),
		on(Unit, `(`+numeral+`)`+scale+`?[ \x{a0}\x{202f}]?(`+units+`)`, saySlavicUnit),
		on(Unit, `(`+numeral+`)`+scale+`()`, saySlavicUnit),
		on(Unit, units, sayUnitAlone),
		on(Number, `(`+numeral+`)\s?[xх×]\s?`, saySlavicTimes),
		on(Ordinal, `(\d{1,4})-(\pL{1,4})(?:\s(?:гг)\.)?`, saySlavicSuffix),
		on(Number, `(\d{1,3})-(\pL{3,})`, saySlavicCompound),
		on(Ordinal, `(\d{1,3})\.`, sayPolishOrdinal),
		on(Number, numeral, saySlavicNumber),
	}
}

func saySlavicMoney(c *context) (string, bool) {
	unit := c.locale.slavic.unitOf(c.groups[1])
	return c.slavicSum(c.groups[2], c.groups[3], unit, c.kase('n')) + c.stop(c.groups[0], c.after), true
}

func (g *slavic) unitOf(symbol string) slavicUnit {
	return g.units[strings.ReplaceAll(strings.TrimSuffix(symbol, "."), " ", "")]
}

// notUnit matches the text after an abbreviation that is not a unit: "5 т.е.", "ul. Długa 12 m. 5".
var notUnit = regexp.MustCompile(`^\.(?:\pL| \d)`)

func saySlavicUnit(c *context) (string, bool) {
	unit := c.locale.slavic.unitOf(c.groups[3])
	if isDigit(firstOf(c.after)) || unit.noun == nil && c.groups[2] == "" ||
		notUnit.MatchString(c.after) {
		return "", false
	}
	c.dropStop(c.groups[3])
	return c.slavicSum(c.groups[1], c.groups[2], unit, c.kase('n')) + c.stop(c.groups[0], c.after), true
}

// saySlavicRange says two numbers in the gender and case of the second one.
func saySlavicRange(c *context) (string, bool) {
	from, to := c.groups[1], c.groups[2]
	if strings.ContainsRune("-–.:", c.previous()) ||
		strings.HasPrefix(c.after, "-") && isDigit(nextRune(c.after)) {
		return "", false
	}
	if from[0] == '0' && len(from) > 1 && from[1] != ',' {
		return c.locale.digits(c.groups[0]), c.groups[3] == ""
	}
	g, unit := c.locale.slavic, c.locale.slavic.unitOf(c.groups[3])
	n, ok := wholeNumber(to)
	gender, kase, _ := c.agree(n, c.nounAfter())
	name := ""
	if unit.noun != nil {
		gender, kase = unit.noun.gender, c.kase('n')
	}
	between, second := c.locale.tables.words["to"], kase
	if between != "-" {
		between, second = "-", kase
		if direct := kase == 'n' || kase == 'a'; direct && ok && (g.category(n) == "other" || unit.noun != nil) {
			between, second = c.locale.tables.words["to"], 'g'
		}
	}
	if unit.noun != nil {
		name = " " + c.unitName(unit, to, second) + c.stop(c.groups[0], c.after)
	}
	return c.slavicAmount(from, gender, kase) + between + c.slavicAmount(to, gender, second) + name, true
}

// saySlavicTimes says "3 x 4".
func saySlavicTimes(c *context) (string, bool) {
	word := " " + c.locale.tables.words["times"] + " "
	return c.slavicAmount(c.groups[1], 'm', 'n') + word, isDigit(firstOf(c.after))
}

// saySlavicFraction says fractions by their names, and mixed numbers.
func saySlavicFraction(c *context) (string, bool) {
	whole, over, under, ok := c.fraction()
	top, bottom := number(over), number(under)
	if top == 0 || bottom < 2 || bottom > 100 || top >= bottom {
		return c.locale.integer(over) + " " + c.locale.integer(under), ok && whole == ""
	}
	return c.mixedSlavic(whole, top, bottom), ok
}

func (c *context) mixedSlavic(whole string, top, bottom int64) string {
	l, g := c.locale, c.locale.slavic
	kase := c.kase('n')
	switch {
	case whole != "" && top == 1 && bottom == 2:
		return c.slavicAmount(whole, 'm', kase) + " " + l.tables.words["half"]
	case whole != "":
		whole = c.slavicAmount(whole, 'f', kase) + " " + l.tables.words["and"] + " "
	}
	if part := g.nouns[l.tables.parts[strconv.FormatInt(bottom, 10)][0]]; part != nil {
		return whole + l.counted(top, part.gender, kase) + " " + g.form(part, top, kase)
	}
	r := reading{gender: 'f', plural: g.category(top) != "one", kase: kase}
	if r.plural && (kase == 'n' || kase == 'a') && (g.russian || g.category(top) == "other") {
		r.kase = 'g'
	}
	return whole + l.counted(top, 'f', kase) + " " + l.ordered(bottom, r)
}

// saySlavicSuffix says "5-го" as an ordinal number, and "5-ти" as a cardinal one.
func saySlavicSuffix(c *context) (string, bool) {
	g, n, suffix := c.locale.slavic, number(c.groups[1]), c.groups[2]
	round := n%10 == 0 && n >= 20
	kase, isCount := g.counts[suffix]
	options, isOrdinal := g.suffixes[suffix]
	switch {
	case isCount && !(isOrdinal && round):
		return c.locale.counted(n, 'm', kase[0]), true
	case !isOrdinal:
		return "", false
	}
	if plural := slices.DeleteFunc(slices.Clone(options), reading.isSingular); round && len(plural) > 0 {
		options = plural
	}
	r := c.chosen(options, c.nounAfter())
	spoken := c.locale.ordered(n, r)
	if years := g.nouns["год"]; years != nil && strings.HasSuffix(c.groups[0], ".") {
		spoken += " " + years.forms["x"+string(r.kase)] + c.stop(".", c.after)
	}
	return spoken, true
}

func (r reading) isSingular() bool { return !r.plural }

// chosen returns the first reading of an ordinal number that agrees with a noun and the preposition before it, or with
// one of these.
func (c *context) chosen(options, nouns []reading) reading {
	for _, wanted := range []byte(c.allowed() + caseOrder) {
		for _, o := range options {
			if o.kase == wanted && slices.ContainsFunc(nouns, o.agreesWith) {
				return o
			}
		}
	}
	for _, wanted := range []byte(c.allowed()) {
		if i := slices.IndexFunc(options, func(o reading) bool { return o.kase == wanted }); i >= 0 {
			return options[i]
		}
	}
	return options[0]
}

func (r reading) agreesWith(noun reading) bool {
	return r.kase == noun.kase && r.plural == noun.plural && (r.plural || r.gender == noun.gender)
}

// isCompound reports whether a word begins like one that a number is part of.
func (t *tables) isCompound(word string) bool {
	for i := range word + " " {
		if t.sets["compound"][word[:i]] {
			return true
		}
	}
	return false
}

// saySlavicCompound says "5-летний" as one word.
func saySlavicCompound(c *context) (string, bool) {
	g, n := c.locale.slavic, number(c.groups[1])
	if n == 0 || !c.locale.tables.isCompound(c.groups[2]) {
		return "", false
	}
	if g.russian {
		return c.locale.spell("%%thousandsprefixconjoined", n) + c.groups[2], true
	}
	if n == 1 {
		return "jedno" + c.groups[2], true
	}
	spoken := c.locale.spell("%%ordinal-thousands-isolated", n)
	if n > 20 && n < 100 && n%10 != 0 {
		spoken = c.locale.spell("%%ordinal-thousands-isolated", n-n%10)
		spoken += strings.Replace(c.locale.spell("%%ordinal-thousands-isolated", n%10), " ", "", 1)
	}
	return strings.TrimSpace(spoken) + c.groups[2], spoken != ""
}

// sayPolishOrdinal says "3." as an ordinal number where a noun after or before it asks for one.
func sayPolishOrdinal(c *context) (string, bool) {
	n := number(c.groups[1])
	if c.locale.slavic.russian || isDigit(c.previous()) || isWord(firstOf(c.after)) {
		return "", false
	}
	if startsLower(c.next()) {
		if r, ok := c.orderedBy(n, c.nounAfter(), c.allowed()); ok {
			return c.locale.ordered(n, r), true
		}
	}
	earlier, flags := c.earlier(c.before()), "!"
	if n%10 == 0 && n <= 90 {
		flags = "!y" // a decade
	}
	for _, wanted := range []byte(earlier.allowed() + caseOrder) {
		for _, r := range c.nounBefore(flags) {
			if r.kase == wanted && (r.plural || r.noun.flags != "y") {
				return c.locale.ordered(n, r) + c.ordinalStop(), true
			}
		}
	}
	return "", false
}

// ordinalStop returns the full stop of an ordinal number that ends the sentence, too.
func (c *context) ordinalStop() string {
	if next := c.next(); startsLower(next) || roman(next) > 0 || strings.HasPrefix(c.after, ",") {
		return ""
	}
	return "."
}

// isNumbered reports whether a word is a noun that ordinal numbers stand before.
func (g *slavic) isNumbered(word string) bool {
	return slices.ContainsFunc(g.forms[word], func(r reading) bool { return strings.Contains(r.noun.flags, "!") })
}
