package feed

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/feed/pages"
)

// BenchmarkAppendToVisible writes 500 events a second and takes the time from the beginning of an append until its row
// can be read, beside the time until a subscription delivers the event.
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
	report(b, "visible", visible)
	report(b, "delivered", delivered)
	b.ReportMetric(0, "ns/op")
}

func report(b *testing.B, what string, times []time.Duration) {
	slices.Sort(times)
	at := func(share float64) float64 {
		return float64(times[int(share*float64(len(times)-1))].Microseconds())
	}
	b.ReportMetric(at(0.5), what+"-p50-µs")
	b.ReportMetric(at(0.99), what+"-p99-µs")
}
