// Package conditional evaluates the header fields of conditional and range requests (RFC 9110, sections 13 and 14).
package conditional

import "strings"

// Headers are the fields of a request, embedded in the inputs of routes that read all of them. A field that came on several
// lines is joined with commas.
type Headers struct {
	Range       string `header:"range" doc:"The part of the body that is wanted, such as bytes=0-1023."`
	IfRange     string `header:"if-range" doc:"The etag for which range counts: for another body all of it is sent."`
	IfNoneMatch string `header:"if-none-match" doc:"The etag of what the client has: if it is still right, the reply is a 304."`
}

// Matches reports whether the client has the representation with the entity tag: it names the tag in If-None-Match, or "*".
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

// cutTag cuts the first entity tag off a list. What is not one ends the list.
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

// rangeApplies reports whether Range is to be looked at: If-Range is absent, or names the tag. Tags are compared strongly.
// A date never matches, because no representation here has one.
func (h Headers) rangeApplies(tag string) bool {
	given := strings.Trim(h.IfRange, ows)
	return given == "" || given == tag && !strings.HasPrefix(tag, "W/")
}
