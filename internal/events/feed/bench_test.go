package feed

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/pages"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkAppendToVisible writes 500 events a second and measures the time from the start of an append until its row
// can be read, compared with the time until a subscription delivers the event.
func BenchmarkAppendToVisible(b *testing.B) {
	w := newWorld(b)
	config := w.config(counters("list"))
	config.Limits = pages.Limits{}
	p := start(b, config)
	p.await(w.live(100))

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	subscription := w.log.Subscribe(ctx, p.Reached())
	arrived := make(chan time.Time, 1)
	go func() {
		for delivery := range subscription.Deliveries() {
			if delivery.Kind == eventlog.KindEvent {
				arrived <- time.Now()
			}
		}
	}()

	var visible, delivered []time.Duration
	pace := time.NewTicker(2 * time.Millisecond)
	defer pace.Stop()
	for b.Loop() {
		<-pace.C
		began := time.Now()
		p.await(w.append(w.event()))
		visible = append(visible, time.Since(began))
		delivered = append(delivered, (<-arrived).Sub(began))
	}
	benchtest.Compare(b, "p50-ms", quantile(visible, 0.5), quantile(delivered, 0.5))
	benchtest.Compare(b, "p99-ms", quantile(visible, 0.99), quantile(delivered, 0.99))
	benchtest.Finish(b)
}

// quantile returns the time in milliseconds below which the given share of times is.
func quantile(times []time.Duration, share float64) float64 {
	slices.Sort(times)
	return times[int(share*float64(len(times)-1))].Seconds() * 1000
}
