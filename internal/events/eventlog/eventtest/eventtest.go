// Package eventtest checks that all events ever written remain readable. Each slice calls Golden in a test, with an
// example of each version of its event types.
package eventtest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

var update = flag.Bool("update", false, "write the golden files that are missing, from the examples")

// Folder is the folder of a package's golden files, which have the same content as events in logs. Files may be added,
// but not changed or removed.
const Folder = "testdata/events"

// Example is the event that a golden file decodes to. The file of the newest version was written from it.
type Example struct {
	Name    string
	Version int
	Variant string // distinguishes examples of a version with different optional fields; "" for the first
	Event   any
}

// Of returns an example of a version of an event type.
func Of(name string, version int, event any) Example {
	return Example{Name: name, Version: version, Event: event}
}

// As returns a further example of the version. Its file name contains the variant.
func (e Example) As(variant string) Example {
	e.Variant = variant
	return e
}

// File returns the path of the example's golden file.
func (e Example) File() string {
	name := fmt.Sprintf("%s.v%d", e.Name, e.Version)
	if e.Variant != "" {
		name += "." + e.Variant
	}
	return filepath.Join(Folder, name+".json")
}

// Golden checks that every version of every type has an example, that its golden file decodes to the example, that the
// newest version encodes to its file, and that every golden file has an example.
func Golden(t *testing.T, types []eventlog.Type, examples ...Example) {
	t.Helper()
	registry, err := eventlog.NewRegistry(types...)
	require.NoError(t, err)
	g := golden{registry: registry, examples: examples}
	for _, eventType := range types {
		for version := 1; version <= eventType.Version(); version++ {
			ofVersion := g.of(eventType.Name(), version)
			require.NotEmpty(t, ofVersion, "add an example of %s version %d, then run this test with -update", eventType.Name(),
				version)
			if version == eventType.Version() { // an older version has no value for later fields
				requireEveryField(t, ofVersion)
			}
			for _, e := range ofVersion {
				t.Run(filepath.Base(e.File()), func(t *testing.T) { g.check(t, e, version == eventType.Version()) })
			}
		}
	}
	t.Run("no event is forgotten", g.checkFiles)
}

type golden struct {
	registry *eventlog.Registry
	examples []Example
}

func (g golden) of(name string, version int) (found []Example) {
	for _, e := range g.examples {
		if e.Name == name && e.Version == version {
			found = append(found, e)
		}
	}
	return found
}

func (g golden) check(t *testing.T, e Example, newest bool) {
	if *update && newest {
		writeMissing(t, e.File(), g.encode(t, e.Event))
	}
	content, err := os.ReadFile(e.File())
	require.NoError(t, err, "write it by running this test with -update")
	decoded, err := g.registry.Decode(eventlog.Recorded{
		Type: e.Name, Data: content, Metadata: fmt.Appendf(nil, `{"v":%d}`, e.Version),
	})
	require.NoError(t, err)
	require.Equal(t, e.Event, decoded.Event)
	if newest {
		require.JSONEq(t, string(content), string(g.encode(t, decoded.Event)))
	}
}

func (g golden) encode(t *testing.T, event any) json.RawMessage {
	t.Helper()
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: time.Unix(1, 0)}
	proposed, err := g.registry.Encode(uuid.New(), 0, meta, event)
	require.NoError(t, err)
	return proposed[0].Data
}

func (g golden) checkFiles(t *testing.T) {
	known := map[string]bool{}
	for _, e := range g.examples {
		known[e.File()] = true
	}
	files, err := filepath.Glob(filepath.Join(Folder, "*"))
	require.NoError(t, err)
	for _, file := range files {
		require.True(t, known[file], "%s: logs hold this event, and it has no example", file)
	}
}

// requireEveryField fails if a field is zero in all examples of a version. The test would not detect that such a field
// is lost.
func requireEveryField(t *testing.T, examples []Example) {
	t.Helper()
	set := map[string]bool{}
	for _, e := range examples {
		for field, content := range reflect.ValueOf(e.Event).Fields() {
			set[field.Name] = set[field.Name] || !content.IsZero()
		}
	}
	for field, isSet := range set {
		require.True(t, isSet, "the examples of %s version %d leave out %s", examples[0].Name, examples[0].Version, field)
	}
}

func writeMissing(t *testing.T, file string, data json.RawMessage) {
	t.Helper()
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
		return
	}
	pretty, err := json.MarshalIndent(data, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(Folder, 0o755))
	require.NoError(t, os.WriteFile(file, append(pretty, '\n'), 0o644))
}
