package bind

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// rules are the compiled rules of one field.
type rules struct {
	*Rules
	pattern *regexp.Regexp
	url     bool

	setKind  string // "literal_error" or "enum"; "" without a set of values
	expected string
	several  bool // values of the set, separated by commas
}

func (r *rules) text(s string) (string, *fault) {
	if r.several {
		for one := range strings.SplitSeq(s, ",") {
			if _, wrong := r.member(one); wrong != nil {
				return "", wrong
			}
		}
		return s, nil
	}
	if r.setKind != "" {
		return r.member(s)
	}
	if r.url {
		if r.MaxLen != nil && utf8.RuneCountInString(s) > *r.MaxLen {
			return "", urlTooLong(*r.MaxLen)
		}
		return httpURL(s)
	}
	if r.MinLen != nil && utf8.RuneCountInString(s) < *r.MinLen {
		return "", tooShort(*r.MinLen)
	}
	if r.MaxLen != nil && utf8.RuneCountInString(s) > *r.MaxLen {
		return "", tooLong(*r.MaxLen)
	}
	if r.pattern != nil && !r.pattern.MatchString(s) {
		return "", patternMismatch(r.pattern.String())
	}
	return s, nil
}

func (r *rules) member(s string) (string, *fault) {
	if slices.Contains(r.Values, any(s)) {
		return s, nil
	}
	for _, synonym := range r.Synonyms {
		if s == synonym.Word {
			return synonym.For, nil
		}
	}
	return "", r.outOfSet()
}

func (r *rules) outOfSet() *fault { return outOfSet(r.setKind, r.expected) }

func (r *rules) integer(n int64) *fault {
	if r.setKind != "" {
		if slices.Contains(r.Values, any(n)) {
			return nil
		}
		return r.outOfSet()
	}
	return r.bounds(float64(n))
}

func (r *rules) float(f float64) *fault {
	if wrong := r.bounds(f); wrong != nil {
		return wrong
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return notFinite()
	}
	return nil
}

// bounds checks in pydantic's order. Each check is written so that not-a-number fails it.
func (r *rules) bounds(n float64) *fault {
	switch {
	case r.LE != nil && !(n <= *r.LE):
		return bound("less_than_equal", "le", "less than or equal to", *r.LE)
	case r.LT != nil && !(n < *r.LT):
		return bound("less_than", "lt", "less than", *r.LT)
	case r.GE != nil && !(n >= *r.GE):
		return bound("greater_than_equal", "ge", "greater than or equal to", *r.GE)
	case r.GT != nil && !(n > *r.GT):
		return bound("greater_than", "gt", "greater than", *r.GT)
	}
	return nil
}

func bound(kind, key, words string, limit float64) *fault {
	text := strconv.FormatFloat(limit, 'f', -1, 64)
	return &fault{kind: kind, msg: "Input should be " + words + " " + text, ctx: map[string]any{key: limit}}
}

// integer converts in pydantic's lax mode: true is 1, 3.0 is 3, " 1_000 " is 1000, "2.0" is 2.
func integer(v Value) (int64, *fault) {
	switch v.Kind {
	case Bool:
		if v.Text == "true" {
			return 1, nil
		}
		return 0, nil
	case Int:
		return parseInt(v.Text)
	case Float:
		return wholeFloat(mustFloat(v.Text))
	case String:
		text, ok := plainInteger(v.Text)
		if !ok {
			return 0, intParsing()
		}
		return parseInt(text)
	}
	return 0, intType()
}

// maxDigits is the maximum length of an integer, as in pydantic.
const maxDigits = 4300

// parseInt returns the nearest int64. An integer has only the bounds of its field, as in pydantic.
func parseInt(text string) (int64, *fault) {
	n, err := strconv.ParseInt(text, 10, 64)
	if len(text) > maxDigits || err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, intParsingSize()
	}
	return n, nil
}

func wholeFloat(f float64) (int64, *fault) {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return 0, notFinite()
	case f != math.Trunc(f):
		return 0, intFromFloat()
	case f < -(1<<63) || f >= 1<<63:
		return 0, intParsingSize()
	}
	return int64(f), nil
}

// plainInteger strips the parts that pydantic accepts in an integer: white space, a plus sign, underscores between
// digits and a fraction of zeros.
func plainInteger(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if whole, zeros, dotted := strings.Cut(text, "."); dotted {
		if zeros == "" || strings.Trim(zeros, "0") != "" {
			return "", false
		}
		text = whole
	}
	sign, digits := "", text
	if rest, minus := strings.CutPrefix(text, "-"); minus {
		sign, digits = "-", rest
	} else if rest, plus := strings.CutPrefix(text, "+"); plus {
		digits = rest
	}
	digits, ok := withoutUnderscores(digits)
	if !ok || strings.Trim(digits, "0123456789") != "" {
		return "", false
	}
	return sign + digits, true
}

// withoutUnderscores removes single underscores between other characters; the result is never empty.
func withoutUnderscores(text string) (string, bool) {
	if text == "" || text[0] == '_' || text[len(text)-1] == '_' || strings.Contains(text, "__") {
		return "", false
	}
	return strings.ReplaceAll(text, "_", ""), true
}

// float converts in pydantic's lax mode. Not-a-number and infinities pass here; the bounds decide about them.
func float(v Value) (float64, *fault) {
	switch v.Kind {
	case Bool:
		if v.Text == "true" {
			return 1, nil
		}
		return 0, nil
	case Int, Float:
		return mustFloat(v.Text), nil
	case String:
		return parseFloat(v.Text)
	}
	return 0, floatType()
}

func parseFloat(text string) (float64, *fault) {
	text, ok := withoutUnderscores(strings.TrimSpace(text))
	if !ok || strings.ContainsAny(text, "xXpP") {
		return 0, floatParsing()
	}
	if strings.EqualFold(text, "-nan") || strings.EqualFold(text, "+nan") {
		return math.NaN(), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, floatParsing()
	}
	return f, nil
}

// boolean converts in pydantic's lax mode.
func boolean(v Value) (bool, *fault) {
	switch v.Kind {
	case Bool:
		return v.Text == "true", nil
	case String:
		return parseBool(v.Text)
	case Int:
		if v.Text == "-0" {
			return false, nil
		}
		return parseBool(v.Text)
	case Float:
		n, wrong := wholeFloat(mustFloat(v.Text))
		if wrong != nil {
			return false, boolType()
		}
		return parseBool(strconv.FormatInt(n, 10))
	}
	return false, boolType()
}

func mustFloat(text string) float64 {
	f, _ := strconv.ParseFloat(text, 64)
	return f
}

func parseBool(text string) (bool, *fault) {
	switch strings.ToLower(text) {
	case "true", "1", "yes", "on", "t", "y":
		return true, nil
	case "false", "0", "no", "off", "f", "n":
		return false, nil
	}
	return false, boolParsing()
}
