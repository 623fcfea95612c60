package feed

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// lagging is a log with a head that may temporarily be that of a lagging node.
type lagging struct {
	eventlog.Log
	behind atomic.Bool
	asked  atomic.Int64
}

func (l *lagging) Head(ctx context.Context) (eventlog.Position, error) {
	if l.behind.Load() {
		l.asked.Add(1)
		return eventlog.Position{Commit: 1, Prepare: 1}, nil
	}
	return l.Log.Head(ctx)
}

// hindered returns functions that prevent projectors of a configuration from committing pages, and allow it again.
func hindered(config *Config) (hinder, release func()) {
	var hindered atomic.Bool
	config.fault = func(step string) error {
		if step == "begun" && hindered.Load() {
			return errors.New("not yet")
		}
		return nil
	}
	return func() { hindered.Store(true) }, func() { hindered.Store(false) }
}

func TestATemporarilyLaggingHeadReplacesNoReadModel(t *testing.T) {
	// given a read model
	w := newWorld(t)
	config := w.config(counters("list"))
	config.Lease = 3 * time.Second
	log := &lagging{Log: w.log}
	config.Log = log
	p := start(t, config)
	before := w.live(50)
	p.await(before)
	p.stop()
	all := shown(t, w.pool, "list")

	// when an instance starts and reads a head before it, then the rows stay
	log.behind.Store(true)
	hinder, release := hindered(&config)
	hinder()
	p = start(t, config)
	// the second read of the head happens after the first was handled
	require.Eventually(t, func() bool { return log.asked.Load() > 1 }, patience, millisecond)
	require.Equal(t, all, shown(t, w.pool, "list"))

	// and when it reads the correct head, then the same generation continues
	log.behind.Store(false)
	release()
	last := w.live(10)
	p.await(last)
	p.generationOf("list", 1, isLive)
	w.requireFold("list", last)
}

func TestALiveReadModelOfAnotherEpochIsReplacedAndNotEmptied(t *testing.T) {
	// given a read model of an earlier epoch of the log
	w := newWorld(t)
	config := w.config(counters("list"))
	p := start(t, config)
	last := w.live(50)
	p.await(last)
	p.stop()
	before := shown(t, w.pool, "list")
	require.NotEmpty(t, before)

	// when it is rebuilt, which takes time
	config.Identity.Epoch++
	hinder, release := hindered(&config)
	hinder()
	p = start(t, config)
	p.generationOf("list", 2, is(GenerationBuilding))

	// then its rows stay, but reads are refused because they are not of this log
	require.Equal(t, before, shown(t, w.pool, "list"))
	_, _, err := p.read(t.Context(), "list")
	require.ErrorIs(t, err, ErrBehind)
	select {
	case <-p.CaughtUp():
		t.Fatal("it has not caught up")
	default:
	}

	// and the new generation cannot be promoted before it has caught up
	_, err = p.Promote(t.Context(), []GenerationID{{Name: "list"}})
	require.Equal(t, domain.Conflict, domain.CodeOf(err), err)
	p.generationOf("list", 1, isLive)

	// when it has caught up, then it is promoted automatically
	release()
	<-p.CaughtUp()
	p.await(last)
	rows, at, err := p.read(t.Context(), "list")
	require.NoError(t, err)
	require.Equal(t, last, at)
	require.Equal(t, folded(t, w.log, w.registry, last), rows)
	require.True(t, p.generationOf("list", 2, isLive).Live)
}
