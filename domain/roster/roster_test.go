package roster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/spec"
	"github.com/recital-tts/recital/domain/voice"
)

type (
	row    = spec.Case[roster.State, roster.Event]
	events = []roster.Event
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func limits(t testing.TB, of plan.Type, most int) roster.Limits {
	t.Helper()
	terms, err := plan.Lookup(of)
	require.NoError(t, err)
	return roster.Limits{Plan: terms, Most: most}
}

func taken(id string, of voice.Type, key string) roster.PlaceTaken {
	return roster.PlaceTaken{Account: "a1", Voice: id, Type: of, Repetition: domain.Repetition{Key: key, Content: key},
		At: noon}
}

func many(n int, of voice.Type) (all events) {
	for i := range n {
		all = append(all, taken(fmt.Sprint("v", i), of, ""))
	}
	return all
}

func TestPlaces(t *testing.T) {
	take := func(of voice.Type, on plan.Type, most int) roster.Take {
		return roster.Take{Account: "a1", Voice: "v", Type: of, Limits: limits(t, on, most), At: noon}
	}
	free := roster.Free{Voices: []string{"v0"}, At: noon}
	freed := roster.PlaceFreed{Account: "a1", Voice: "v0", Type: voice.Instant, At: noon}
	instant, professional := taken("v", voice.Instant, ""), taken("v", voice.Professional, "")
	spec.Run(t, roster.Evolve, []row{
		{Name: "are taken", When: take(voice.Instant, plan.Free, 10), Then: events{instant}},
		{Name: "once", Given: events{instant}, When: take(voice.Instant, plan.Free, 10)},
		{Name: "up to the plan's limit", Given: many(4, voice.Instant), When: take(voice.Instant, plan.Free, 10),
			Then: events{instant}},
		{Name: "not beyond", Given: many(5, voice.Instant), When: take(voice.Instant, plan.Free, 10),
			Refused: domain.PaymentRequired},
		{Name: "not of a type that it does not include", When: take(voice.Professional, plan.Free, 10),
			Refused: domain.PaymentRequired},
		{Name: "of each type by itself", Given: many(5, voice.Instant), When: take(voice.Professional, plan.Indie, 10),
			Then: events{professional}},
		{Name: "without limit", Given: many(5, voice.Professional), When: take(voice.Professional, plan.Enterprise, 10),
			Then: events{professional}},
		{Name: "but not without end", Given: many(10, voice.Professional),
			When: take(voice.Professional, plan.Enterprise, 10), Refused: domain.PaymentRequired},
		{Name: "not by a closed account", Given: events{roster.Ended{Account: "a1"}},
			When: take(voice.Instant, plan.Free, 10), Refused: domain.Unauthenticated},

		{Name: "are freed", Given: many(1, voice.Instant), When: free, Then: events{freed}},
		{Name: "once", Given: append(many(1, voice.Instant), freed), When: free},
		{Name: "many at once", Given: many(2, voice.Instant), When: roster.Free{Voices: []string{"v0", "w", "v1"}, At: noon},
			Then: events{freed, roster.PlaceFreed{Account: "a1", Voice: "v1", Type: voice.Instant, At: noon}}},
		{Name: "and taken again", Given: append(many(5, voice.Instant), freed), When: take(voice.Instant, plan.Free, 10),
			Then: events{instant}},
		{Name: "of a closed account, too", Given: append(many(1, voice.Instant), roster.Ended{Account: "a1"}), When: free,
			Then: events{freed}},
		{Name: "end", When: roster.End{Account: "a1", At: noon}, Then: events{roster.Ended{Account: "a1", At: noon}}},
		{Name: "once", Given: events{roster.Ended{Account: "a1"}}, When: roster.End{Account: "a1", At: noon}},
	})
}

func TestRepetitions(t *testing.T) {
	take := func(key, content string, at time.Time) roster.Take {
		return roster.Take{Account: "a1", Voice: "w", Type: voice.Instant, Limits: limits(t, plan.Pro, 10_000),
			Repetition: domain.Repetition{Key: key, Content: content}, At: at}
	}
	known := events{taken("v", voice.Instant, "k")}
	again := taken("w", voice.Instant, "k")
	again.At = noon.Add(domain.RememberedFor)
	abandoned := roster.PlaceFreed{Account: "a1", Voice: "v", Type: voice.Instant, Abandoned: true}
	deleted := abandoned
	deleted.Abandoned = false
	var full events
	for i := range roster.MaxRemembered {
		id := fmt.Sprint("v", i)
		full = append(full, taken(id, voice.Professional, id),
			roster.PlaceFreed{Account: "a1", Voice: id, Type: voice.Professional})
	}
	spec.Run(t, roster.Evolve, []row{
		{Name: "change nothing", Given: known, When: take("k", "k", noon.Add(domain.RememberedFor-1))},
		{Name: "want the same", Given: known, When: take("k", "other", noon), Refused: domain.Invalid},
		{Name: "are forgotten", Given: known, When: take("k", "k", again.At), Then: events{again}},
		{Name: "are known after the voice", Given: append(known, deleted), When: take("k", "k", noon)},
		{Name: "of what was never created create", Given: append(known, abandoned), When: take("k", "k", noon),
			Then: events{taken("w", voice.Instant, "k")}},
		{Name: "are bounded", Given: full, When: take("k", "k", noon), Refused: domain.Rejected},
		{Name: "for those with a key", Given: full, When: take("", "", noon), Then: events{taken("w", voice.Instant, "")}},
		{Name: "and a day", Given: full, When: take("k", "k", again.At), Then: events{again}},
	})
	voiceOf, err := take("k", "k", noon).Repeated(spec.Fold(roster.Evolve, known))
	require.NoError(t, err)
	require.Equal(t, "v", voiceOf)
}

func TestASnapshotIsTheWholeState(t *testing.T) {
	all := events{taken("v", voice.Instant, "k"), taken("w", voice.Professional, ""), roster.PlaceFreed{Voice: "v"},
		roster.Ended{Account: "a1"}}
	for n := range len(all) + 1 {
		before := spec.Fold(roster.Evolve, all[:n])
		after := spec.FromSnapshot(t, roster.Evolve, events{roster.SnapshotTaken{Facts: before.Facts}}, before,
			spec.Fold(roster.Evolve, all))
		for _, event := range all[n:] {
			after = roster.Evolve(after, event)
		}
		require.Equal(t, spec.Fold(roster.Evolve, all).Facts, after.Facts)
	}
}

// A snapshot is as large as the places, so that it becomes rarer with more of them. A load stays short anyway.
func TestSnapshotsAreAsRareAsTheyAreLarge(t *testing.T) {
	var s roster.State
	sinceLast := 0
	for i := range 3000 {
		s = roster.Evolve(s, taken(fmt.Sprint(i), voice.Instant, ""))
		sinceLast++
		snapshot := s.Snapshot(noon)
		if len(snapshot) > 0 {
			require.GreaterOrEqual(t, sinceLast, max(100, len(s.Places)/10))
			s, sinceLast = roster.Evolve(s, snapshot[0]), 0
		}
		require.LessOrEqual(t, s.SinceSnapshot, 301)
	}
}
