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

// A page is turned into rows while the previous one is committed. Rows that were computed before an event was parked
// are not written, because later events of its stream wait, too.
func TestRowsAreComputedAheadUnlessAnEventIsParked(t *testing.T) {
	// given a stream that begins with a refused event and continues in the next pages
	w := newWorld(t)
	projection, cured := moody("list")
	projection.Park = true
	positions := w.inStream(counterOpened{ID: "x", Label: poisonous}, counterRaised{ID: "x", By: 1},
		counterRaised{ID: "x", By: 2}, counterRaised{ID: "x", By: 4})
	config := w.config(projection)
	config.Limits = pages.Limits{Events: 2, Age: time.Hour}

	// and commits that wait until an event after the refused one is handled
	ahead := make(chan struct{})
	seen := sync.OnceFunc(func() { close(ahead) })
	handle := projection.Handle
	config.Projections[0].Handle = func(event eventlog.Decoded, rows *table.Rows) error {
		if _, raised := event.Event.(counterRaised); raised {
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
	p.await(positions[3])

	// then all events of the stream wait
	parked := p.awaitParked(4)
	require.NotContains(t, shown(t, w.pool, "list"), "x")

	// and result in the correct rows once the first one is handled
	cured.Store(true)
	_, err := p.RetryParked(t.Context(), GenerationID{Name: "list"}, parked[0].Event)
	require.NoError(t, err)
	p.awaitParked(0)
	w.requireFold("list", w.headOf())
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
