package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/http/web"
)

const (
	figureEvery = 30 * time.Second
	figuresKept = 120 // of the last hour
)

// figure has the figures of this instance for one interval.
type figure struct {
	At         time.Time `json:"at" doc:"The end of the interval."`
	Requests   int64     `json:"requests" doc:"Requests to the public address that were answered."`
	Errors     int64     `json:"errors" doc:"How many of these were answered with a status of 500 and above."`
	Syntheses  int64     `json:"syntheses" doc:"Syntheses, and units of WebSockets, that have ended."`
	Failures   int64     `json:"failures" doc:"How many of these have failed."`
	Characters int64     `json:"characters" doc:"Characters that were spoken and count."`
	FirstAudio *float64  `json:"first_audio" doc:"The median of the time until first audio, in seconds."`
	SlowAudio  *float64  `json:"first_audio_p95" doc:"Its 95th percentile."`
	Lag        *float64  `json:"lag" doc:"The age of the oldest event that a live read model lacks at the end of the interval, in seconds; null while that is unknown."`
	LagBuilt   *float64  `json:"lag_building" doc:"The same of the read models that are being built; null where none is."`
}

type figuresReply struct {
	Every   float64  `json:"every" doc:"The length of the intervals, in seconds. The first has begun with the instance."`
	Figures []figure `json:"figures" doc:"Those of the last hour, the oldest first."`
}

// figures remembers the last hour of some metrics.
type figures struct {
	from     *prometheus.Registry // with only these metrics, so that reading them queries neither Postgres nor the log
	overview *recent[feed.Overview]

	mu   sync.Mutex
	last totals
	kept []figure
}

func newFigures(m *metrics) *figures {
	f := &figures{from: prometheus.NewRegistry(), overview: m.projections.overview}
	f.from.MustRegister(m.requests, m.speech.ended, m.speech.characters, m.speech.firstAudio)
	return f
}

func (f *figures) route() web.Route {
	return web.Get("/admin/figures", func(*web.Call, struct{}) (web.Reply, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		reply := figuresReply{Every: figureEvery.Seconds(), Figures: append([]figure{}, f.kept...)}
		return web.JSON(reply).WithHeader("Cache-Control", "no-store"), nil
	}, web.Role("operator", "auditor"), web.WhileDraining(), web.Tag("Operators"),
		web.Summary("What this instance did in the last hour"), web.Returns[figuresReply]())
}

func (f *figures) job() job {
	return job{name: "the figures of the last hour", every: figureEvery, run: func(context.Context) error {
		return f.note(time.Now().UTC())
	}}
}

// note ends an interval.
func (f *figures) note(now time.Time) error {
	families, err := f.from.Gather()
	if err != nil {
		return fmt.Errorf("gathering metrics: %w", err)
	}
	overview, _ := f.overview.get() // which has no generations while it is unknown
	f.mu.Lock()
	defer f.mu.Unlock()
	all := totalsOf(families)
	figure := all.since(f.last, now)
	figure.Lag = longestLag(overview.Generations, func(g feed.Generation) bool { return g.Live })
	figure.LagBuilt = longestLag(overview.Generations, func(g feed.Generation) bool {
		return g.State == feed.GenerationBuilding
	})
	f.kept = append(f.kept, figure)
	f.kept = f.kept[max(0, len(f.kept)-figuresKept):]
	f.last = all
	return nil
}

// longestLag returns the longest lag of the selected generations, in seconds, or nil if there are none.
func longestLag(generations []feed.Generation, is func(feed.Generation) bool) (longest *float64) {
	for _, g := range generations {
		if lag := g.Lag.Seconds(); is(g) && (longest == nil || lag > *longest) {
			longest = &lag
		}
	}
	return longest
}

// totals are counts since the start.
type totals struct {
	requests, errors                uint64
	syntheses, failures, characters float64
	firstAudio                      uint64
	within                          map[float64]uint64 // syntheses by the time to their first audio in seconds
}

func totalsOf(families []*dto.MetricFamily) totals {
	t := totals{within: map[float64]uint64{}}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			t.add(family.GetName(), m)
		}
	}
	return t
}

func (t *totals) add(name string, m *dto.Metric) {
	switch name {
	case "recital_http_request_duration_seconds":
		if labelOf(m, "server") == "public" {
			t.requests += m.GetHistogram().GetSampleCount()
		}
		if labelOf(m, "server") == "public" && labelOf(m, "status") >= "500" {
			t.errors += m.GetHistogram().GetSampleCount()
		}
	case "recital_speech_syntheses_total":
		t.syntheses += m.GetCounter().GetValue()
		if labelOf(m, "outcome") == string(synthesis.Failed) {
			t.failures += m.GetCounter().GetValue()
		}
	case "recital_speech_characters_total":
		t.characters += m.GetCounter().GetValue()
	case "recital_speech_first_audio_seconds":
		t.firstAudio += m.GetHistogram().GetSampleCount()
		for _, bucket := range m.GetHistogram().GetBucket() {
			t.within[bucket.GetUpperBound()] += bucket.GetCumulativeCount()
		}
	}
}

func labelOf(m *dto.Metric, name string) string {
	for _, label := range m.GetLabel() {
		if label.GetName() == name {
			return label.GetValue()
		}
	}
	return ""
}

func (t totals) since(last totals, now time.Time) figure {
	return figure{
		At: now, Requests: int64(t.requests - last.requests), Errors: int64(t.errors - last.errors),
		Syntheses: int64(t.syntheses - last.syntheses), Failures: int64(t.failures - last.failures),
		Characters: int64(t.characters - last.characters),
		FirstAudio: t.firstAudioWithin(last, 0.5), SlowAudio: t.firstAudioWithin(last, 0.95),
	}
}

// firstAudioWithin returns the bound of the histogram within which a share of the syntheses had their first audio, or
// nil without any. Times beyond the last bound count as the last bound.
func (t totals) firstAudioWithin(last totals, share float64) *float64 {
	count := float64(t.firstAudio - last.firstAudio)
	if count == 0 {
		return nil
	}
	bounds := slices.Sorted(maps.Keys(t.within))
	for _, bound := range bounds {
		if float64(t.within[bound]-last.within[bound]) >= share*count {
			return &bound
		}
	}
	return &bounds[len(bounds)-1]
}
