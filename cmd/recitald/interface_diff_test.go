package main_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// published is the content of testdata/interface.yaml.
type published struct {
	Version    string
	Operations map[string]struct {
		Credentials []string
		Path, Query map[string]publishedField
		Body        *publishedBody
		Reply       schema
		NotShown    []string `json:"not_shown"`
	}
	Records map[string]map[string]publishedField
}

type publishedBody struct {
	Media    []string
	Fields   map[string]publishedField
	Required bool // of a body without fields
	Partial  bool // other fields are permitted
}

type publishedField struct {
	schema
	Required bool
}

func (f publishedField) words() string { return field(f.schema, f.Required) }

func field(s schema, required bool) string {
	if required {
		return words(s) + ", required"
	}
	return words(s)
}

func testdata(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	var document any
	require.NoError(t, yaml.Unmarshal(text, &document))
	encoded, err := json.Marshal(document)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(encoded, into))
}

// facts maps places to comparable descriptions: "GET /v1/account/clips query page" to "integer, > 0, default 1".
type facts map[string]string

const notShown = "not shown"

func (p published) facts() facts {
	all := facts{"version": p.Version}
	for row, o := range p.Operations {
		all[row] = "an operation"
		all[row+" credentials"] = credentials(o.Credentials)
		all[row+" 200"] = words(o.Reply)
		for source, fields := range map[string]map[string]publishedField{"path": o.Path, "query": o.Query} {
			all.add(row+" "+source, fields)
		}
		if len(o.Path)+len(o.Query) > 0 || o.Body != nil {
			all[row+" 422"] = "HTTPValidationError"
		}
		if o.Body != nil {
			all.addBody(row+" body", o.Body)
		}
		for _, part := range o.NotShown {
			all[row+" "+strings.Replace(part, "reply", "200", 1)] = notShown
		}
	}
	for name, fields := range p.Records {
		all.add(name, fields)
	}
	return all
}

func (all facts) add(place string, fields map[string]publishedField) {
	for name, f := range fields {
		all[place+" "+name] = f.words()
	}
}

func (all facts) addBody(place string, b *publishedBody) {
	required := b.Required
	for _, f := range b.Fields {
		required = required || f.Required
	}
	all[place] = body(strings.Join(b.Media, " "), required)
	all.add(place, b.Fields)
	if b.Partial {
		all[place+" others"] = notShown
	}
}

func body(media string, required bool) string {
	if media == "" {
		media = "application/json"
	}
	if required {
		return media + ", required"
	}
	return media
}

// credentials joins the names of alternative credentials.
func credentials(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " or ")
}

// facts returns the facts of the operations that the published interface has.
func (d description) facts(p published) facts {
	all := facts{"version": d.Info.Version}
	for path, item := range d.Paths {
		for method, o := range item {
			row := strings.ToUpper(method) + " " + path
			if o.WebSocket {
				row = "WSS " + path
			}
			all[row] = "an operation"
			if _, known := p.Operations[row]; known {
				d.addOperation(all, row, o)
			}
		}
	}
	for _, shared := range d.Components.Parameters {
		all["many operations "+shared.In+" "+shared.Name] = field(shared.Schema, shared.Required)
	}
	for name := range p.Records {
		d.addFields(all, name, d.Components.Schemas[name])
	}
	return all
}

func (d description) addOperation(all facts, row string, o operation) {
	var names []string
	for _, admits := range o.Security {
		name := credentials(slices.Collect(maps.Keys(admits)))
		names = append(names, strings.NewReplacer("ApiKeyHeader", "key", "SessionCookie", "cookie").Replace(name))
	}
	all[row+" credentials"] = credentials(names)
	for _, p := range o.Parameters {
		if p.Name != "" { // shared parameters have no name here
			all[row+" "+p.In+" "+p.Name] = field(p.Schema, p.Required)
		}
	}
	if content := o.RequestBody.Content; len(content) > 0 {
		all[row+" body"] = body(content.names(), o.RequestBody.Required)
		d.addFields(all, row+" body", d.Components.Schemas[words(content[0].Schema)])
	}
	reply := o.Responses["200"].Content
	all[row+" 200"] = reply.names()
	if len(reply) > 0 && reply[0].name == "application/json" {
		all[row+" 200"] = words(reply[0].Schema)
	}
	if refused, described := o.Responses["422"]; described {
		name := refused.Ref[strings.LastIndex(refused.Ref, "/")+1:]
		all[row+" 422"] = words(d.Components.Responses[name].Content[0].Schema)
	}
}

func (d description) addFields(all facts, place string, s schema) {
	for name, property := range s.Properties {
		all[place+" "+name] = field(property, slices.Contains(s.Required, name))
	}
}

// isTheInterface compares the description with the published interface. Each difference needs a line in
// testdata/differences.yaml under its reason.
func (d description) isTheInterface(t *testing.T) {
	var p published
	testdata(t, "interface.yaml", &p)
	var listed []struct {
		Reason      string
		Differences []string
	}
	testdata(t, "differences.yaml", &listed)
	var onPurpose []string
	for _, one := range listed {
		require.NotEmpty(t, one.Reason)
		require.NotEmpty(t, one.Differences, one.Reason)
		onPurpose = append(onPurpose, one.Differences...)
	}
	require.Equal(t, "audio/mpeg", d.Paths["/v1/ai/speech"]["get"].Responses["200"].Content[0].name,
		"the default comes first")
	differences := p.facts().differences(d.facts(p))
	require.Greater(t, len(p.facts()), 400)
	for _, line := range without(differences, onPurpose) {
		t.Errorf("a new difference; fix it, or list it in differences.yaml under its reason:\n    - %q", line)
	}
	for _, line := range without(onPurpose, differences) {
		t.Errorf("listed in differences.yaml twice, or no longer a difference:\n    - %q", line)
	}
}

// without returns all minus some, as multisets.
func without(all, some []string) []string {
	some = slices.Clone(some)
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool {
		i := slices.Index(some, one)
		if i >= 0 {
			some = slices.Delete(some, i, i+1)
		}
		return i >= 0
	})
}

// differences returns lines of the form "place: interface → served".
func (all facts) differences(served facts) (lines []string) {
	places := maps.Clone(all)
	maps.Copy(places, served)
	for _, place := range slices.Sorted(maps.Keys(places)) {
		want, got := all[place], served[place]
		if want != got && !all.leavesOpen(place) && !served.lacks(place) {
			lines = append(lines, place+": "+orAbsent(want)+" → "+orAbsent(got))
		}
	}
	return lines
}

// leavesOpen reports whether the interface does not specify a place.
func (all facts) leavesOpen(place string) bool {
	if all[place] == notShown || all[place] == "" && strings.HasSuffix(place, " 422") { // any operation may answer 422
		return true
	}
	parent := place[:max(0, strings.LastIndex(place, " "))]
	return all[parent] == notShown || all[parent+" others"] == notShown && all[place] == ""
}

// lacks reports whether a place belongs to an operation that is absent.
func (all facts) lacks(place string) bool {
	method, rest, _ := strings.Cut(place, " ")
	path, _, isPart := strings.Cut(rest, " ")
	return isPart && strings.HasPrefix(path, "/") && all[method+" "+path] == ""
}

func orAbsent(what string) string {
	if what == "" {
		return "absent"
	}
	return what
}
