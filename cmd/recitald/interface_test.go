package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// description is the part of /openapi.json that is compared here.
type description struct {
	Info       struct{ Version string }
	Paths      map[string]map[string]operation
	Components struct {
		Schemas    map[string]schema
		Parameters map[string]parameter
		Responses  map[string]response
	}
}

type operation struct {
	Parameters  []parameter
	RequestBody struct {
		Required bool
		Content  content
	}
	Responses map[string]response
	Security  []map[string][]string
	WebSocket bool `json:"x-websocket"`
}

type parameter struct {
	Name, In string
	Required bool
	Schema   schema
	Example  any
}

type response struct {
	Ref     string `json:"$ref"`
	Content content
}

// content holds the media types in document order, the preferred one first.
type content []media

type media struct {
	name    string
	Schema  schema
	Example any
}

func (c *content) UnmarshalJSON(document []byte) error {
	byName := map[string]media{}
	if err := json.Unmarshal(document, &byName); err != nil {
		return err
	}
	for name, one := range byName {
		one.name = name
		*c = append(*c, one)
	}
	slices.SortFunc(*c, func(a, b media) int {
		return bytes.Index(document, []byte(`"`+a.name+`"`)) - bytes.Index(document, []byte(`"`+b.name+`"`))
	})
	return nil
}

func (c content) names() string {
	var names []string
	for _, one := range c {
		names = append(names, one.name)
	}
	return strings.Join(names, " ")
}

type schema struct {
	Ref                                string `json:"$ref"`
	Type                               any
	Format                             string
	Enum                               []any
	Default                            any
	Minimum, Maximum, ExclusiveMinimum *float64
	MinLength, MaxLength               *int
	Items                              *schema
	Properties                         map[string]schema
	Required                           []string
	AnyOf                              []schema
}

func (s *server) description() description {
	s.t.Helper()
	request, err := http.NewRequest(http.MethodGet, s.address+"/openapi.json", nil)
	require.NoError(s.t, err)
	got := requireOK(s.t, do(s.t, request))
	var d description
	got.decode(s.t, &d)
	return d
}

func (d description) operations() (all []string) {
	for path, item := range d.Paths {
		for method := range item {
			all = append(all, strings.ToUpper(method)+" "+path)
		}
	}
	return all
}

// words describes a schema as the API reference does: "number|null, 0.25 to 2, default 1".
func words(s schema) string {
	if s.Ref != "" {
		return s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	}
	said := []string{typeOf(s)}
	say := func(format string, values ...any) { said = append(said, fmt.Sprintf(format, values...)) }
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		say("%s to %s", decimal(*s.Minimum), decimal(*s.Maximum))
	case s.Minimum != nil:
		say(">= %s", decimal(*s.Minimum))
	case s.ExclusiveMinimum != nil:
		say("> %s", decimal(*s.ExclusiveMinimum))
	case s.Maximum != nil:
		say("<= %s", decimal(*s.Maximum))
	}
	switch {
	case s.MinLength != nil && s.MaxLength != nil:
		say("length %d to %d", *s.MinLength, *s.MaxLength)
	case s.MinLength != nil:
		say("min length %d", *s.MinLength)
	case s.MaxLength != nil:
		say("max length %d", *s.MaxLength)
	}
	if s.Format != "" {
		say("%s", s.Format)
	}
	if s.Enum != nil {
		values := slices.DeleteFunc(slices.Clone(s.Enum), func(one any) bool { return one == nil })
		say("one of %s", strings.Trim(fmt.Sprint(values), "[]"))
	}
	if s.Default != nil {
		say("default %v", s.Default)
	}
	return strings.Join(said, ", ")
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func typeOf(s schema) string {
	switch kind := s.Type.(type) {
	case string:
		if kind == "array" {
			return "array of " + words(*s.Items)
		}
		return kind
	case []any:
		plain := s
		plain.Type = kind[0]
		return fmt.Sprintf("%s|%v", typeOf(plain), kind[1])
	}
	var alternatives []string
	for _, one := range s.AnyOf {
		alternatives = append(alternatives, words(one))
	}
	return strings.Join(alternatives, "|")
}

func TestTheDescription(t *testing.T) {
	s := start(t, dataFolder(t), "--redirect-origins=http://localhost:3000")
	t.Run("is the published interface", s.description().isTheInterface)
	t.Run("has words for everything", s.everythingIsDescribed)
	t.Run("is what the server checks", s.boundsWhatIsDescribed)
	t.Run("has examples that are answered", s.examplesAreAnswered)
}

// boundsWhatIsDescribed checks that the server refuses values beyond the described limits and accepts values within
// them.
func (s *server) boundsWhatIsDescribed(t *testing.T) {
	checked := 0
	for path, item := range s.description().Paths {
		for method, o := range item {
			for _, p := range o.Parameters {
				if p.In != "query" {
					continue
				}
				for _, value := range within(p.Schema) {
					require.False(t, s.refuses(method, path, p.Name, value), "%s %s: %s=%s", method, path, p.Name, value)
					checked++
				}
				for _, value := range beyond(p.Schema) {
					require.True(t, s.refuses(method, path, p.Name, value), "%s %s: %s=%s", method, path, p.Name, value)
					checked++
				}
			}
		}
	}
	require.Greater(t, checked, 60)
}

func within(s schema) (values []string) {
	for _, one := range s.Enum {
		if one != nil {
			values = append(values, fmt.Sprint(one))
		}
	}
	for _, bound := range []*float64{s.Minimum, s.Maximum} {
		if bound != nil {
			values = append(values, fmt.Sprintf("%f", *bound))
		}
	}
	if s.ExclusiveMinimum != nil {
		values = append(values, fmt.Sprintf("%.0f", *s.ExclusiveMinimum+1))
	}
	if s.MaxLength != nil && s.Enum == nil && s.Format == "" {
		values = append(values, strings.Repeat("é", *s.MaxLength))
	}
	return values
}

func beyond(s schema) (values []string) {
	if s.Enum != nil {
		values = append(values, "nothing-of-these", "7")
	}
	if s.Minimum != nil {
		values = append(values, fmt.Sprintf("%f", *s.Minimum-1))
	}
	if s.ExclusiveMinimum != nil {
		values = append(values, fmt.Sprintf("%f", *s.ExclusiveMinimum))
	}
	if s.Maximum != nil {
		values = append(values, fmt.Sprintf("%f", *s.Maximum+1))
	}
	if s.MinLength != nil && *s.MinLength > 0 {
		values = append(values, "")
	}
	if s.MaxLength != nil {
		values = append(values, strings.Repeat("é", *s.MaxLength+1))
	}
	return values
}

// refuses reports whether the server returns 422 with an error of a parameter.
func (s *server) refuses(method, path, name, value string) bool {
	s.t.Helper()
	address := s.address + strings.NewReplacer("{", "", "}", "").Replace(path) + "?" + url.Values{name: {value}}.Encode()
	request, err := http.NewRequest(strings.ToUpper(method), address, nil)
	require.NoError(s.t, err)
	request.Header.Set("x-api-key", s.key)
	got := do(s.t, request)
	if got.status != 422 {
		return false
	}
	var told struct{ Detail []struct{ Loc []any } }
	require.NoError(s.t, json.Unmarshal(got.body, &told))
	return slices.ContainsFunc(told.Detail,
		func(item struct{ Loc []any }) bool { return slices.Contains(item.Loc, any(name)) })
}
