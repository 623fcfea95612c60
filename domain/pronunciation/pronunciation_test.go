package pronunciation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/pronunciation"
	"github.com/recital-tts/recital/domain/spec"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func TestPronunciations(t *testing.T) {
	set := func(entry, sealed string) pronunciation.SetEntry {
		return pronunciation.SetEntry{Account: "a1", Entry: entry, Sealed: []byte(sealed), At: noon}
	}
	remove := pronunciation.Remove{Entry: "e1", At: noon}
	was, is := pronunciation.Set(set("e1", "tomato")), pronunciation.Set(set("e1", "potato"))
	removed := pronunciation.Removed{Account: "a1", Entry: "e1", At: noon}
	snapshot := func(count, bytes int) pronunciation.Event {
		s := pronunciation.SnapshotTaken{Account: "a1"}
		for i := range count {
			s.Entries = append(s.Entries, pronunciation.Entry{ID: fmt.Sprint("e", i), Sealed: make([]byte, bytes)})
		}
		return s
	}
	spec.Run(t, pronunciation.Evolve, []spec.Case[pronunciation.State, pronunciation.Event]{
		{Name: "are added", When: set("e1", "tomato"), Then: []pronunciation.Event{was}},
		{Name: "are replaced", Given: []pronunciation.Event{was}, When: set("e1", "potato"),
			Then: []pronunciation.Event{is}},
		{Name: "stay where nothing is new", Given: []pronunciation.Event{was}, When: set("e1", "")},
		{Name: "are removed", Given: []pronunciation.Event{was}, When: remove, Then: []pronunciation.Event{removed}},
		{Name: "are removed once", Given: []pronunciation.Event{was, removed}, When: remove, Refused: domain.NotFound},
		{Name: "have an account", When: pronunciation.SetEntry{Entry: "e1"}, Refused: domain.Invalid},
		{Name: "are at most a thousand", Given: []pronunciation.Event{snapshot(1000, 1)}, When: set("x", "y"),
			Refused: domain.Denied},
		{Name: "are replaced in a full list", Given: []pronunciation.Event{snapshot(1000, 1)}, When: set("e1", "potato"),
			Then: []pronunciation.Event{is}},
		{Name: "fit in one event", Given: []pronunciation.Event{snapshot(384, 1<<10)}, When: set("x", "y"),
			Refused: domain.Denied},
	})
}

func TestALoadStaysShort(t *testing.T) {
	var s pronunciation.State
	for i := range 3000 {
		s = pronunciation.Evolve(s, pronunciation.Set{Account: "a1", Entry: fmt.Sprint(i % 700), Sealed: []byte{1}})
		snapshot := s.Snapshot(noon)
		if len(snapshot) > 0 {
			before := s
			s = spec.FromSnapshot(t, pronunciation.Evolve, snapshot, before, pronunciation.State{Account: "a1"})
			before.SinceSnapshot = 0
			require.Equal(t, before, s)
		}
		require.Len(t, s.Entries, min(i+1, 700))
		require.LessOrEqual(t, s.SinceSnapshot, 701)
	}
}
