package star_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/spec"
	"github.com/recital-tts/recital/domain/star"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestStars(t *testing.T) {
	set := func(starred bool) star.Set {
		return star.Set{Account: "a1", Voice: "leah", Starred: starred, At: noon}
	}
	starred, unstarred := star.Starred{Account: "a1", Voice: "leah", At: noon},
		star.Unstarred{Account: "a1", Voice: "leah", At: noon}
	full := []star.Event{star.SnapshotTaken{Account: "a1", Voices: make([]string, star.MaxStars)}}
	spec.Run(t, star.Evolve, []spec.Case[star.State, star.Event]{
		{Name: "are given", When: set(true), Then: []star.Event{starred}},
		{Name: "once", Given: []star.Event{starred}, When: set(true)},
		{Name: "are withdrawn", Given: []star.Event{starred}, When: set(false), Then: []star.Event{unstarred}},
		{Name: "once", Given: []star.Event{starred, unstarred}, When: set(false)},
		{Name: "are given again", Given: []star.Event{starred, unstarred}, When: set(true), Then: []star.Event{starred}},
		{Name: "are not without end", Given: full, When: set(true), Refused: domain.Denied},
		{Name: "are withdrawn with their voices", Given: []star.Event{starred},
			When: star.Withdraw{Voices: []string{"v", "leah"}, At: noon}, Then: []star.Event{unstarred}},
		{Name: "outlive a snapshot", Given: []star.Event{star.SnapshotTaken{Account: "a1", Voices: []string{"leah"}}},
			When: set(true)},
	})
}

func TestALoadStaysShort(t *testing.T) {
	var s star.State
	for i := range 5000 {
		s = star.Evolve(s, star.Starred{Account: "a1", Voice: fmt.Sprint(i)})
		snapshot := s.Snapshot(noon)
		if len(snapshot) > 0 {
			before := s
			s = spec.FromSnapshot(t, star.Evolve, snapshot, before, star.State{Account: "a1", Voices: []string{"gone"}})
			before.SinceSnapshot = 0
			require.Equal(t, before, s)
		}
		require.Len(t, s.Voices, i+1)
		require.LessOrEqual(t, s.SinceSnapshot, 501)
	}
}
