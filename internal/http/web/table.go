package web

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// table finds the endpoint of a request. It is the only matcher: Fiber has one route, which serves what was found here.
type table struct{ root node }

// node is where the paths with the same segments so far go on.
type node struct {
	literals map[string]*node
	param    *node
	ends     map[string]*endpoint // of paths that end here, by method
	rest     map[string]*endpoint // of paths whose last parameter takes everything from here on, by method
}

var errDuplicateRoute = errors.New("there are two such routes")

// add fails when there is an endpoint of the same method that matches the same paths.
func (t *table) add(e *endpoint) error {
	at := &t.root
	for _, s := range e.pattern {
		if s.rest {
			return addMethod(&at.rest, e)
		}
		at = at.child(s)
	}
	return addMethod(&at.ends, e)
}

func addMethod(methods *map[string]*endpoint, e *endpoint) error {
	if (*methods)[e.Method] != nil {
		return errDuplicateRoute
	}
	if *methods == nil {
		*methods = map[string]*endpoint{}
	}
	(*methods)[e.Method] = e
	return nil
}

func (n *node) child(s segment) *node {
	if s.param != "" {
		if n.param == nil {
			n.param = &node{}
		}
		return n.param
	}
	if n.literals[s.literal] == nil {
		if n.literals == nil {
			n.literals = map[string]*node{}
		}
		n.literals[s.literal] = &node{}
	}
	return n.literals[s.literal]
}

// match returns the endpoint of a request, or nil. A literal segment goes before a parameter, and a parameter before one
// that takes the rest.
func (t *table) match(method, path string) (found *endpoint) {
	head := method == fiber.MethodHead
	if head {
		method = fiber.MethodGet
	}
	t.root.visit(path, func(methods map[string]*endpoint) bool {
		found = methods[method]
		return found != nil
	})
	if head && found != nil && found.ChangesState {
		return nil
	}
	return found
}

// allowed lists the methods of a path's endpoints, "" when there are none.
func (t *table) allowed(path string) string {
	var methods []string
	t.root.visit(path, func(some map[string]*endpoint) bool {
		for method, e := range some {
			methods = append(methods, method)
			if method == fiber.MethodGet && !e.ChangesState {
				methods = append(methods, fiber.MethodHead)
			}
		}
		return false
	})
	if len(methods) == 0 {
		return ""
	}
	slices.Sort(methods)
	return strings.Join(append(slices.Compact(methods), fiber.MethodOptions), ", ")
}

// visit calls found with the endpoints whose patterns match the path, the most specific first, until it returns true.
func (n *node) visit(path string, found func(map[string]*endpoint) bool) bool {
	if path == "" {
		return n.ends != nil && found(n.ends)
	}
	segment, rest := cutSegment(path)
	if child := n.literals[segment]; child != nil && child.visit(rest, found) {
		return true
	}
	if segment != "" && n.param != nil && n.param.visit(rest, found) {
		return true
	}
	return n.rest != nil && len(path) > 1 && found(n.rest)
}

// rawPath is the path of a request line, still escaped. It begins with a slash.
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
