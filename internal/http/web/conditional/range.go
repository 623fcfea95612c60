package conditional

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Part is a range of the bytes of a representation.
type Part struct{ Offset, Length int64 }

// ContentRange is the field that describes the part of a representation of a size.
func (p Part) ContentRange(size int64) string {
	return fmt.Sprintf("bytes %d-%d/%d", p.Offset, p.Offset+p.Length-1, size)
}

// Unsatisfied is the Content-Range of a 416.
func Unsatisfied(size int64) string { return fmt.Sprintf("bytes */%d", size) }

// ErrUnsatisfiable is the reason for a 416.
var ErrUnsatisfiable = errors.New("the representation has no byte of the range")

// Part returns what to send of a representation, and whether that is a part. A Range that is not a single range of bytes is
// ignored, as section 14.2 permits, and so is one whose If-Range does not match. The only error is ErrUnsatisfiable.
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

// singleRange is the range of a header that names one, in bytes.
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

// parsePosition reads digits. More of them than an int64 holds are still a position, past every end.
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
