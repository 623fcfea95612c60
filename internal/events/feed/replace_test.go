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

// lagging is a log whose head is, for a while, that of a node that lags.
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

// hindered returns what keeps projectors of a configuration from committing pages, and what lets them.
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

func TestAHeadThatLagsForAMomentCostsNoReadModel(t *testing.T) {
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

	// when an instance starts that is told of a head before it, then the rows stay
	log.behind.Store(true)
	hinder, release := hindered(&config)
	hinder()
	p = start(t, config)
	// the second look comes after the first was acted on
	require.Eventually(t, func() bool { return log.asked.Load() > 1 }, patience, millisecond)
	require.Equal(t, all, shown(t, w.pool, "list"))

	// and when it is told of the right one, then the same generation goes on
	log.behind.Store(false)
	release()
	last := w.live(10)
	p.await(last)
	require.Equal(t, 1, p.awaitState("list", StateRunning).Generation)
	w.requireFold("list", last)
}

func TestALiveReadModelOfAnotherPastIsReplacedAndNotEmptied(t *testing.T) {
	// given a read model of a log whose epoch has ended
	w := newWorld(t)
	config := w.config(counters("list"))
	p := start(t, config)
	last := w.live(50)
	p.await(last)
	p.stop()
	before := shown(t, w.pool, "list")
	require.NotEmpty(t, before)

	// when it is built again, which takes time
	config.Identity.Epoch++
	hinder, release := hindered(&config)
	hinder()
	p = start(t, config)
	p.generationOf("list", 2, is(GenerationBuilding))

	// then its rows stay, and reads say that they are not of this log
	require.Equal(t, before, shown(t, w.pool, "list"))
	_, _, err := p.read(t.Context(), "list")
	require.ErrorIs(t, err, ErrBehind)
	select {
	case <-p.CaughtUp():
		t.Fatal("it has not caught up")
	default:
	}

	// and it cannot be made live by hand before it has caught up
	_, err = p.Promote(t.Context(), []GenerationID{{Name: "list"}})
	require.Equal(t, domain.Conflict, domain.CodeOf(err), err)
	p.generationOf("list", 1, isLive)

	// when it is built, then it takes the place of the other one by itself
	release()
	<-p.CaughtUp()
	p.await(last)
	rows, at, err := p.read(t.Context(), "list")
	require.NoError(t, err)
	require.Equal(t, last, at)
	require.Equal(t, folded(t, w.log, w.registry, last), rows)
	require.True(t, p.generationOf("list", 2, isLive).Live)
}
