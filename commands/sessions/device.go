package sessions

import (
	"strings"

	"github.com/mileusna/useragent"
)

const (
	// maxUserAgent is the number of bytes of a User-Agent that are parsed, which bounds the time.
	maxUserAgent = 512
	// maxLabel is the maximum length of a label in bytes.
	maxLabel = 100
)

// deviceLabel returns a client's name for people, such as "Chrome on macOS", or "" for an unknown User-Agent. It
// consists of printable ASCII, whatever the client sent.
func deviceLabel(userAgent string) string {
	parsed := useragent.Parse(userAgent[:min(len(userAgent), maxUserAgent)])
	label := parsed.Name
	if parsed.OS != "" {
		label = strings.TrimPrefix(label+" on "+parsed.OS, " on ")
	}
	printable := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, label)
	return printable[:min(len(printable), maxLabel)]
}
