package web

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	literalPattern = regexp.MustCompile(`^[A-Za-z0-9._~-]*$`)
	paramPattern   = regexp.MustCompile(`^\{([A-Za-z_][A-Za-z0-9_]*)(:path)?\}$`)
)

// pattern is a route's path, cut at its slashes.
type pattern []segment

type segment struct {
	literal string // of a literal segment
	param   string // the name of a parameter
	rest    bool   // a parameter that takes everything to the end, slashes included
}

func parsePattern(path string) (pattern, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("the path %q does not begin with a slash", path)
	}
	var parsed pattern
	parts := strings.Split(path[1:], "/")
	for i, part := range parts {
		if literalPattern.MatchString(part) {
			parsed = append(parsed, segment{literal: part})
			continue
		}
		match := paramPattern.FindStringSubmatch(part)
		if match == nil || match[2] != "" && i != len(parts)-1 {
			return nil, fmt.Errorf("the path %q has the unreadable segment %q", path, part)
		}
		parsed = append(parsed, segment{param: match[1], rest: match[2] != ""})
	}
	return parsed, nil
}

func (p pattern) has(param string) bool {
	for _, s := range p {
		if s.param == param {
			return true
		}
	}
	return false
}

// value is what a parameter has in a path that matches the pattern, still escaped.
func (p pattern) value(path, param string) string {
	for _, s := range p {
		segment, rest := cutSegment(path)
		switch {
		case s.param != param:
			path = rest
		case s.rest:
			return path[1:]
		default:
			return segment
		}
	}
	return ""
}

// cutSegment cuts a path, which begins with a slash, before its second one.
func cutSegment(path string) (segment, rest string) {
	if end := strings.IndexByte(path[1:], '/'); end >= 0 {
		return path[1 : 1+end], path[1+end:]
	}
	return path[1:], ""
}
