package bind

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	tagPattern = regexp.MustCompile(`^\s*((?:[a-z]+\.)?([a-z]+)):("(?:[^"\\]|\\.)*")`)
	sourceTags = []string{"path", "query", "header", "body", "raw", "in", "for"}
	valueTags  = []string{
		"alias", "required", "default", "gt", "ge", "lt", "le", "minlen", "maxlen", "pattern", "literal", "enum", "synonyms",
		"url",
		"maxitems", "several", "member", "unless", "after", "doc", "nullable", "format", "example",
	}
)

// parseTags reads a struct tag. An unknown key is an error, because a typing error must not disable a check. Keys with
// a variant and a dot in front keep these.
func parseTags(tag reflect.StructTag, others ...string) (map[string]string, error) {
	tags, rest := map[string]string{}, string(tag)
	for {
		match := tagPattern.FindStringSubmatch(rest)
		if match == nil {
			break
		}
		value, err := strconv.Unquote(match[3])
		known := slices.Contains(valueTags, match[2]) ||
			match[1] == match[2] && (slices.Contains(sourceTags, match[2]) || slices.Contains(others, match[2]))
		if err != nil || !known {
			return nil, fmt.Errorf("unknown tag %s:%s", match[1], match[3])
		}
		tags[match[1]] = value
		rest = rest[len(match[0]):]
	}
	if rest != "" {
		return nil, fmt.Errorf("unreadable tag %q", rest)
	}
	return tags, nil
}

func compileField(of reflect.StructField, tags map[string]string) (*field, error) {
	f, t := newField(of), of.Type
	if err := f.readSource(tags); err != nil {
		return nil, err
	}
	if f.Pointer {
		t = t.Elem()
	}
	var err error
	if f.kind, err = kindOf(t); err != nil {
		return nil, err
	}
	for _, read := range []func(map[string]string) error{f.readRules, f.checkShape} {
		if err := read(tags); err != nil {
			return nil, err
		}
	}
	if err := f.readDefault(t, tags); err != nil {
		return nil, err
	}
	return f, f.describe(tags)
}

func (f *field) readSource(tags map[string]string) error {
	for s, name := range sourceNames {
		if value, ok := tags[name]; ok {
			f.source, f.Source = source(s), name
			f.names = append(f.names, value)
		}
	}
	if _, ok := tags["raw"]; ok {
		f.source, f.Source = fromBody, "raw"
		f.names = append(f.names, "")
	}
	if len(f.names) != 1 || f.names[0] == "" && tags["raw"] != "body" {
		return errors.New("exactly one of path, query, header, body and raw:\"body\" is needed")
	}
	f.names = append(f.names, split(tags["alias"])...)
	f.Name, f.Aliases = f.names[0], f.names[1:]
	f.after, f.unless = tags["after"], tags["unless"]
	switch tags["required"] {
	case "", "false":
	case "true":
		f.Required = true
	default:
		return fmt.Errorf("required is true or false, not %q", tags["required"])
	}
	f.Required = f.Required || f.source == fromPath
	return nil
}

func (f *field) readRules(tags map[string]string) error {
	r := &f.rules
	for key, slot := range map[string]**float64{"gt": &r.GT, "ge": &r.GE, "lt": &r.LT, "le": &r.LE} {
		if text, ok := tags[key]; ok {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil || f.kind != kindInteger && f.kind != kindFloat {
				return fmt.Errorf("%s:%q needs a number and a numeric field", key, text)
			}
			*slot = &n
		}
	}
	for key, slot := range map[string]**int{"minlen": &r.MinLen, "maxlen": &r.MaxLen, "maxitems": &r.MaxItems} {
		if text, ok := tags[key]; ok {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || f.kind != kindList && (f.kind != kindText || key == "maxitems") {
				return fmt.Errorf("%s:%q needs a count and a field of strings", key, text)
			}
			*slot = &n
		}
	}
	if text, ok := tags["pattern"]; ok {
		pattern, err := regexp.Compile(text)
		if err != nil || f.kind != kindText && f.kind != kindList {
			return fmt.Errorf("pattern %q needs a regular expression and a string field: %v", text, err)
		}
		r.Pattern, r.pattern = text, pattern
	}
	if r.Member = tags["member"]; r.Member != "" && (f.kind != kindText || f.source != fromBody) {
		return fmt.Errorf("member:%q needs a string field of a body", r.Member)
	}
	if text, ok := tags["url"]; ok {
		if text != "http" || f.kind != kindText {
			return errors.New(`url:"http" needs a string field`)
		}
		r.url = true
	}
	return f.readSet(tags)
}

func (f *field) readSet(tags map[string]string) error {
	r := &f.rules
	for key, kind := range map[string]string{"literal": "literal_error", "enum": "enum"} {
		text, ok := tags[key]
		if !ok {
			continue
		}
		choices, quote := split(text), "'"
		if f.kind == kindInteger {
			quote = ""
			for _, choice := range choices {
				n, err := strconv.ParseInt(choice, 10, 64)
				if err != nil {
					return fmt.Errorf("%s:%q on an integer: %w", key, text, err)
				}
				r.Values = append(r.Values, n)
			}
		} else {
			for _, choice := range choices {
				r.Values = append(r.Values, choice)
			}
		}
		if len(choices) == 0 || r.setKind != "" || f.kind != kindInteger && f.kind != kindText {
			return fmt.Errorf("%s:%q needs choices, once, on a string or an integer", key, text)
		}
		r.setKind, r.expected = kind, alternatives(choices, quote)
	}
	if _, r.several = tags["several"]; r.several && (r.setKind == "" || f.kind != kindText) {
		return errors.New("several needs a set of strings")
	}
	return f.readSynonyms(tags["synonyms"])
}

func (f *field) readSynonyms(list string) error {
	r := &f.rules
	for _, pair := range split(list) {
		name, word, ok := strings.Cut(pair, "=")
		if !ok || !slices.Contains(r.Values, any(word)) || f.kind != kindText {
			return fmt.Errorf("synonyms: %q is not name=value with a value of the set", pair)
		}
		r.Synonyms = append(r.Synonyms, Synonym{Word: name, For: word})
	}
	return nil
}

// checkShape returns an error for combinations that cannot work.
func (f *field) checkShape(tags map[string]string) error {
	_, raw := tags["raw"]
	switch {
	case raw != (f.kind == kindRaw):
		return errors.New(`[]byte goes with raw:"body" and only with it`)
	case raw && f.Pointer:
		return errors.New("a raw body cannot be a pointer")
	case f.takesFiles() && f.source != fromBody:
		return errors.New("files come from bodies only")
	case f.kind == kindList && f.source != fromBody && f.source != fromQuery:
		return errors.New("lists come from queries and bodies only")
	case f.unless != "" && (f.source != fromQuery || !f.Required):
		return errors.New("unless needs a required query field")
	case len(f.names) > 1 && f.source != fromBody && f.source != fromQuery:
		return errors.New("only query and body fields have an alias")
	}
	return nil
}

func (f *field) readDefault(t reflect.Type, tags map[string]string) error {
	text, ok := tags["default"]
	if !ok {
		return nil
	}
	switch {
	case f.Required:
		return errors.New("required and a default exclude each other")
	case f.kind == kindOther:
		return fmt.Errorf("a %s has no default", t)
	}
	value := reflect.New(t).Elem()
	if wrong := f.convert(value, textValue(text), nil); len(wrong) > 0 {
		return fmt.Errorf("default %q: %s", text, wrong[0].Msg)
	}
	f.fallback, f.Default = value, value.Interface()
	return nil
}
