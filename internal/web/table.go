package web

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// bodyRate is what a client must send at least, in bytes a second, beyond Limits.ReadTimeout.
const bodyRate = 256 << 10

// headerReceived sets the limits of the route before the body is read. Fiber's own limit is one for all routes.
func (s *Server) headerReceived(header *fasthttp.RequestHeader) fasthttp.RequestConfig {
	limit := DefaultMaxBody
	if e := s.match(string(header.Method()), rawPath(header.RequestURI())); e != nil && e.plan.TakesBody() {
		limit = max(1, e.MaxBody)
	}
	more := time.Duration(limit) * time.Second / bodyRate
	return fasthttp.RequestConfig{MaxRequestBodySize: limit, ReadTimeout: s.cfg.Limits.ReadTimeout + more}
}

// match finds the endpoint of a request as Fiber does: the first that fits.
func (s *Server) match(method, path string) *endpoint {
	if method == fiber.MethodHead {
		method = fiber.MethodGet
	}
	for _, e := range s.endpoints {
		if e.Method == method && e.pattern.matches(path) {
			return e
		}
	}
	return nil
}

// allowed lists the methods of a path's routes, "" when there are none.
func (s *Server) allowed(path string) string {
	var methods []string
	for _, e := range s.endpoints {
		if !e.pattern.matches(path) || slices.Contains(methods, e.Method) {
			continue
		}
		methods = append(methods, e.Method)
		if e.Method == fiber.MethodGet {
			methods = append(methods, fiber.MethodHead)
		}
	}
	if len(methods) == 0 {
		return ""
	}
	sort.Strings(methods)
	return strings.Join(append(methods, fiber.MethodOptions), ", ")
}

// rawPath is the path of a request line, still escaped.
func rawPath(uri []byte) string {
	if !bytes.HasPrefix(uri, []byte("/")) {
		_, rest, ok := bytes.Cut(uri, []byte("://"))
		slash := bytes.IndexByte(rest, '/')
		if !ok || slash < 0 {
			return "/"
		}
		uri = rest[slash:]
	}
	if end := bytes.IndexAny(uri, "?#"); end >= 0 {
		uri = uri[:end]
	}
	return string(uri)
}

// sortEndpoints puts literal segments before parameters, whatever the order of the table.
func sortEndpoints(endpoints []*endpoint) {
	slices.SortStableFunc(endpoints, func(a, b *endpoint) int {
		return a.pattern.compare(b.pattern)
	})
}

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

// fiber writes the pattern in Fiber's notation.
func (p pattern) fiber() string {
	var out strings.Builder
	for _, s := range p {
		out.WriteByte('/')
		switch {
		case s.rest:
			out.WriteByte('+')
		case s.param != "":
			out.WriteString(":" + s.param)
		default:
			out.WriteString(s.literal)
		}
	}
	return out.String()
}

// key is what Fiber calls a parameter.
func (p pattern) key(name string) string {
	for _, s := range p {
		if s.param == name && s.rest {
			return "+1"
		}
	}
	return name
}

func (p pattern) has(param string) bool {
	for _, s := range p {
		if s.param == param {
			return true
		}
	}
	return false
}

// matches says whether a raw path belongs to the pattern, as Fiber decides it.
func (p pattern) matches(path string) bool {
	for i, s := range p {
		if path == "" || path[0] != '/' {
			return false
		}
		path = path[1:]
		if s.rest {
			return path != ""
		}
		end := strings.IndexByte(path, '/')
		if end < 0 {
			end = len(path)
		}
		if s.param == "" && path[:end] != s.literal || s.param != "" && end == 0 {
			return false
		}
		path = path[end:]
		if i == len(p)-1 {
			return path == ""
		}
	}
	return false
}

// compare orders patterns for Fiber, where the first match wins: at the first segment that differs in kind, a literal
// goes before a parameter, and a parameter before one that takes the rest. Literals are then ordered by their text, so
// that the order is total.
func (p pattern) compare(other pattern) int {
	for i := range min(len(p), len(other)) {
		if c := cmp.Or(cmp.Compare(p[i].rank(), other[i].rank()), cmp.Compare(p[i].literal, other[i].literal)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(p), len(other))
}

// shape is the pattern without the names of its parameters: equal for patterns that match the same paths.
func (p pattern) shape() string {
	var out strings.Builder
	for _, s := range p {
		out.WriteByte('/')
		switch {
		case s.rest:
			out.WriteString("{:path}")
		case s.param != "":
			out.WriteString("{}")
		default:
			out.WriteString(s.literal)
		}
	}
	return out.String()
}

func (s segment) rank() int {
	switch {
	case s.rest:
		return 2
	case s.param != "":
		return 1
	}
	return 0
}
