package catalog_test

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

	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/eventlog/catalog"
)

// Golden files are what the log holds, for ever: they are added, never changed or removed.
var update = flag.Bool("update", false, "write the golden files that are missing, from the examples")

const folder = "testdata/events"

func goldenFile(name string, version int) string {
	return filepath.Join(folder, fmt.Sprintf("%s.v%d.json", name, version))
}

func registry(t *testing.T) *eventlog.Registry {
	t.Helper()
	r, err := catalog.Registry()
	require.NoError(t, err)
	return r
}

func exampleOf(t *testing.T, name string, version int) example {
	t.Helper()
	for _, e := range examples {
		if e.name == name && e.version == version {
			return e
		}
	}
	require.Failf(t, "no example", "add one of %s version %d to examples_test.go, then run this test with -update", name, version)
	return example{}
}

func encode(t *testing.T, event any) json.RawMessage {
	t.Helper()
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: time.Unix(1, 0)}
	proposed, err := registry(t).Encode(uuid.New(), 0, meta, event)
	require.NoError(t, err)
	return proposed[0].Data
}

func TestEveryVersionOfEveryEventIsReadForEver(t *testing.T) {
	for _, eventType := range registry(t).Types() {
		for version := 1; version <= eventType.Version(); version++ {
			t.Run(fmt.Sprintf("%s.v%d", eventType.Name(), version), func(t *testing.T) {
				want := exampleOf(t, eventType.Name(), version).event
				newest := version == eventType.Version()
				if *update && newest {
					writeMissing(t, goldenFile(eventType.Name(), version), encode(t, want))
				}
				golden, err := os.ReadFile(goldenFile(eventType.Name(), version))
				require.NoError(t, err, "write it by running this test with -update")

				decoded, err := registry(t).Decode(eventlog.Recorded{
					Type:     eventType.Name(),
					Data:     golden,
					Metadata: fmt.Appendf(nil, `{"v":%d}`, version),
				})
				require.NoError(t, err)
				require.Equal(t, want, decoded.Event)
				if newest {
					require.JSONEq(t, string(golden), string(encode(t, decoded.Event)))
				}
			})
		}
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
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(file, append(pretty, '\n'), 0o644))
}

func TestNoEventIsForgotten(t *testing.T) {
	known := map[string]bool{}
	for _, eventType := range registry(t).Types() {
		for version := 1; version <= eventType.Version(); version++ {
			known[goldenFile(eventType.Name(), version)] = true
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	for _, file := range files {
		require.True(t, known[file], "%s: logs hold this event, and the catalog does not read it any more", file)
	}
	for _, e := range examples {
		require.True(t, known[goldenFile(e.name, e.version)], "the example of %s version %d has no type", e.name, e.version)
	}
}

// An example with a field at its zero value would not notice that the field is lost.
func TestExamplesSetEveryField(t *testing.T) {
	for _, e := range examples {
		value := reflect.ValueOf(e.event)
		for field, content := range value.Fields() {
			require.False(t, content.IsZero(), "the example of %s version %d leaves out %s", e.name, e.version, field.Name)
		}
	}
}
