// Package form reads the parameters of the Stripe API, such as items[0][price]=price_1. It records which ones are read,
// because the API refuses unknown parameters.
package form

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Problem is an error about a parameter.
type Problem struct {
	Code    string // such as "parameter_missing"
	Param   string
	Message string
}

func (p *Problem) Error() string { return p.Message }

// Form is a set of parameters. Methods that read a parameter record the first problem, which Err returns.
type Form struct {
	name string // the parameter that contains these, as in items[0]; "" for the whole request
	in   *parameters
}

// parameters holds the parameters of a request by their full names.
type parameters struct {
	values  map[string]string
	read    map[string]bool
	problem *Problem
}

// Parse returns the form with URL-encoded values.
func Parse(values url.Values) *Form {
	in := &parameters{values: map[string]string{}, read: map[string]bool{}}
	for name, all := range values {
		list, isList := strings.CutSuffix(name, "[]")
		for i, value := range all {
			if isList {
				name = fmt.Sprintf("%s[%d]", list, i)
			}
			in.values[name] = value
		}
	}
	return &Form{in: in}
}

// note records a problem, unless there is one already.
func (f *Form) note(code, message string) {
	if f.in.problem == nil {
		f.in.problem = &Problem{Code: code, Param: f.name, Message: message}
	}
}

// Sub returns the parameters inside of a parameter.
func (f *Form) Sub(name string) *Form {
	if f.name != "" {
		name = f.name + "[" + name + "]"
	}
	f.in.read[name] = true
	return &Form{name: name, in: f.in}
}

// names returns the sorted names of the parameters inside.
func (f *Form) names() []string {
	var names []string
	for name := range f.in.values {
		if rest, ok := strings.CutPrefix(name, f.name+"["); ok {
			first, _, _ := strings.Cut(rest, "]")
			names = append(names, first)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Has reports whether a parameter has a value or parameters inside.
func (f *Form) Has(name string) bool {
	sub := f.Sub(name)
	_, ok := f.in.values[sub.name]
	return ok || len(sub.names()) > 0
}

// String returns the value of a parameter, or "".
func (f *Form) String(name string) string { return f.in.values[f.Sub(name).name] }

// Required returns the value of a required parameter.
func (f *Form) Required(name string) string {
	v := f.String(name)
	if v == "" {
		f.Sub(name).note("parameter_missing", "Missing required param: "+f.Sub(name).name+".")
	}
	return v
}

// Enum returns the value of a parameter, which must be one of values. The first of them is the default.
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

// Int returns an integer, or other if the parameter is absent.
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

// Bool returns a boolean, or other if the parameter is absent.
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

// List returns the elements of a list, sorted by index.
func (f *Form) List(name string) []*Form {
	list := f.Sub(name)
	var indexes []int
	for _, key := range list.names() {
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
		values = append(values, f.in.values[e.name])
	}
	return values
}

// Metadata returns the metadata parameters, including empty values.
func (f *Form) Metadata() map[string]string {
	values := map[string]string{}
	sub := f.Sub("metadata")
	for _, name := range sub.names() {
		values[name] = sub.String(name)
	}
	return values
}

// Err returns the first problem, or nil.
func (f *Form) Err() error {
	if f.in.problem != nil {
		return f.in.problem
	}
	return nil
}

// Unread returns an error if a parameter was not read.
func (f *Form) Unread() error {
	for _, name := range slices.Sorted(maps.Keys(f.in.values)) {
		if !f.in.read[name] {
			(&Form{name: name, in: f.in}).note("parameter_unknown", "Received unknown parameter: "+name)
		}
	}
	return f.Err()
}
