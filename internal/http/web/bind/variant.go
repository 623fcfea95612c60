package bind

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Variants are the requests that a struct stands for, by their names, and the sources of their fields that are tagged
// in:"name": "query" or "body".
type Variants map[string]string

// Variant returns one of them. A name that is not among them is an error of Compile.
func (v Variants) Variant(name string) Variant { return Variant{name: name, of: v} }

// Variant is one of the requests that a struct stands for. The zero Variant is that of a struct without variants.
type Variant struct {
	name string
	of   Variants
}

func (v Variant) check() error {
	if v.of == nil {
		return nil
	}
	if source := v.of[v.name]; source != "query" && source != "body" {
		return fmt.Errorf("the source of the variant %q is %q, neither query nor body", v.name, source)
	}
	return nil
}

// pick returns the tags of a field as they are in the variant, and whether the variant has the field.
func (v Variant) pick(all map[string]string) (tags map[string]string, has bool, err error) {
	tags = map[string]string{}
	own := map[string]string{}
	for key, value := range all {
		variant, plain, prefixed := strings.Cut(key, ".")
		switch {
		case !prefixed:
			tags[key] = value
		case v.of[variant] == "":
			return nil, false, fmt.Errorf("the tag %s is of no variant", key)
		case variant == v.name:
			own[plain] = value
		}
	}
	maps.Copy(tags, own)
	has, err = v.has(tags)
	if name, ok := tags["in"]; ok {
		if v.of == nil {
			return nil, false, fmt.Errorf("in:%q needs a variant", name)
		}
		if other, ok := tags[v.of[v.name]]; ok {
			return nil, false, fmt.Errorf("in:%q beside a source of its own, %q", name, other)
		}
		tags[v.of[v.name]] = name
	}
	return tags, has, err
}

func (v Variant) has(tags map[string]string) (bool, error) {
	list, ok := tags["for"]
	if !ok {
		return true, nil
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if v.of[name] == "" {
			return false, fmt.Errorf("for:%q names no variant", list)
		}
	}
	return slices.Contains(names, v.name), nil
}
