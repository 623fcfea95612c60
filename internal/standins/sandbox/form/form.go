// Package form reads the parameters of the Stripe API, such as items[0][price]=price_1, and remembers which of them
// were read, since that API refuses those that it does not know.
package form

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problem is a parameter that cannot be accepted.
type Problem struct {
	Code    string // such as "parameter_missing"
	Param   string
	Message string
}

func (p *Problem) Error() string { return p.Message }

// Form is a set of parameters. The methods that read one note problems.
type Form struct {
	name     string // as in items[0]
	value    string
	set      bool // it has a value of its own
	used     bool
	children map[string]*Form
	problem  **Problem // shared by the whole form
}

// Parse returns the form of URL-encoded values.
func Parse(values url.Values) *Form {
	var problem *Problem
	root := &Form{problem: &problem, used: true}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for i, value := range values[name] {
			root.insert(name, value, i)
		}
	}
	return root
}

// insert sets a parameter; "[]" at the end of its name stands for the next index.
func (f *Form) insert(name, value string, i int) {
	at := f
	for _, part := range split(name) {
		if part == "" {
			part = strconv.Itoa(i)
		}
		at = at.child(part)
	}
	at.value, at.set = value, true
}

// split returns the parts of a name: a, b and c of a[b][c].
func split(name string) []string {
	first, rest, nested := strings.Cut(name, "[")
	if !nested {
		return []string{name}
	}
	return append([]string{first}, strings.Split(strings.TrimSuffix(rest, "]"), "][")...)
}

func (f *Form) child(part string) *Form {
	if c, ok := f.children[part]; ok {
		return c
	}
	name := part
	if f.name != "" {
		name = f.name + "[" + part + "]"
	}
	c := &Form{name: name, problem: f.problem}
	if f.children == nil {
		f.children = map[string]*Form{}
	}
	f.children[part] = c
	return c
}

// note keeps a problem if it is the first.
func (f *Form) note(code, message string) {
	if *f.problem == nil {
		*f.problem = &Problem{Code: code, Param: f.name, Message: message}
	}
}

// Sub returns the parameters inside one.
func (f *Form) Sub(name string) *Form {
	c, ok := f.children[name]
	if !ok {
		return &Form{name: name, problem: f.problem}
	}
	c.used = true
	return c
}

// Has reports whether a parameter is there, with a value or with others inside.
func (f *Form) Has(name string) bool { return f.children[name] != nil }

// String returns a parameter's value, or "".
func (f *Form) String(name string) string { return f.Sub(name).value }

// Required returns the value of a parameter that must be there.
func (f *Form) Required(name string) string {
	if f.String(name) == "" {
		f.child(name).note("parameter_missing", "Missing required param: "+f.child(name).name+".")
	}
	return f.String(name)
}

// Enum returns the value of a parameter that is one of a list, whose first stands for an absent one.
func (f *Form) Enum(name string, values ...string) string {
	v := f.String(name)
	if v == "" {
		return values[0]
	}
	if !slices.Contains(values, v) {
		f.Sub(name).note("", fmt.Sprintf("Invalid %s: must be one of %s", f.Sub(name).name, strings.Join(values, ", ")))
	}
	return v
}

// Int returns a whole number, or other if it is absent.
func (f *Form) Int(name string, other int64) int64 {
	v := f.String(name)
	if v == "" {
		return other
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		f.Sub(name).note("parameter_invalid_integer", "Invalid integer: "+v)
	}
	return n
}

// Bool returns a truth value, or other if it is absent.
func (f *Form) Bool(name string, other bool) bool {
	switch v := f.String(name); v {
	case "":
		return other
	case "true", "false":
		return v == "true"
	default:
		f.Sub(name).note("", "Invalid boolean: "+v)
		return false
	}
}

// List returns the elements of a list in the order of their indexes.
func (f *Form) List(name string) []*Form {
	list := f.Sub(name)
	var indexes []int
	for key := range list.children {
		if i, err := strconv.Atoi(key); err == nil {
			indexes = append(indexes, i)
		}
	}
	slices.Sort(indexes)
	elements := make([]*Form, 0, len(indexes))
	for _, i := range indexes {
		elements = append(elements, list.Sub(strconv.Itoa(i)))
	}
	return elements
}

// Strings returns the values of a list.
func (f *Form) Strings(name string) []string {
	var values []string
	for _, e := range f.List(name) {
		values = append(values, e.value)
	}
	return values
}

const (
	mostMetadata  = 50
	longestName   = 40
	longestString = 500
)

// Metadata returns the metadata that an object is to have.
func (f *Form) Metadata() map[string]string {
	values := map[string]string{}
	sub := f.Sub("metadata")
	for name := range sub.children {
		values[name] = sub.String(name)
		if utf8.RuneCountInString(name) > longestName || utf8.RuneCountInString(values[name]) > longestString {
			sub.children[name].note("", fmt.Sprintf("Metadata keys have up to %d characters, and values up to %d.", longestName,
				longestString))
		}
	}
	if len(values) > mostMetadata {
		sub.note("", fmt.Sprintf("Metadata can have up to %d keys.", mostMetadata))
	}
	return values
}

// Err returns the first problem that was noted.
func (f *Form) Err() error {
	if *f.problem != nil {
		return *f.problem
	}
	return nil
}

// Unread returns a problem if a parameter was never read.
func (f *Form) Unread() error {
	f.noteUnread()
	return f.Err()
}

func (f *Form) noteUnread() {
	if !f.used {
		f.note("parameter_unknown", "Received unknown parameter: "+f.name)
		return
	}
	for _, c := range f.children {
		c.noteUnread()
	}
}
