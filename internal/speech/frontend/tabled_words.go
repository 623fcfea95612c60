package frontend

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sayUnitAlone reads the unit after "per" or a stroke: "3 € pro kg", "3 €/kg".
func sayUnitAlone(c *context) (string, bool) {
	n := len(c.spans)
	word := c.locale.tables.words["per"]
	per := c.previous() == '/' && n > 0 && strings.TrimSpace(c.spans[n-1].Spoken) == word && c.plain == c.at
	return c.locale.units[c.groups[0]].one, per || c.before() == word || c.before() == "je" ||
		strings.HasSuffix(c.text[:c.at], "/100 ")
}

// placeholder matches a placeholder of a template.
var placeholder = regexp.MustCompile(`\$\d|\{\d(?: [^}]+)?\}`)

// sayTemplate returns a text in which "$1" is the first group as written, "{1}" its number, "{1 kg}" that number of a
// unit, "{1 digits}" its digits, and "{1 %set}" the number by a set of rules.
func sayTemplate(template string) func(*context) (string, bool) {
	return func(c *context) (string, bool) {
		spoken := placeholder.ReplaceAllStringFunc(template, func(part string) string {
			written := c.groups[part[1]-'0']
			switch _, unit, isUnit := strings.Cut(strings.TrimSuffix(part, "}"), " "); {
			case unit == "digits":
				return c.locale.digits(written)
			case strings.HasPrefix(unit, "%"):
				return c.locale.spell(unit, number(written))
			case isUnit:
				return c.quantity(unpadded(written), c.locale.units[unit])
			case part[0] == '{':
				return c.amount(written, 0)
			}
			return written
		})
		return spoken + c.stop(c.groups[0], c.after), true
	}
}

// sayDash reads a dash between two amounts as "to". The dashes of a number with several are silent.
func sayDash(c *context) (string, bool) {
	if c.locale.tables.declines() { // which say both amounts together
		return "", false
	}
	from, to, sets := c.before(), firstWord(c.after), c.locale.tables.sets
	if isSpan(from, to, sets["weekday"]) || isSpan(from, to, sets["month"]) {
		return " " + c.locale.tables.words["to"] + " ", true
	}
	previous, isAmount := c.previous(), slices.Contains([]Kind{Time, Date, Money}, c.kindBefore())
	endsSentence := previous == '.' && c.groups[0][0] == ' ' && c.kindBefore() != Time
	begins := isDigit(firstOf(strings.TrimLeft(c.after, "$£€'’"))) || c.kindBefore() == Date && startsUpper(to) &&
		c.locale.tables.monthOf[strings.ToLower(to)] > 0
	if !begins || endsSentence ||
		!isDigit(previous) && !strings.ContainsRune(".%€", previous) && !isAmount {
		return "", false
	}
	head := c.text[max(0, c.at-20):c.at]
	token := head[strings.LastIndexByte(head, ' ')+1:] + chunkOf(c.text[c.at:][:min(len(c.text)-c.at, 20)])
	isName := unicode.IsLetter(firstOf(strings.TrimLeft(token, `"'“([{`))) && !isAmount // "CC0-1"
	if strings.Count(token, "-") > 1 || isName || c.isScore() || isSerial(from, c.groups[0], to) {
		return " ", true
	}
	return " " + c.locale.tables.words["to"] + " ", true
}

// joins is a pattern of the words of several languages between the two ends of a span.
const joins = `(?:to|and|bis|und|au|à|et|al|a|y|e|t/m|en|do|i|по|и)`

// spanJoin matches a word with which spanBefore may end. That and spanAfter match the other end of a span.
var (
	spanJoin   = regexp.MustCompile(`^(?:.*[-–—&/]|` + joins + `)$`)
	spanBefore = regexp.MustCompile(`(\pL+)\.?(?:\s?[-–—&/]\s?|\s` + joins + `\s)$`)
	spanAfter  = regexp.MustCompile(`^\.?(?:\s?[-–—&/]\s?|\s` + joins + `\s)(\pL+)`)
)

// isInSpan reports whether the match begins or ends a span of days of the week or of months.
func (c *context) isInSpan(after string, names map[string]bool) bool {
	name, head := firstWord(c.groups[0]), c.text[max(0, c.at-24):c.at]
	to := spanAfter.FindStringSubmatch(after[:min(len(after), 24)])
	if to != nil && isSpan(name, to[1], names) {
		return true
	}
	if words := strings.Fields(head); len(words) == 0 || !spanJoin.MatchString(words[len(words)-1]) {
		return false
	}
	from := spanBefore.FindStringSubmatch(head)
	return from != nil && isSpan(from[1], name, names)
}

// isSerial reports whether a hyphen is within the number of a document or the like: "2024-0815", "00-949".
func isSerial(from, hyphen, to string) bool {
	isPadded := func(digits string) bool { return len(digits) > 1 && digits[0] == '0' }
	isShortened := len(to) == 2 && len(from) == 4 && to > from[2:] // "1914-18"
	falls := len(from) == 4 && plausibleYear(from) && number(to) < number(from) && !isShortened
	return hyphen == "-" && number(to) >= 0 && min(len(from), len(to)) > 1 && max(len(from), len(to)) > 2 &&
		(isPadded(from) || isPadded(to) || falls)
}

func isSpan(from, to string, names map[string]bool) bool {
	return names[strings.ToLower(from)] && names[strings.ToLower(to)] && (startsUpper(from) || !startsUpper(to))
}

// score matches the digits on both sides of a dash.
var score = regexp.MustCompile(`^(\d{1,2})[-–](\d{1,2})$`)

// isScore reports whether a dash is between the goals of two teams, where a language has no word for it: more before it
// than after it, or as many, or a word shows it.
func (c *context) isScore() bool {
	if c.locale.tables.words["scores"] == "" {
		return false
	}
	head, tail := c.text[max(0, c.at-40):c.at], c.after[:min(len(c.after), 40)]
	first, last := head[len(strings.TrimRight(head, "0123456789")):], firstWord(tail)
	goals := score.FindStringSubmatch(first + c.groups[0] + last)
	around := strings.FieldsFunc(head+" "+tail, func(r rune) bool { return !unicode.IsLetter(r) })
	isScoreWord := func(word string) bool { return c.locale.tables.sets["score"][strings.ToLower(word)] }
	return goals != nil && (number(goals[1]) >= number(goals[2]) || slices.ContainsFunc(around, isScoreWord))
}

// sayPer reads the stroke between an amount and its unit, which is no path.
func sayPer(c *context) (string, bool) {
	words, next := c.locale.tables.words, c.next()
	isName := len(next) == 1 && startsUpper(next) || strings.ContainsFunc(next, isDigit) // "12/A"
	isPer := slices.Contains([]Kind{Money, Unit, Number, Range}, c.kindBefore()) && !isName &&
		unicode.IsLetter(firstOf(c.after))
	long := words["per "+next]
	if isPer && long != "" {
		c.size += len(next)
		if rest, short := strings.CutPrefix(c.after[len(next):], "."); short {
			c.size++
			long += c.stop(".", rest)
		}
	}
	return " " + words["per"] + " " + long, isPer
}

func capital(word string) string {
	r, size := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(r)) + word[size:]
}

// sayLongForm reads the longest abbreviation at the position: "z. B." may be followed by "u. a.".
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
			if next, starters := c.next(), c.locale.tables.sets["starter"]; next == "" || starters == nil || starters[next] {
				letters += c.stop(c.groups[1], c.after)
			}
			return letters + c.gapAfter(c.size), letters != ""
		}
		written = written[:i+1]
	}
}

// longForm returns the long form of an abbreviation before a text, if its conditions hold.
func (c *context) longForm(key, after string) (string, bool) {
	a, ok := c.shortFor(key, after)
	if first, size := utf8.DecodeRuneInString(key); !ok && unicode.IsUpper(first) && size < len(key) {
		a, ok = c.shortFor(string(unicode.ToLower(first))+key[size:], after)
		a.long = capital(a.long)
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

// shortFor returns the first of the abbreviations with the same spelling that meets its conditions before a text.
func (c *context) shortFor(key, after string) (abbreviation, bool) {
	isBare := !strings.HasSuffix(c.groups[0], ".")
	for _, a := range c.locale.abbreviations[key] {
		if isBare && !strings.Contains(a.conditions, "=") {
			continue
		}
		if !strings.ContainsFunc(a.conditions, func(condition rune) bool { return !c.holds(condition, after) }) {
			if strings.Contains(a.conditions, "c") {
				a.long = c.declined(a.long)
			}
			return a, true
		}
	}
	return abbreviation{}, false
}

// holds reports whether a condition of an abbreviation holds before a text.
func (c *context) holds(condition rune, after string) bool {
	next := strings.TrimLeft(after[:min(len(after), 40)], " \u00a0\u202f,-–")
	switch condition {
	case '1':
		return isDigit(firstOf(next))
	case 'S':
		return streetFollows.MatchString(after) || c.isAfter("at street")
	case 'D':
		if word := firstWord(next); c.locale.tables.sets["weak"][word] { // "Mo., den 3. Oktober"
			next = strings.TrimLeft(next[len(word):], " ")
		}
		word, sets := strings.ToLower(firstWord(next)), c.locale.tables.sets
		return isDigit(firstOf(next)) || sets["weekday"][word] || sets["month"][word]
	case 'w':
		return c.isInSpan(after, c.locale.tables.sets["weekday"])
	case 'm':
		return c.isInSpan(after, c.locale.tables.sets["month"])
	case 'X':
		return isDigit(firstOf(next)) || roman(firstWord(next)) > 0
	case 'N':
		t, word := c.locale.tables, firstWord(next)
		for ; word != "" && (word == t.words["and"] || t.sets["particle"][word]); word = firstWord(next) {
			next = strings.TrimLeft(next[len(word):], " '’") // "M. et Mme", "av. de l'Opéra"
		}
		return startsUpper(next)
	case 'Y':
		return len(firstWord(next)) == 4 && plausibleYear(firstWord(next))
	case 'R':
		name := strings.ToLower(firstWord(next))
		return c.locale.tables.sets["name"][name] || c.locale.tables.sets["queen"][name]
	case 'l':
		return startsLower(next)
	case '#':
		return isDigit(firstOf(c.before()))
	case 'U':
		return startsUpper(c.before()) || isDigit(firstOf(c.before()))
	case 'W':
		return len(c.before()) > 1 && strings.HasSuffix(c.text[:c.at], c.before()+" ")
	case 'A':
		word := firstWord(strings.TrimLeft(after[:min(len(after), 40)], " \u00a0"))
		return !startsUpper(word) || c.locale.tables.sets["starter"][word]
	case '.':
		return strings.HasSuffix(c.groups[0], ".")
	case 'I':
		return len(c.before()) != 1 || !startsUpper(c.before())
	}
	return true
}

// streetFollows matches the name of a street that no person has: with a particle, or before the number of a house.
var streetFollows = regexp.MustCompile(`^\s(?:d[aeo]s?\s\p{Lu}|\p{Lu}[\pL. ]{1,40},\s(?:n\.?[ºo°]\s?)?\d)`)

// stop returns the full stop if it ends both the abbreviation and the sentence.
func (c *context) stop(written, after string) string {
	tail := strings.TrimLeft(after[:min(len(after), 60)], " \u00a0\"“”»)*")
	isNumeral := len(firstWord(tail)) > 1 && roman(firstWord(tail)) > 0 // "sec. XX"
	if strings.HasSuffix(written, ".") && !isNumeral &&
		(tail == "" || tail[0] == '\n' || after[0] != ',' && c.locale.starts(firstWord(tail))) {
		return "."
	}
	return ""
}

// starts reports whether a word after a full stop begins a sentence.
func (l *locale) starts(word string) bool {
	if starters := l.tables.sets["starter"]; starters != nil && !l.tables.isEnglish() {
		return starters[word]
	}
	return startsUpper(word) && !l.tables.sets["after time"][word]
}
