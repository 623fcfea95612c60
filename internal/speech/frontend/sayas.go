package frontend

import (
	"strings"
	"unicode"

	"github.com/recital-tts/recital/internal/speech/ssml"
)

// SayAs returns the spoken form of a text of a given class. It returns false if the language has no rules for the
// class, or the text does not belong to it; the text is then spoken like any other.
func SayAs(text, language string, class ssml.Class, format string) (string, bool) {
	l := localeOf(language)
	written := strings.TrimSpace(text)
	if written == "" {
		return "", false
	}
	switch class {
	case ssml.Characters:
		return l.spelled(written), true
	case ssml.Digits:
		return l.eachDigit(written)
	}
	if l.speller == nil {
		return "", false
	}
	switch class {
	case ssml.Cardinal:
		return l.signed(written, language)
	case ssml.Ordinal:
		if spoken, ok := l.byRulesOf(Ordinal, written, language); ok {
			return spoken, true
		}
		n := number(strings.TrimRight(strings.ReplaceAll(written, ",", ""), "stndrh."))
		spoken := l.ordinal(n)
		return spoken, spoken != ""
	case ssml.Telephone:
		return l.telephone(written)
	case ssml.Date:
		if format != "" {
			return l.dateInOrder(written, format)
		}
	}
	kinds := map[ssml.Class]Kind{ssml.Date: Date, ssml.Time: Time, ssml.Currency: Money, ssml.Unit: Unit}
	return l.byRulesOf(kinds[class], written, language)
}

// spelled reads a text character by character.
func (l *locale) spelled(written string) string {
	var names []string
	for _, r := range written {
		switch {
		case isDigit(r) && l.speller != nil:
			names = append(names, l.spell(l.counting, int64(r-'0')))
		case l.names["mark"][string(r)] != "":
			names = append(names, l.names["mark"][string(r)])
		case unicode.IsMark(r) && len(names) > 0:
			names[len(names)-1] += string(r)
		case !unicode.IsSpace(r):
			names = append(names, string(unicode.ToUpper(r)))
		}
	}
	return strings.Join(names, " ")
}

// eachDigit reads a number digit by digit.
func (l *locale) eachDigit(written string) (string, bool) {
	if !strings.ContainsFunc(written, isDigit) {
		return "", false
	}
	if l.speller != nil {
		return strings.ReplaceAll(strings.TrimLeft(l.digits(written), ", "), " ,", ","), true
	}
	digits := strings.FieldsFunc(written, func(r rune) bool { return !isDigit(r) })
	return strings.Join(strings.Split(strings.Join(digits, ""), ""), " "), true
}

// signed reads a whole or decimal number, which may have a sign.
func (l *locale) signed(written, language string) (spoken string, ok bool) {
	digits, minus := strings.CutPrefix(strings.ReplaceAll(written, "−", "-"), "-")
	spoken, ok = l.byRulesOf(Number, digits, language)
	if ok && minus {
		spoken = l.names["sign"]["-"] + " " + spoken
	}
	return spoken, ok
}

func (l *locale) telephone(written string) (string, bool) {
	spoken, ok := l.eachDigit(written)
	if strings.HasPrefix(written, "+") {
		spoken = l.tables.words["plus"] + " " + spoken
	}
	return spoken, ok
}

// dateInOrder reads a date of numbers in an order such as "dmy".
func (l *locale) dateInOrder(written, order string) (string, bool) {
	parts := strings.FieldsFunc(written, func(r rune) bool { return !isDigit(r) })
	if len(parts) != len(order) || len(l.tables.months) == 0 {
		return "", false
	}
	of := make(map[rune]string, len(order))
	for i, unit := range order {
		of[unit] = parts[i]
	}
	if len(of) != len(order) || of['m'] == "" || of['d'] == "" {
		return "", false
	}
	return sayDated(&context{scanner: &scanner{locale: l}}, of['d'], of['m'], of['y'], "")
}

// byRulesOf reads a text by the rules of one kind, if one applies to all of it.
func (l *locale) byRulesOf(kind Kind, written, language string) (string, bool) {
	if written == "" {
		return "", false
	}
	s := scanner{text: written, locale: l, language: language, only: kind}
	m, ok := s.match()
	return m.spoken, ok && m.kind == kind && m.size == len(written)
}
