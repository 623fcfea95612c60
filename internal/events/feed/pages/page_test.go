package pages

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

func delivered(n uint64) eventlog.Delivery {
	return eventlog.Delivery{Event: eventlog.Recorded{Position: eventlog.Position{Commit: n, Prepare: n},
		Data: []byte("12345678")}}
}

func undecoded(r eventlog.Recorded) eventlog.Decoded { return eventlog.Decoded{Recorded: r} }

// cut runs a pager over deliveries that are all available and returns the pages.
func cut(limits Limits, deliveries ...eventlog.Delivery) []Page {
	source := make(chan eventlog.Delivery, len(deliveries)+1)
	for _, d := range deliveries {
		source <- d
	}
	out := make(chan Page)
	ctx, cancel := context.WithCancel(context.Background())
	p := &pager{limits: limits.withDefaults(), decode: undecoded, deliveries: source, pages: out}
	go func() {
		defer close(out)
		p.run(ctx)
	}()
	var pages []Page
	var last eventlog.Position
	for _, d := range deliveries {
		if d.Kind == eventlog.KindEvent {
			last = d.Event.Position
		}
	}
	for page := range out {
		pages = append(pages, page)
		if page.Last() == last {
			cancel()
		}
	}
	cancel()
	return pages
}

func sizes(pages []Page) []int {
	var all []int
	for _, p := range pages {
		all = append(all, len(p.Events))
	}
	return all
}

func many(n int) []eventlog.Delivery {
	var all []eventlog.Delivery
	for i := range n {
		all = append(all, delivered(uint64(i+1)))
	}
	return all
}

func TestPagesStayWithinTheirLimits(t *testing.T) {
	tests := []struct {
		name   string
		limits Limits
		want   []int
	}{
		{"events", Limits{Events: 4, Age: time.Hour}, []int{4, 4, 2}},
		{"bytes", Limits{Bytes: 24, Age: time.Hour}, []int{3, 3, 3, 1}},
		{"one event", Limits{Events: 1}, slices.Repeat([]int{1}, 10)},
		{"drained", Limits{Age: time.Hour}, []int{10}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			deliveries := append(many(10), eventlog.Delivery{Kind: eventlog.KindCaughtUp})
			require.Equal(t, test.want, sizes(cut(test.limits, deliveries...)))
		})
	}
}

func TestPagesTogetherAreTheLog(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		// given deliveries, some of them repeated after an interruption
		var deliveries []eventlog.Delivery
		next := uint64(1)
		for range rapid.IntRange(1, 50).Draw(r, "deliveries") {
			switch rapid.IntRange(0, 9).Draw(r, "kind") {
			case 0:
				deliveries = append(deliveries, eventlog.Delivery{Kind: eventlog.KindInterrupted})
			case 1:
				deliveries = append(deliveries, eventlog.Delivery{Kind: eventlog.KindCaughtUp})
			case 2:
				deliveries = append(deliveries, delivered(max(1, next-1)))
			default:
				deliveries = append(deliveries, delivered(next))
				next++
			}
		}
		deliveries = append(deliveries, delivered(next))

		// when they are cut into pages
		limits := Limits{Events: rapid.IntRange(1, 9).Draw(r, "events"), Bytes: rapid.IntRange(1, 60).Draw(r, "bytes"),
			Age: time.Millisecond / 2}
		var got []uint64
		for _, page := range cut(limits, deliveries...) {
			require.LessOrEqual(r, len(page.Events), limits.Events)
			for _, event := range page.Events {
				got = append(got, event.Position.Commit)
			}
		}

		// then the pages have each event once, in order
		require.True(r, slices.IsSorted(got))
		require.Len(r, slices.Compact(slices.Clone(got)), len(got))
		require.Equal(r, next, got[len(got)-1])
	})
}

// A page that is not taken grows up to the limits.
func TestThePageIsReadAheadUpToItsLimits(t *testing.T) {
	// given a pager without a receiver
	source, out := make(chan eventlog.Delivery), make(chan Page)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p := &pager{limits: Limits{Events: 5}.withDefaults(), decode: undecoded, deliveries: source, pages: out}
	go p.run(ctx)

	// when events arrive one by one
	for i := range uint64(5) {
		source <- delivered(i + 1)
	}

	// then it accepts no sixth one, and the page has all five
	select {
	case source <- delivered(6):
		t.Fatal("the pager holds more than a page")
	case page := <-out:
		require.Len(t, page.Events, 5)
	}
}

// Until the subscription has caught up, a brief lack of events does not end a page.
func TestPagesAreLargeUntilTheSubscriptionHasCaughtUp(t *testing.T) {
	// given a pager with a receiver, and events that arrive one by one
	source, out := make(chan eventlog.Delivery), make(chan Page)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := &pager{limits: Limits{Age: time.Hour}.withDefaults(), decode: undecoded, deliveries: source, pages: out}
	go p.run(ctx)
	taken := make(chan Page)
	go func() {
		for range 2 {
			taken <- <-out
		}
	}()
	for i := range uint64(5) {
		source <- delivered(i + 1)
	}

	// when the subscription has caught up, then they are one page
	source <- eventlog.Delivery{Kind: eventlog.KindCaughtUp}
	require.Len(t, (<-taken).Events, 5)

	// and the next event does not wait for others
	source <- delivered(6)
	require.Len(t, (<-taken).Events, 1)
}

// Even if a subscription never reports that it has caught up, events are not delayed for long.
func TestAPageIsTakenWhenItIsOldEnough(t *testing.T) {
	source, out := make(chan eventlog.Delivery, 1), make(chan Page)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := &pager{limits: Limits{Age: time.Millisecond}.withDefaults(), decode: undecoded, deliveries: source, pages: out}
	go p.run(ctx)
	source <- delivered(1)
	require.Len(t, (<-out).Events, 1)
}

func TestCuttingAPage(t *testing.T) {
	var page Page
	for i := range uint64(5) {
		page.Events = append(page.Events, eventlog.Decoded{Recorded: delivered(i + 1).Event})
	}
	at := func(n uint64) eventlog.Position { return eventlog.Position{Commit: n, Prepare: n} }
	for n := range uint64(7) {
		upTo, after := page.Split(at(n))
		require.Len(t, upTo.Events, int(min(n, 5)))
		require.Len(t, after.Events, int(5-min(n, 5)))
	}
}
