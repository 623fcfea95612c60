package feed

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

func TestAStandbyStaysQuietAndTakesOver(t *testing.T) {
	// given a running instance and a standby
	w := newWorld(t)
	config := w.config(counters("list"))
	config.Instance = "one"
	one := start(t, config)
	one.await(w.live(50))
	config.Instance = "two"
	two := start(t, config)
	two.awaitState("list", StateStandby)

	// when more is written
	last := w.live(50)

	// then the standby follows the other one's commits
	two.await(last)
	require.Equal(t, StateRunning, one.awaitState("list", StateRunning).State)
	require.Empty(t, append(one.alerted(), two.alerted()...))

	// when the first one ends
	one.stop()
	last = w.live(50)

	// then the standby takes over
	two.await(last)
	two.awaitState("list", StateRunning)
	w.requireFold("list", last)
}

func TestAStandbyTakesOverFromACrashedInstance(t *testing.T) {
	// given a standby beside an instance that crashes
	w := newWorld(t)
	last := w.live(60)
	config := w.config(counters("list"))
	config.Instance = "one"
	crash(t, config, "written", 3, last)
	config.Instance = "two"
	two := start(t, config)

	// then it takes over when the lease expires
	two.await(last)
	w.requireFold("list", last)
}

func TestADuplicateIsFencedOut(t *testing.T) {
	// given a projector at work
	w := newWorld(t)
	config := w.config(counters("list"))
	one := start(t, config)
	one.await(w.live(50))

	// when a second process starts as the same instance
	two := start(t, config)
	two.awaitState("list", StateRunning)
	last := w.live(300)

	// then one of them feeds the read model, the other one stands by, no event is applied twice, and no alert is raised
	two.await(last)
	one.await(last)
	w.requireFold("list", last)
	one.awaitState("list", StateStandby)
	require.Empty(t, append(one.alerted(), two.alerted()...))
}

func TestManyProjectorsFightForOneDatabase(t *testing.T) {
	// given projectors that repeatedly reclaim the lease of one instance
	w := newWorld(t)
	last := w.live(200)
	for range 10 {
		start(t, w.config(counters("list")))
		last = w.live(30)
	}

	// when one of them reaches the end
	p := start(t, w.config(counters("list")))
	p.await(last)

	// then no event was applied twice or omitted
	w.requireFold("list", last)
}

func TestAProjectorWithoutItsLeaseWritesNothing(t *testing.T) {
	// given a projector at work
	w := newWorld(t)
	config := w.config(counters("list"))
	config.Lease = time.Hour
	p := start(t, config)
	before := w.live(50)
	p.await(before)

	// when another one holds the lease, from the same position
	w.exec("update feed.checkpoints set holder = gen_random_uuid(), lease_until = now() + interval '1 hour'")
	w.live(50)

	// then it stands by, and writes no more rows
	p.awaitState("list", StateStandby)
	require.Equal(t, before, p.committed(w))
	w.requireFold("list", before)
}

func TestALeaseOfAWrongClockEnds(t *testing.T) {
	// given an instance that died while the clock of Postgres was an hour ahead
	w := newWorld(t)
	config := w.config(counters("list"))
	one := start(t, config)
	one.await(w.live(20))
	one.stop()
	w.exec("update feed.checkpoints set holder = gen_random_uuid(), lease_until = now() + interval '1 hour'")
	last := w.live(20)

	// when the clock is right, then another one takes over
	config.Instance = "two"
	two := start(t, config)
	two.await(last)
	w.requireFold("list", last)
}

func TestClientsReadTheirOwnWritesOnAnyInstance(t *testing.T) {
	// given two instances, and a projection that an event stopped
	w := newWorld(t)
	instances := startTwo(t, w.config(counters("good"), picky("bad")))
	stopped := w.append(counterOpened{ID: "poison", Label: poisonous})
	for _, instance := range instances {
		require.NoError(t, instance.Wait(t.Context(), stopped, modelOf("good")))
	}

	// when clients concurrently write through one and read on the other
	var clients errgroup.Group
	for client := range 8 {
		clients.Go(func() error {
			for n := range 25 {
				id := fmt.Sprintf("client %d, write %d", client, n)
				position, err := w.tryAppend(counterOpened{ID: id, Label: "own"})
				if err != nil {
					return err
				}
				if err := instances[(client+n)%2].Wait(t.Context(), position, modelOf("good")); err != nil {
					return err
				}
				var label string
				if err := w.pool.QueryRow(t.Context(), "select label from read_v1.good_list where id = $1",
					id).Scan(&label); err != nil {
					return fmt.Errorf("%s: %w", id, err)
				}
			}
			return nil
		})
	}

	// then each reads its writes, and reads of the stopped projection fail immediately
	require.NoError(t, clients.Wait())
	for _, instance := range instances {
		require.ErrorIs(t, instance.Wait(t.Context(), w.headOf(), modelOf("bad")), ErrStopped)
	}
}
