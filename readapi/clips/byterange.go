package clips

import (
	"errors"
	"strconv"
	"strings"
)

// byteRange is a part of a blob, in bytes.
type byteRange struct{ offset, length int64 }

var errUnsatisfiable = errors.New("no byte of the range is there")

// parseRange reads a Range header (RFC 9110, 14.1.2) for content of a size. What is not one range of bytes is ignored, as
// a server may: the whole is then sent, and partial is false.
func parseRange(header string, size int64) (part byteRange, partial bool, err error) {
	whole := byteRange{0, size}
	unit, spec, found := strings.Cut(header, "=")
	if !found || !strings.EqualFold(strings.TrimSpace(unit), "bytes") {
		return whole, false, nil
	}
	first, last, found := strings.Cut(strings.TrimSpace(spec), "-")
	if !found {
		return whole, false, nil
	}
	from, fromGiven, ok := parsePosition(first)
	to, toGiven, okToo := parsePosition(last)
	switch {
	case !ok || !okToo || !fromGiven && !toGiven || fromGiven && toGiven && to < from:
		return whole, false, nil
	case !fromGiven: // the last bytes
		from, to = max(0, size-to), size-1
	case !toGiven:
		to = size - 1
	}
	to = min(to, size-1)
	if from > to {
		return byteRange{}, false, errUnsatisfiable
	}
	return byteRange{from, to - from + 1}, true, nil
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
		position = 1<<63 - 1
	}
	return position, true, true
}
