package feed

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

// moody is picky until cured is set.
func moody(name string) (p Projection, cured *atomic.Bool) {
	cured = &atomic.Bool{}
	ill, well := picky(name), counters(name)
	ill.Handle = func(event eventlog.Decoded, rows *table.Rows) error {
		if opened, ok := event.Event.(counterOpened); ok && opened.Label == poisonous && !cured.Load() {
			return errPoison
		}
		return well.Handle(event, rows)
	}
	ill.Tables = well.Tables
	return ill, cured
}

// awaitParked waits until n events are parked.
func (r *running) awaitParked(n int) []Parked {
	r.t.Helper()
	var parked []Parked
	require.Eventually(r.t, func() (ok bool) {
		var err error
		parked, err = r.Parked(r.t.Context(), eventlog.Start(), 100)
		require.NoError(r.t, err)
		return len(parked) == n
	}, patience, millisecond)
	return parked
}

// skip skips an event, as an operator does.
func (r *running) skip(event uuid.UUID) error {
	r.config.Registry.Skip(map[uuid.UUID]string{event: "its stream"})
	return r.Skipped(context.Background(), event)
}

func TestAStoppedProjectionRejoinsWithoutARestart(t *testing.T) {
	ways := map[string]func(p *running, cured *atomic.Bool, event uuid.UUID) error{
		"when the event is retried": func(p *running, cured *atomic.Bool, event uuid.UUID) error {
			cured.Store(true)
			return p.RetryParked(context.Background(), GenerationID{Name: "bad"}, event)
		},
		"when the event is skipped": func(p *running, _ *atomic.Bool, event uuid.UUID) error {
			return p.skip(event)
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			// given two instances, and a projection that an event stopped
			w := newWorld(t)
			projection, cured := moody("bad")
			config := w.config(counters("good"), projection)
			p := start(t, config)
			config.Instance = "other"
			other := start(t, config)
			before := w.live(30)
			other.await(before)
			w.append(counterOpened{ID: "x", Label: poisonous})
			last := w.live(30)
			p.awaitState("bad", StateStopped)
			blocking := p.awaitParked(1)[0]
			require.NoError(t, p.Wait(t.Context(), last, modelOf("good")))
			w.requireFold("bad", before)
			g := p.generationOf("bad", 1, is(GenerationStopped))
			require.Contains(t, g.Reason, errPoison.Error())

			// when an operator retries or skips it through the other instance
			require.NoError(t, way(other, cured, blocking.Event))

			// then the projection continues and rejoins the others, on either instance
			p.generationOf("bad", 1, is(GenerationCurrent))
			last = w.live(30)
			for _, instance := range []*running{p, other} {
				require.Eventually(t, func() bool { return instance.Status()[1].State != StateStopped }, patience, millisecond)
				instance.await(last)
			}
			w.registry.Skip(nil) // the other projection handled it before the skip
			w.requireFold("good", last)
			all := shown(t, w.pool, "bad")
			delete(all, "x")
			want := folded(t, w.log, w.registry, last)
			delete(want, "x")
			require.Equal(t, want, all)
		})
	}
}

func TestAMalformedEventIsSkipped(t *testing.T) {
	// given an event that cannot be decoded
	w := newWorld(t)
	p := start(t, w.config(counters("list")))
	event := eventlog.Proposed{ID: uuid.New(), Type: "counter-closed", Data: []byte(`{"ID":17}`), Metadata: versioned(1)}
	w.appendRaw(event)
	p.awaitState("list", StateStopped)

	// when it is skipped
	require.NoError(t, p.skip(event.ID))

	// then later events are read
	p.awaitState("list", StateRunning)
	last := w.append(counterOpened{ID: "after", Label: "new"})
	p.await(last)
	require.Contains(t, shown(t, w.pool, "list"), "after")

	// and a rebuild omits it, too
	_, err := p.Rebuild(t.Context(), nil, true)
	require.NoError(t, err)
	p.generationOf("list", 2, isLive)
	require.Contains(t, shown(t, w.pool, "list"), "after")

	// when it is unskipped, then the read models that lack it are known, and a rebuild stops at it again
	past, err := p.Past(t.Context(), "counter-"+event.ID.String(), last)
	require.NoError(t, err)
	require.Contains(t, past, GenerationID{Name: "list", Version: 1, Number: 2})
	w.registry.Skip(nil)
	_, err = p.Rebuild(t.Context(), nil, true)
	require.NoError(t, err)
	p.generationOf("list", 3, is(GenerationStopped))
}

func TestANewerReleaseContinuesAtAnUnknownEvent(t *testing.T) {
	for name, standsBy := range map[string]bool{
		"that the older one meets beside it": true,
		"that has stopped the older one":     false,
	} {
		t.Run(name, func(t *testing.T) {
			// given an instance of an older release
			w := newWorld(t)
			config := w.config(counters("list"))
			config.Instance = "older"
			older := start(t, config)
			older.await(w.live(20))
			painted := eventlog.Proposed{ID: uuid.New(), Type: "counter-painted", Data: []byte("{}"), Metadata: versioned(1)}

			// when there is an event of an unknown type, before or after an instance of a newer release starts
			if !standsBy {
				w.appendRaw(painted)
				older.awaitState("list", StateStopped)
			}
			newer := start(t, newerRelease(t, config))
			if standsBy {
				newer.awaitState("list", StateStandby)
				w.appendRaw(painted)
			}
			newer.await(w.live(20))

			// then the newer one takes over by itself, and the older one stands by and follows its commits
			older.awaitState("list", StateStandby)
			older.await(w.live(20))
			newer.awaitState("list", StateRunning)
			newer.awaitParked(0)
			require.Empty(t, newer.alerted())
		})
	}
}

// newerRelease knows an event type that config does not.
func newerRelease(t *testing.T, config Config) Config {
	t.Helper()
	type counterPainted struct{}
	config.Instance = "newer"
	config.Registry = registry(t, eventlog.In("counter-", eventlog.Define[counterPainted]("counter-painted", 1))...)
	return config
}

func TestALogIsPutBackUnderARunningProjector(t *testing.T) {
	// given a read model of a log, and an earlier copy of the log
	w := &world{t: t, registry: registry(t), random: newRandom()}
	dir := nodetest.Dir(t)
	node := nodetest.Open(t, dir)
	w.connect(nodetest.Socket(dir))
	earlier := w.live(30)
	require.NoError(t, node.Close())
	copied := filepath.Join(dir, "copy")
	require.NoError(t, os.CopyFS(copied, os.DirFS(filepath.Join(dir, "log"))))
	node = nodetest.Open(t, dir)
	p := start(t, w.config(counters("list")))
	p.await(w.live(30))

	// when the copy replaces the log
	require.NoError(t, node.Close())
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "log")))
	require.NoError(t, os.Rename(copied, filepath.Join(dir, "log")))
	node = nodetest.Open(t, dir)
	t.Cleanup(func() { require.NoError(t, node.Close()) })

	// then the read model is rebuilt from the copy and follows it
	require.Eventually(t, func() bool { return p.committed(w) == earlier }, patience, millisecond)
	w.requireFold("list", earlier)
	last := w.live(5)
	p.await(last)
	w.requireFold("list", last)
}

func TestARebuildIsNotPromotedBesideAStoppedOneBeforeItPassesTheEvent(t *testing.T) {
	// given a read model that an event stopped
	w := newWorld(t)
	projection, cured := moody("list")
	p := start(t, w.config(projection))
	w.live(5)
	w.append(counterOpened{ID: "x", Label: poisonous})
	p.awaitState("list", StateStopped)

	// when it is rebuilt for promotion without a fix
	_, err := p.Rebuild(t.Context(), nil, true)
	require.NoError(t, err)

	// then the rebuild stops there, too, and is not promoted
	p.generationOf("list", 2, is(GenerationStopped))
	require.True(t, p.generationOf("list", 1, is(GenerationStopped)).Live)

	// when there is a fix
	cured.Store(true)
	require.NoError(t, p.RetryParked(t.Context(), GenerationID{Name: "list", Number: 2}, p.awaitParked(2)[0].Event))

	// then it continues and is promoted
	p.generationOf("list", 2, isLive)
	last := w.live(5)
	p.awaitState("list", StateRunning)
	p.await(last)
	w.requireFold("list", last)
}
