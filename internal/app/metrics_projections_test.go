package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
)

// scrape returns the lines of a scrape, as name{label values} value.
func scrape(t *testing.T, registry *prometheus.Registry) []string {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	var lines []string
	for _, family := range families {
		for _, metric := range family.Metric {
			var labels []string
			for _, label := range metric.Label {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			value := metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
			lines = append(lines, fmt.Sprintf("%s{%s} %g", strings.TrimPrefix(family.GetName(), "recital_projection_"),
				strings.Join(labels, ","), value))
		}
	}
	return lines
}

func TestFiguresOfEachGeneration(t *testing.T) { synctest.Test(t, showFiguresOfEachGeneration) }

func showFiguresOfEachGeneration(t *testing.T) {
	live := feed.Generation{
		Name: "account", Version: 1, Number: 1, State: feed.GenerationCurrent, Lag: 250 * time.Millisecond,
		Events: 10, Position: eventlog.Position{Commit: 1000},
	}
	next := feed.Generation{
		Name: "account", Version: 1, Number: 2, State: feed.GenerationStopped, Parked: 3,
		Events: 12, Position: eventlog.Position{Commit: 1200},
	}
	var (
		asked    int
		overview = feed.Overview{Generations: []feed.Generation{live, next}, Head: eventlog.Position{Commit: 1250}}
		failure  error
	)
	m := newProjectionMetrics(func(context.Context) (feed.Overview, error) { asked++; return overview, failure })
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(scraped(m.read))
	m.observePage(feed.PageStats{
		Events:      5,
		Generations: []feed.GenerationID{{Name: "account", Version: 1, Number: 1}, {Name: "account", Version: 1, Number: 2}},
	})
	m.observePage(feed.PageStats{Events: 2, Generations: []feed.GenerationID{{Name: "account", Version: 1, Number: 1}}})

	events := []string{
		"events_total{generation=1,projection=account,version=1} 7",
		"events_total{generation=2,projection=account,version=1} 5",
	}
	all := slices.Concat(events, []string{
		"lag_events{generation=1,projection=account,version=1} 3", // 250 bytes of 100 each
		"lag_events{generation=2,projection=account,version=1} 0",
		"lag_seconds{generation=1,projection=account,version=1} 0.25",
		"lag_seconds{generation=2,projection=account,version=1} 0",
		"parked{generation=1,projection=account,version=1} 0",
		"parked{generation=2,projection=account,version=1} 3",
		"state{generation=1,projection=account,state=building,version=1} 0",
		"state{generation=1,projection=account,state=current,version=1} 1",
		"state{generation=1,projection=account,state=stopped,version=1} 0",
		"state{generation=1,projection=account,state=unfed,version=1} 0",
		"state{generation=2,projection=account,state=building,version=1} 0",
		"state{generation=2,projection=account,state=current,version=1} 0",
		"state{generation=2,projection=account,state=stopped,version=1} 1",
		"state{generation=2,projection=account,state=unfed,version=1} 0",
	})
	require.Equal(t, all, scrape(t, registry))
	require.Equal(t, all, scrape(t, registry))
	require.Equal(t, 1, asked, "consecutive scrapes share an answer")

	// when the database fails, then its metrics are absent, and the failure is cached, too
	time.Sleep(recentAge)
	failure = errors.New("no database")
	require.Equal(t, events, scrape(t, registry))
	require.Equal(t, events, scrape(t, registry))
	require.Equal(t, 2, asked)

	// when it is back and a generation was retired meanwhile, then that generation has no metrics
	time.Sleep(recentAge)
	failure, overview.Generations = nil, overview.Generations[:1]
	require.Equal(t, slices.DeleteFunc(all, func(line string) bool { return strings.Contains(line, "generation=2") }),
		scrape(t, registry))
}
