package web

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// methods are the methods known to routes and Fiber, in the order of the header Allow.
var methods = []string{
	fiber.MethodDelete, fiber.MethodGet, fiber.MethodHead, fiber.MethodPatch, fiber.MethodPost, fiber.MethodPut,
	fiber.MethodOptions,
}

// table holds the endpoints by method, the most specific first: a literal segment precedes a parameter, and a parameter
// precedes one that matches the rest. Fiber serves them in this order. The limits of bodies, which are needed before a
// request reaches Fiber, are looked up here.
type table map[string][]*endpoint

var errDuplicateRoute = errors.New("the route is duplicated")

// add adds an endpoint. It fails if another endpoint with the same method matches the same paths.
func (t table) add(e *endpoint) error {
	if slices.ContainsFunc(t[e.Method],
		func(other *endpoint) bool { return slices.EqualFunc(e.pattern, other.pattern, segment.same) }) {
		return errDuplicateRoute
	}
	t.insert(e.Method, e)
	if e.Method == fiber.MethodGet && !e.ChangesState {
		t.insert(fiber.MethodHead, e)
	}
	return nil
}

func (t table) insert(method string, e *endpoint) {
	t[method] = append(t[method], e)
	slices.SortStableFunc(t[method],
		func(a, b *endpoint) int { return slices.CompareFunc(a.pattern, b.pattern, segment.compare) })
}

// register adds the endpoints to an application. Fiber chooses the first matching route.
func (t table) register(app *fiber.App, chain func(*endpoint) []fiber.Handler) {
	for method, endpoints := range t {
		for _, e := range endpoints {
			app.Add(method, e.pattern.forFiber(), chain(e)...)
		}
	}
}

// match returns the endpoint of a request, or nil.
func (t table) match(method, path string) *endpoint {
	for _, e := range t[method] {
		if e.pattern.matches(path) {
			return e
		}
	}
	return nil
}

// allowed returns a list of the methods of a path's endpoints, or "" if there are none.
func (t table) allowed(path string) string {
	var allowed []string
	for _, method := range methods {
		if t.match(method, path) != nil {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return ""
	}
	return strings.Join(append(allowed, fiber.MethodOptions), ", ")
}

// rawPath returns the path of a request line, still escaped. It begins with a slash.
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

var (
	literalPattern = regexp.MustCompile(`^[A-Za-z0-9._~-]*$`)
	paramPattern   = regexp.MustCompile(`^\{([A-Za-z_][A-Za-z0-9_]*)(:path)?\}$`)
)

// pattern is a route's path, cut at its slashes.
type pattern []segment

type segment struct {
	kind segmentKind
	text string // of a literal, or the name of a parameter
}

// segmentKind orders segments: the more specific ones come first.
type segmentKind uint8

const (
	literal segmentKind = iota
	parameter
	rest // a parameter that matches everything to the end, including slashes
)

func (s segment) compare(other segment) int { return cmp.Compare(s.kind, other.kind) }

func (s segment) same(other segment) bool {
	return s.kind == other.kind && (s.kind != literal || s.text == other.text)
}

func parsePattern(path string) (pattern, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("the path %q does not begin with a slash", path)
	}
	var parsed pattern
	parts := strings.Split(path[1:], "/")
	for i, part := range parts {
		if literalPattern.MatchString(part) {
			parsed = append(parsed, segment{literal, part})
			continue
		}
		match := paramPattern.FindStringSubmatch(part)
		if match == nil || match[2] != "" && i != len(parts)-1 {
			return nil, fmt.Errorf("the path %q has the unreadable segment %q", path, part)
		}
		kind := parameter
		if match[2] != "" {
			kind = rest
		}
		parsed = append(parsed, segment{kind, match[1]})
	}
	return parsed, nil
}

// params returns the names of the parameters, in the order of the path.
func (p pattern) params() (names []string) {
	for _, s := range p {
		if s.kind != literal {
			names = append(names, s.text)
		}
	}
	return names
}

// forFiber returns the path in Fiber's notation, where + is a parameter that matches the rest.
func (p pattern) forFiber() string {
	var path strings.Builder
	for _, s := range p {
		path.WriteString("/" + map[segmentKind]string{literal: s.text, parameter: ":" + s.text, rest: "+"}[s.kind])
	}
	return path.String()
}

func (p pattern) matches(path string) bool {
	for _, s := range p {
		if s.kind == rest {
			return len(path) > 1
		}
		if path == "" {
			return false
		}
		end := strings.IndexByte(path[1:], '/') + 1
		if end == 0 {
			end = len(path)
		}
		part := path[1:end]
		if s.kind == literal && part != s.text || s.kind == parameter && part == "" {
			return false
		}
		path = path[end:]
	}
	return path == ""
}
