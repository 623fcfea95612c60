package frontend

import (
	"regexp"
	"slices"
	"strings"
)

const germanMonthPattern = `(Januar|Jänner|Februar|Feber|März|April|Mai|Juni|Juli|August|September|Oktober|November|` +
	`Dezember|(?:Jan|Feb|Mrz|Apr|Jun|Jul|Aug|Sept|Sep|Okt|Nov|Dez)\b\.?)`

var germanMonths = []string{
	"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember",
	"Jänner", "Feber",
}

// germanMonth returns the full name of a month that is written in full or by its first letters, or "".
func germanMonth(written string) string {
	written = strings.TrimSuffix(written, ".")
	for _, month := range germanMonths {
		if month == written || len(written) >= 3 && len(written) <= 4 && strings.HasPrefix(month, written) {
			return month
		}
	}
	if written == "Mrz" {
		return "März"
	}
	return ""
}

func germanDateRules() []rule {
	return []rule{
		on(Date, `(\d{4})-(\d{2})-(\d{2})(T\d{2}:\d{2})?(?::\d{2}(?:\.\d+)?)?(Z)?`, sayGermanISODate),
		on(Date, `(\d{1,2})/(\d{1,2})/(\d{4})`, sayGermanDate),
		on(Date, `(\d{4})/(\d{2})`, sayGermanSeason),
		on(Date, `(\d{1,2})\.\s?(\d{1,2})\.(?:\s?(\d{4})\b|(\d{2})\b)?`, sayGermanDate),
		on(Date, `(\d{1,2})\.(?:\s?[-–]\s?(\d{1,2})\.)?\s?`+germanMonthPattern+`(?:\s(\d{4})\b)?`,
			sayGermanDayMonth),
		on(Date, germanMonthPattern+`\s(\d{4})`, sayGermanMonthYear),
		on(Time, `(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\s?(?:Uhr|h))?`, sayGermanTime),
		on(Time, `(\d{1,2})(?:\.(\d{2}))?()\s?Uhr`, sayGermanTime),
		on(Range, `(\d+):(\d+)`, sayGermanRatio),
		on(Date, `(\d{2,4})er`, sayGermanDecade),
	}
}

// germanDate says a date; it fails if the numbers are none. The year may be missing.
func (c *context) germanDate(day, month, year string) (string, bool) {
	n := number(month)
	if n < 1 || n > 12 || !isDay(day) || isDigit(c.previous()) || germanParts[strings.ToLower(c.before())] {
		return "", false
	}
	spoken := c.locale.ordinal(number(day)) + c.dayEnding() + " " + germanMonths[n-1]
	if year != "" {
		spoken += " " + c.locale.yearOf(year)
	}
	return spoken, true
}

func sayGermanISODate(c *context) (string, bool) {
	spoken, ok := c.germanDate(c.groups[3], c.groups[2], c.groups[1])
	if clock := strings.TrimPrefix(c.groups[4], "T"); clock != "" {
		hour, minute, _ := strings.Cut(clock, ":")
		spoken += ", " + c.locale.germanClock(hour, minute)
	}
	if c.groups[5] != "" {
		spoken += " U T C"
	}
	return spoken, ok
}

func sayGermanDate(c *context) (string, bool) {
	year := c.groups[3]
	if len(c.groups) > 4 && year == "" {
		year = c.groups[4]
	}
	spoken, ok := c.germanDate(c.groups[1], c.groups[2], year)
	return spoken + c.stop(c.groups[0], c.after), ok
}

// sayGermanSeason says "2025/26" without the stroke.
func sayGermanSeason(c *context) (string, bool) {
	return c.locale.year(number(c.groups[1])) + " " + c.locale.integer(c.groups[2]), plausibleYear(c.groups[1])
}

func sayGermanDayMonth(c *context) (string, bool) {
	day, last, year := c.groups[1], c.groups[2], c.groups[4]
	if !isDay(day) || last != "" && !isDay(last) || isDigit(c.previous()) {
		return "", false
	}
	ending := c.dayEnding()
	spoken := c.locale.ordinal(number(day)) + ending
	if last != "" {
		spoken += " bis " + c.locale.ordinal(number(last)) + ending
	}
	spoken += " " + germanMonth(c.groups[3])
	if year != "" {
		spoken += " " + c.locale.year(number(year))
	}
	return spoken + c.stop(c.groups[0], c.after), true
}

func sayGermanMonthYear(c *context) (string, bool) {
	return germanMonth(c.groups[1]) + " " + c.locale.yearOf(c.groups[2]), plausibleYear(c.groups[2])
}

var germanWeekdays = words("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonnabend", "sonntag",
	"mo", "di", "mi", "do", "fr", "sa", "so")

// dayEnding returns the ending of the number of a day: "der dritte", "am dritten", "Berlin, dritter Oktober".
func (c *context) dayEnding() string {
	before := c.before()
	if germanWeekdays[strings.ToLower(before)] {
		return c.earlier(before).dayEnding()
	}
	if ending, ok := c.ordinalEnding('m', ""); ok {
		return ending
	}
	switch strings.ToLower(before) {
	case "ab", "seit", "bis", "von", "zwischen", "nach", "für":
		return "n"
	}
	return "r"
}

// earlier returns the context at the word before the position.
func (c *context) earlier(word string) *context {
	s := *c.scanner
	s.at = max(strings.LastIndex(s.text[:s.at], word), 0)
	return &context{scanner: &s}
}

// The determiners after which an ordinal number ends in -n whatever follows, and in -e.
var (
	weak = words("am", "im", "zum", "zur", "vom", "beim", "den", "dem", "des", "einem", "einen", "eines", "einer",
		"keinem", "keinen", "keiner", "jedem", "jeden", "diesem", "diesen", "meinem", "meinen", "meiner", "seinem",
		"seinen", "seiner", "ihrem", "ihren", "ihrer", "unserem", "unseren", "unserer", "deinem", "deinen", "deiner", "welchem")
	definite = words("der", "die", "das", "ins", "ans", "aufs", "fürs", "eine", "keine", "jede", "jeder", "jedes", "diese",
		"dieser", "dieses", "meine", "seine", "ihre", "unsere", "deine", "welche", "welcher", "welches")
	indefinite = words("ein", "kein", "mein", "dein", "sein", "ihr", "unser", "euer", "wurde", "wird", "als")
)

// ordinalEnding returns what follows "dritte" by the determiner before it and the noun after it: "dem dritten", "ein
// drittes Kind". It reports false if no determiner is there.
func (c *context) ordinalEnding(gender byte, noun string) (ending string, ok bool) {
	switch before := strings.ToLower(c.before()); {
	case weak[before], strings.HasSuffix(before, "er") && definite[before] && gender == 'f',
		before == "die" && gender != 'f' && strings.HasSuffix(noun, "en"):
		return "n", true
	case definite[before]:
		return "", true
	case indefinite[before]:
		return map[byte]string{0: "r", 'm': "r", 'n': "s"}[gender], true
	case before == "bis" || before == "und" || before == "oder":
		return c.previousEnding()
	}
	return "", false
}

// IsGermanOrdinal reports whether a number with a full stop between two words is a German ordinal number, in a text of
// any language: no sentence ends with it. Words that are English, too, need a month or the like after the number.
func IsGermanOrdinal(before, after string) bool {
	switch before = strings.ToLower(before); {
	case slices.Contains(germanMonths, after):
		return true
	case before == "am" || before == "im" || before == "die" || before == "den":
		return germanMonth(after) != "" || germans().german.isOrdered(after)
	default:
		return weak[before] || definite[before]
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
	return endings[gender][germanCase(c.before())]
}

var orderedFollows = regexp.MustCompile(`^\s?(?:bis|und|oder)(?:\szum)?\s\d{1,3}\.\s`)

// sayGermanOrdinal says a number with a full stop as an ordinal number where the words around it show one.
func sayGermanOrdinal(c *context) (string, bool) {
	next, before := c.next(), c.previous()
	if isWord(firstOf(c.after)) || isDigit(before) || before == '.' || before == ',' {
		return "", false
	}
	noun := next
	if startsLower(noun) {
		_, rest, _ := strings.Cut(c.after[:min(len(c.after), 80)], noun)
		noun = firstWord(strings.TrimPrefix(rest, " "))
	}
	gender := c.locale.german.genderOf(noun)
	ending, ok := c.ordinalEnding(gender, noun)
	switch {
	case !ok && startsUpper(next) && c.locale.german.isOrdered(next):
		ending, ok = c.strongEnding(gender), true
	case !ok && orderedFollows.MatchString(c.after[:min(len(c.after), 20)]):
		ending, ok = "r", true
	}
	return c.locale.ordinal(number(c.groups[1])) + ending + c.stop(c.groups[0], c.after), ok
}

func sayGermanTime(c *context) (string, bool) {
	hour, minute, second := c.groups[1], c.groups[2], c.groups[3]
	if number(hour) > 24 || number(minute) > 59 || isDigit(c.previous()) || strings.ContainsRune(":,.", c.previous()) ||
		proportions[strings.ToLower(c.before())] {
		return "", false
	}
	spoken := c.locale.germanClock(hour, minute)
	if second != "" {
		spoken += " und " + c.locale.integer(strings.TrimLeft(second[:1], "0")+second[1:]) + " Sekunden"
	}
	return spoken, true
}

// proportions are the words before two numbers with a colon that are no time.
var proportions = words("verhältnis", "maßstab", "gewann", "gewannen", "siegte", "siegten", "verlor", "verloren")

func (l *locale) germanClock(hour, minute string) string {
	spoken := l.spell("%spellout-cardinal-masculine", number(hour)) + " Uhr"
	if n := number(minute); n > 0 {
		spoken += " " + l.spell(l.counting, n)
	}
	return spoken
}

func sayGermanRatio(c *context) (string, bool) {
	if isDigit(c.previous()) || c.previous() == ':' || strings.HasPrefix(c.after, ":") {
		return "", false
	}
	return c.locale.integer(c.groups[1]) + " zu " + c.locale.integer(c.groups[2]), true
}

func sayGermanDecade(c *context) (string, bool) {
	if written := c.groups[1]; len(written) == 4 && plausibleYear(written) {
		return c.locale.year(number(written)) + "er", true
	}
	return c.locale.integer(c.groups[1]) + "er", !isDigit(c.previous())
}
