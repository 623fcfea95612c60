package architecture_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// privacy is the document that classifies each text in an event, with the reason why readers of the log may see it.
const privacy = "../../docs/privacy.md"

// ofMetadata stands for a type in the document's table: the metadata of every event.
const ofMetadata = "metadata"

// Each text in an event must be classified in the document. Sealed fields hold bytes.
func TestEachTextOfAnEventIsClassified(t *testing.T) {
	listed := classified(t)
	used := map[classification]bool{}
	for event, fields := range texts(t) {
		for field, isBytes := range fields {
			one, found := listed.of(event, field)
			if !assert.True(t, found, "%s of %s is in no row of docs/privacy.md", field, event) {
				continue
			}
			used[one] = true
			assert.Equal(t, one.class == "sealed", isBytes, "%s of %s: sealed fields, and only these, hold bytes",
				field, event)
		}
	}
	for _, one := range listed {
		assert.True(t, used[one], "docs/privacy.md has a row for %s of %s, which no event has", one.field, one.event)
	}
}

// texts returns the fields of each type of event that hold text or bytes, by their path in the event's JSON.
func texts(t *testing.T) map[string]map[string]bool {
	t.Helper()
	registry, err := app.Registry()
	require.NoError(t, err)
	all := map[string]map[string]bool{ofMetadata: {}}
	collect(t, all[ofMetadata], "", reflect.TypeFor[eventlog.Metadata]())
	for _, one := range registry.Types() {
		decoded, err := registry.Decode(eventlog.Recorded{Type: one.Name(), Data: []byte("{}"),
			Metadata: fmt.Appendf(nil, `{"v":%d}`, one.Version())})
		require.NoError(t, err)
		all[one.Name()] = map[string]bool{}
		collect(t, all[one.Name()], "", reflect.TypeOf(decoded.Event))
	}
	return all
}

// collect adds the texts below a type to found; the value is true for bytes.
func collect(t *testing.T, found map[string]bool, path string, of reflect.Type) {
	t.Helper()
	switch of.Kind() {
	case reflect.String:
		found[path] = false
	case reflect.Pointer:
		collect(t, found, path, of.Elem())
	case reflect.Map:
		collect(t, found, path+".*", of.Key())
		collect(t, found, path, of.Elem())
	case reflect.Slice, reflect.Array:
		switch {
		case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Uint8:
			found[path] = true
		case of.Elem().Kind() != reflect.Uint8: // an array of bytes is an id
			collect(t, found, path, of.Elem())
		}
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() {
			return
		}
		for field := range of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if field.Anonymous && name == "" {
				collect(t, found, path, field.Type)
				continue
			}
			require.NotEmpty(t, name, "%s of %s has no name in JSON", field.Name, of)
			collect(t, found, strings.TrimPrefix(path+"."+name, "."), field.Type)
		}
	default:
		require.NotEqual(t, reflect.Interface, of.Kind(), "%s may hold anything", path)
	}
}

// classification is a row of the document for one type of event. event is "all" if it applies to every event with the
// field.
type classification struct{ field, event, class string }

type classifications []classification

// of returns the classification of a field for the event, or else the one for all.
func (c classifications) of(event, field string) (classification, bool) {
	for _, of := range []string{event, "all"} {
		if i := slices.IndexFunc(c, func(one classification) bool { return one.event == of && one.field == field }); i >= 0 {
			return c[i], true
		}
	}
	return classification{}, false
}

var (
	row    = regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| ([^|]+) \\| (sealed|hash|id|word|operator) \\| [^|]+ \\|$")
	quoted = regexp.MustCompile("`([^`]+)`")
)

// classified reads the document's table: fields, types of events, class, words.
func classified(t *testing.T) (all classifications) {
	t.Helper()
	document, err := os.ReadFile(privacy)
	require.NoError(t, err)
	for _, cells := range row.FindAllStringSubmatch(string(document), -1) {
		events := []string{"all"}
		if cells[2] != "all" {
			events = nil
			for _, event := range quoted.FindAllStringSubmatch(cells[2], -1) {
				events = append(events, event[1])
			}
		}
		for _, field := range quoted.FindAllStringSubmatch(cells[1], -1) {
			for _, event := range events {
				one := classification{field[1], event, cells[3]}
				require.False(t, slices.ContainsFunc(all, func(o classification) bool {
					return o.field == one.field && o.event == one.event
				}), "%s of %s is in two rows", one.field, one.event)
				all = append(all, one)
			}
		}
	}
	require.NotEmpty(t, all)
	return all
}
