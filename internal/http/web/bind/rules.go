package bind

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// rules are the bounds of one field. An absent bound is nil.
type rules struct {
	gt, ge, lt, le *float64
	minLen, maxLen *int // code points
	maxItems       *int
	pattern        *regexp.Regexp
	url            bool

	setKind  string // "literal_error" or "enum"; "" without a set of values
	words    []string
	numbers  []int64
	expected string
	synonyms []Synonym // accepted beside the set
	several  bool      // of the set, with commas
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
		if r.maxLen != nil && utf8.RuneCountInString(s) > *r.maxLen {
			return "", urlTooLong(*r.maxLen)
		}
		return httpURL(s)
	}
	if r.minLen != nil && utf8.RuneCountInString(s) < *r.minLen {
		return "", tooShort(*r.minLen)
	}
	if r.maxLen != nil && utf8.RuneCountInString(s) > *r.maxLen {
		return "", tooLong(*r.maxLen)
	}
	if r.pattern != nil && !r.pattern.MatchString(s) {
		return "", patternMismatch(r.pattern.String())
	}
	return s, nil
}

func (r *rules) member(s string) (string, *fault) {
	for _, word := range r.words {
		if s == word {
			return s, nil
		}
	}
	for _, synonym := range r.synonyms {
		if s == synonym.Word {
			return synonym.For, nil
		}
	}
	return "", r.outOfSet()
}

func (r *rules) outOfSet() *fault { return outOfSet(r.setKind, r.expected) }

func (r *rules) integer(n int64) *fault {
	if r.setKind != "" {
		for _, number := range r.numbers {
			if n == number {
				return nil
			}
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
	case r.le != nil && !(n <= *r.le):
		return bound("less_than_equal", "le", "less than or equal to", *r.le)
	case r.lt != nil && !(n < *r.lt):
		return bound("less_than", "lt", "less than", *r.lt)
	case r.ge != nil && !(n >= *r.ge):
		return bound("greater_than_equal", "ge", "greater than or equal to", *r.ge)
	case r.gt != nil && !(n > *r.gt):
		return bound("greater_than", "gt", "greater than", *r.gt)
	}
	return nil
}

func bound(kind, key, words string, limit float64) *fault {
	text := strconv.FormatFloat(limit, 'f', -1, 64)
	return &fault{kind: kind, msg: "Input should be " + words + " " + text, ctx: map[string]any{key: limit}}
}
