package app

import (
	"context"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

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

// figures counts what this instance does, and remembers the counts of the last hour.
type figures struct {
	overview *recent[feed.Overview]

	mu         sync.Mutex
	current    figure
	firstAudio []float64 // in seconds
	kept       []figure
}

func newFigures(overview *recent[feed.Overview]) *figures { return &figures{overview: overview} }

// countRequest counts a request to the public address.
func (f *figures) countRequest(o web.Observation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current.Requests++
	if o.Status >= http.StatusInternalServerError {
		f.current.Errors++
	}
}

func (f *figures) countSynthesis(o synthesis.Observation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current.Syntheses++
	f.current.Characters += int64(o.Characters)
	if o.Outcome == synthesis.Failed {
		f.current.Failures++
	}
	if o.FirstAudio > 0 {
		f.firstAudio = append(f.firstAudio, o.FirstAudio.Seconds())
	}
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
		f.note(time.Now().UTC())
		return nil
	}}
}

// note ends an interval.
func (f *figures) note(now time.Time) {
	overview, _ := f.overview.get() // which has no generations while it is unknown
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current.At = now
	f.current.FirstAudio, f.current.SlowAudio = quantile(f.firstAudio, 0.5), quantile(f.firstAudio, 0.95)
	f.current.Lag = longestLag(overview.Generations, func(g feed.Generation) bool { return g.Live })
	f.current.LagBuilt = longestLag(overview.Generations, func(g feed.Generation) bool {
		return g.State == feed.GenerationBuilding
	})
	f.kept = append(f.kept, f.current)
	f.kept = f.kept[max(0, len(f.kept)-figuresKept):]
	f.current, f.firstAudio = figure{}, nil
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

// quantile returns the bound of the histogram within which a share of the syntheses had their first audio, or nil
// without any. Times beyond the last bound count as the last bound.
func quantile(seconds []float64, share float64) *float64 {
	if len(seconds) == 0 {
		return nil
	}
	slices.Sort(seconds)
	rank := int(math.Ceil(share * float64(len(seconds))))
	bounds := firstAudioBounds()
	i, _ := slices.BinarySearch(bounds, seconds[rank-1])
	return &bounds[min(i, len(bounds)-1)]
}
