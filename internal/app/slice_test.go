package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// goldenEvents finds the golden files of all slices, by name and version of the event.
func goldenEvents(t testing.TB) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, rooms := range []string{"../../commands/*", "../events/eventlog"} {
		files, err := filepath.Glob(filepath.Join(rooms, eventtest.Folder, "*.json"))
		require.NoError(t, err)
		for _, file := range files {
			found[filepath.Base(file)] = file
		}
	}
	return found
}

// Events without golden files could be changed unnoticed.
func TestEveryEventOfEverySliceHasAGoldenFile(t *testing.T) {
	registry, err := app.Registry()
	require.NoError(t, err)
	found := goldenEvents(t)
	for _, eventType := range registry.Types() {
		for version := 1; version <= eventType.Version(); version++ {
			require.Contains(t, found, filepath.Base(eventtest.Of(eventType.Name(), version, nil).File()))
		}
	}
}

// Tables of a released read model without a description could be changed unnoticed.
func TestEveryReadModelOfEverySliceIsDescribed(t *testing.T) {
	for _, p := range app.ReadModels() {
		found, err := filepath.Glob(fmt.Sprintf("../../projections/*/testdata/readmodels/%s.v%d.txt", p.Model.Name,
			p.Model.Version))
		require.NoError(t, err)
		require.Len(t, found, 1, "call feedtest.RequireReleased in a test of the projection %s", p.Model)
	}
}

// BenchmarkDecode reads one event of each type, with the metadata of a request.
func BenchmarkDecode(b *testing.B) {
	registry, err := app.Registry()
	require.NoError(b, err)
	golden := goldenEvents(b)
	var events []eventlog.Recorded
	for _, eventType := range registry.Types() {
		data, err := os.ReadFile(golden[filepath.Base(eventtest.Of(eventType.Name(), eventType.Version(), nil).File())])
		require.NoError(b, err)
		metadata, err := json.Marshal(eventlog.Metadata{
			CorrelationID: "req_NCwcMfUDpDJoBg7QaMnYRk", CommandID: uuid.New(), Version: eventType.Version(),
			Actor: eventlog.Actor{Kind: eventlog.ActorAccount, Account: uuid.NewString(), Key: "rk_abcd****wxyz"},
		})
		require.NoError(b, err)
		events = append(events, eventlog.Recorded{ID: uuid.New(), Type: eventType.Name(), Data: data, Metadata: metadata})
	}
	for b.Loop() {
		for _, event := range events {
			if _, err := registry.Decode(event); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
	benchtest.Finish(b)
}
