package bind

import (
	"math"
	"strconv"
	"strings"
)

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
		f, _ := strconv.ParseFloat(v.Text, 64)
		return wholeFloat(f)
	case String:
		text, ok := plainInteger(v.Text)
		if !ok {
			return 0, intParsing()
		}
		return parseInt(text)
	}
	return 0, intType()
}

func parseInt(text string) (int64, *fault) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
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

// plainInteger strips what pydantic allows around an integer: space, a plus sign, underscores between digits and a
// fraction of zeros.
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
		f, _ := strconv.ParseFloat(v.Text, 64)
		return f, nil
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
