package app

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/http/web"
)

func TestTheFiguresOfTheLastHourAreThoseOfEachInterval(t *testing.T) {
	generations := []feed.Generation{
		{Live: true, Lag: time.Second}, {Live: true, Lag: 3 * time.Second}, {State: feed.GenerationUnfed, Lag: time.Hour},
		{State: feed.GenerationBuilding, Lag: time.Minute},
	}
	m := newMetrics(func(context.Context) (feed.Overview, error) { return feed.Overview{Generations: generations}, nil })
	f := m.figures
	at := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	f.note(at)
	require.Equal(t, []figure{{At: at, Lag: new(3.0), LagBuilt: new(60.0)}}, f.kept)

	m.observeRequest("public")(web.Observation{Status: 200})
	m.observeRequest("public")(web.Observation{Status: 503})
	m.observeRequest("admin")(web.Observation{Status: 500})
	for n := range 20 {
		first := 3 * time.Millisecond
		if n >= 18 {
			first = time.Hour // beyond the last bound
		}
		m.observeSynthesis(synthesis.Observation{
			Kind: synthesis.Streamed, Outcome: synthesis.Done, Characters: 7, FirstAudio: first,
		})
	}
	m.observeSynthesis(synthesis.Observation{Kind: synthesis.Streamed, Outcome: synthesis.Failed})
	f.note(at)
	require.Equal(t, figure{
		At: at, Requests: 2, Errors: 1, Syntheses: 21, Failures: 1, Characters: 140,
		FirstAudio: new(math.Ldexp(0.001, 2)), SlowAudio: new(math.Ldexp(0.001, 14)),
		Lag: new(3.0), LagBuilt: new(60.0),
	}, f.kept[1])

	// the next interval starts at zero, and the first is discarded after an hour
	for range figuresKept {
		f.note(at.Add(time.Hour))
	}
	require.Len(t, f.kept, figuresKept)
	require.Equal(t, figure{At: at.Add(time.Hour), Lag: new(3.0), LagBuilt: new(60.0)}, f.kept[0])
}
