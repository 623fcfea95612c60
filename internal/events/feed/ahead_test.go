package feed

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/pages"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

// A page is turned into rows while the previous one is committed.
func TestRowsAreComputedAhead(t *testing.T) {
	// given commits that wait until an event of the next page is handled
	w := newWorld(t)
	w.append(counterOpened{ID: "x"}, counterOpened{ID: "y"})
	last := w.append(counterOpened{ID: "ahead"}, counterOpened{ID: "z"})
	config := w.config(counters("list"))
	config.Limits = pages.Limits{Events: 2, Age: time.Hour}
	ahead := make(chan struct{})
	seen := sync.OnceFunc(func() { close(ahead) })
	handle := config.Projections[0].Handle
	config.Projections[0].Handle = func(event eventlog.Decoded, rows *table.Rows) error {
		if opened, ok := event.Event.(counterOpened); ok && opened.ID == "ahead" {
			seen()
		}
		return handle(event, rows)
	}
	config.fault = func(step string) error {
		if step == "begun" {
			<-ahead
		}
		return nil
	}

	// when the log is read
	p := start(t, config)
	defer seen() // if the test fails

	// then the rows are correct
	p.await(last)
	w.requireFold("list", last)
}

// Single events result in the same rows as large pages, in which the changes of a row are combined.
func TestARebuildInLargePagesHasTheSameRows(t *testing.T) {
	// given a read model that was fed live
	w := newWorld(t)
	config := w.config(counters("list"))
	config.Limits = pages.Limits{Events: 1}
	p := start(t, config)
	p.await(w.live(1500))
	p.stop()

	// when it is rebuilt in pages of the default size
	config.Limits = pages.Limits{}
	p = start(t, config)
	_, err := p.Rebuild(t.Context(), []string{"list"}, false)
	require.NoError(t, err)

	// then both generations have the same rows
	w.requireSameRows("list", 1, 2)
}
