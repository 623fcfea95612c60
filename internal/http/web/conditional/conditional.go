// Package conditional evaluates the header fields of conditional and range requests (RFC 9110, sections 13 and 14).
package conditional

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Headers holds the fields of a request. It is embedded in the inputs of routes that read all of them. A field on
// several lines is joined with commas.
type Headers struct {
	Range       string `header:"range" doc:"The part of the body that is wanted, such as bytes=0-1023."`
	IfRange     string `header:"if-range" doc:"The etag for which range counts: for another body all of it is sent."`
	IfNoneMatch string `header:"if-none-match" doc:"The etag of what the client has: if it is still right, the reply is a 304."`
}

// Matches reports whether the client has the representation with the entity tag: If-None-Match has the tag, or "*".
// Tags are compared weakly.
func (h Headers) Matches(tag string) bool {
	if strings.Trim(h.IfNoneMatch, ows) == "*" {
		return true
	}
	for candidate, rest, ok := cutTag(h.IfNoneMatch); ok; candidate, rest, ok = cutTag(rest) {
		if strings.TrimPrefix(candidate, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// ows is optional white space.
const ows = " \t"

// cutTag cuts the first entity tag off a list. Anything else ends the list.
func cutTag(list string) (tag, rest string, ok bool) {
	list = strings.TrimLeft(list, ows+",")
	start := 0
	if strings.HasPrefix(list, "W/") {
		start = len("W/")
	}
	if len(list) <= start || list[start] != '"' {
		return "", "", false
	}
	for i := start + 1; i < len(list); i++ {
		switch c := list[i]; {
		case c == '"':
			return list[:i+1], list[i+1:], true
		case c < '!' || c == 0x7f:
			return "", "", false
		}
	}
	return "", "", false
}

// rangeApplies reports whether Range applies: If-Range is absent, or has the tag. Tags are compared strongly. A date
// never matches, because no representation here has one.
func (h Headers) rangeApplies(tag string) bool {
	given := strings.Trim(h.IfRange, ows)
	return given == "" || given == tag && !strings.HasPrefix(tag, "W/")
}

// Part is a range of the bytes of a representation.
type Part struct{ Offset, Length int64 }

// ContentRange returns the field that describes the part of a representation with a size in bytes.
func (p Part) ContentRange(size int64) string {
	return fmt.Sprintf("bytes %d-%d/%d", p.Offset, p.Offset+p.Length-1, size)
}

// Unsatisfied returns the Content-Range of a 416.
func Unsatisfied(size int64) string { return fmt.Sprintf("bytes */%d", size) }

// ErrUnsatisfiable is the reason for a 416.
var ErrUnsatisfiable = errors.New("the representation has no byte of the range")

// Part returns the part of a representation to send, and whether it is partial. A Range that is not a single range of
// bytes is ignored, as section 14.2 permits, and so is a Range with an If-Range that does not match. The only error is
// ErrUnsatisfiable.
func (h Headers) Part(tag string, size int64) (part Part, partial bool, err error) {
	whole := Part{0, size}
	spec, ok := singleRange(h.Range)
	if !ok || size == 0 || !h.rangeApplies(tag) {
		return whole, false, nil
	}
	first, last, found := strings.Cut(spec, "-")
	from, fromGiven, fromOK := parsePosition(first)
	to, toGiven, toOK := parsePosition(last)
	switch {
	case !found || !fromOK || !toOK || !fromGiven && !toGiven || fromGiven && toGiven && to < from:
		return whole, false, nil
	case !fromGiven: // the last bytes
		from, to = max(0, size-to), size-1
	case !toGiven:
		to = size - 1
	}
	to = min(to, size-1)
	if from > to {
		return Part{}, false, ErrUnsatisfiable
	}
	return Part{from, to - from + 1}, true, nil
}

// singleRange returns the range of a header with exactly one, in bytes.
func singleRange(header string) (spec string, ok bool) {
	unit, set, found := strings.Cut(header, "=")
	if !found || !strings.EqualFold(strings.Trim(unit, ows), "bytes") {
		return "", false
	}
	for one := range strings.SplitSeq(set, ",") {
		one = strings.Trim(one, ows)
		if one != "" && spec != "" {
			return "", false
		}
		spec += one
	}
	return spec, spec != ""
}

// parsePosition parses digits. A number that overflows an int64 is a position past every end.
func parsePosition(text string) (position int64, given, ok bool) {
	if text == "" {
		return 0, false, true
	}
	if strings.Trim(text, "0123456789") != "" {
		return 0, false, false
	}
	position, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		position = math.MaxInt64
	}
	return position, true, true
}
