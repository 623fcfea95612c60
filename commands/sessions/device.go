package sessions

import (
	"strings"

	"github.com/mileusna/useragent"
)

const (
	// maxUserAgent is how many bytes of a User-Agent are looked at: the time of parsing grows with them.
	maxUserAgent = 512
	// maxLabel is the length of a label in bytes.
	maxLabel = 100
)

// deviceLabel returns what a person calls a client, such as "Chrome on macOS"; "" where its User-Agent says nothing. It
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
