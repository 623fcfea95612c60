package eventnode_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

// received is a subscription as seen by its client: a line per message.
type received struct {
	t            *testing.T
	subscription *esdb.Subscription
}

func subscribeAll(t *testing.T, client *esdb.Client, options esdb.SubscribeToAllOptions) received {
	t.Helper()
	subscription, err := client.SubscribeToAll(testContext(t), options)
	require.NoError(t, err)
	t.Cleanup(func() { _ = subscription.Close() })
	return received{t: t, subscription: subscription}
}

func subscribeStream(t *testing.T, client *esdb.Client, stream string, from esdb.StreamPosition) received {
	t.Helper()
	subscription, err := client.SubscribeToStream(testContext(t), stream, esdb.SubscribeToStreamOptions{From: from})
	require.NoError(t, err)
	t.Cleanup(func() { _ = subscription.Close() })
	return received{t: t, subscription: subscription}
}

func (r received) next() string {
	r.t.Helper()
	message := r.subscription.Recv()
	switch {
	case message.EventAppeared != nil:
		return message.EventAppeared.Event.EventType
	case message.CaughtUp != nil:
		return "caught up"
	case message.CheckPointReached != nil:
		return "checkpoint"
	default:
		require.NotNil(r.t, message.SubscriptionDropped)
		return "dropped"
	}
}

func (r received) expect(want ...string) {
	r.t.Helper()
	got := make([]string, 0, len(want))
	for range want {
		got = append(got, r.next())
	}
	require.Equal(r.t, want, got)
}

func TestSubscribeToAll(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	appendTo(t, client, "one", esdb.NoStream{}, event("a"))
	b := appendTo(t, client, "two", esdb.NoStream{}, event("b"))
	appendTo(t, client, "one", esdb.Any{}, event("c"))

	fromStart := subscribeAll(t, client, esdb.SubscribeToAllOptions{From: esdb.Start{}})
	fromPosition := subscribeAll(t, client, esdb.SubscribeToAllOptions{
		From: esdb.Position{Commit: b.CommitPosition, Prepare: b.PreparePosition},
	})
	fromEnd := subscribeAll(t, client, esdb.SubscribeToAllOptions{From: esdb.End{}})
	fromStart.expect("a", "b", "c", "caught up")
	fromPosition.expect("c", "caught up")
	fromEnd.expect("caught up")

	appendTo(t, client, "three", esdb.NoStream{}, events("d", "e")...)
	appendTo(t, client, "three", esdb.Any{}, event("f"))
	for _, subscription := range []received{fromStart, fromPosition, fromEnd} {
		subscription.expect("d", "e", "f")
	}
}

func TestSubscribeToStream(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	appendTo(t, client, "mine", esdb.NoStream{}, events("a", "b")...)
	appendTo(t, client, "other", esdb.NoStream{}, event("x"))
	appendTo(t, client, "mine", esdb.Any{}, event("c"))

	fromStart := subscribeStream(t, client, "mine", esdb.Start{})
	fromRevision := subscribeStream(t, client, "mine", esdb.Revision(1))
	fromZero := subscribeStream(t, client, "mine", esdb.Revision(0))
	fromEnd := subscribeStream(t, client, "mine", esdb.End{})
	missing := subscribeStream(t, client, "later", esdb.Start{})
	fromStart.expect("a", "b", "c", "caught up")
	fromRevision.expect("c", "caught up")
	fromZero.expect("b", "c", "caught up")
	fromEnd.expect("caught up")
	missing.expect("caught up")

	appendTo(t, client, "other", esdb.Any{}, event("y"))
	appendTo(t, client, "mine", esdb.Any{}, event("d"))
	appendTo(t, client, "later", esdb.NoStream{}, event("first"))
	for _, subscription := range []received{fromStart, fromRevision, fromZero, fromEnd} {
		subscription.expect("d")
	}
	missing.expect("first")
}

func TestSubscribeToAllFiltered(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	appendTo(t, client, "account-1", esdb.NoStream{}, events("opened", "$internal", "key-created")...)
	appendTo(t, client, "$$account-1", esdb.NoStream{}, event("$metadata"))
	appendTo(t, client, "voice-1", esdb.NoStream{}, event("created"))
	cases := []struct {
		name   string
		filter *esdb.SubscriptionFilter
		want   []string
	}{
		{"system events left out", esdb.ExcludeSystemEventsFilter(),
			[]string{"opened", "key-created", "created", "checkpoint", "caught up"}},
		{"type prefixes", &esdb.SubscriptionFilter{Type: esdb.EventFilterType, Prefixes: []string{"open", "$"}},
			[]string{"opened", "$internal", "$metadata", "checkpoint", "caught up"}},
		{"type expression", &esdb.SubscriptionFilter{Type: esdb.EventFilterType, Regex: "created$"},
			[]string{"key-created", "created", "checkpoint", "caught up"}},
		{"stream prefixes", &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{"voice-"}},
			[]string{"created", "checkpoint", "caught up"}},
		{"stream expression", &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Regex: "^account-"},
			[]string{"opened", "$internal", "key-created", "checkpoint", "caught up"}},
		{"nothing", &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{"none"}},
			[]string{"checkpoint", "caught up"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			subscription := subscribeAll(t, client, esdb.SubscribeToAllOptions{From: esdb.Start{}, Filter: c.filter})
			subscription.expect(c.want...)
		})
	}
	t.Run("a broken expression is refused", func(t *testing.T) {
		_, err := client.SubscribeToAll(testContext(t), esdb.SubscribeToAllOptions{
			Filter: &esdb.SubscriptionFilter{Type: esdb.EventFilterType, Regex: "("},
		})
		require.ErrorContains(t, err, "regular expression")
	})
}

// A checkpoint is sent after each interval of events, whether they pass the filter or not; the subscription may
// resume there.
func TestFilteredCheckpoints(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	appendTo(t, client, "noise", esdb.NoStream{}, numbered(25)...)
	all := readAll(t, client, esdb.ReadAllOptions{}, everything)
	options := esdb.SubscribeToAllOptions{
		From: esdb.Start{}, MaxSearchWindow: 5, CheckpointInterval: 2,
		Filter: &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{"wanted"}},
	}
	subscription, err := client.SubscribeToAll(testContext(t), options)
	require.NoError(t, err)
	defer func() { _ = subscription.Close() }()

	for _, want := range []int{9, 19, 24} {
		message := subscription.Recv()
		require.NotNil(t, message.CheckPointReached)
		require.Equal(t, all[want].Event.Position, *message.CheckPointReached)
	}
	require.NotNil(t, subscription.Recv().CaughtUp)

	appendTo(t, client, "noise", esdb.Any{}, numbered(9)...)
	wanted := appendTo(t, client, "wanted", esdb.Any{}, events("x")...)
	require.NotNil(t, subscription.Recv().EventAppeared)
	checkpoint := subscription.Recv().CheckPointReached
	require.NotNil(t, checkpoint)
	require.Equal(t, wanted.CommitPosition, checkpoint.Commit)
}

// A client that disconnects ends its subscription on the node; goleak finds leaks.
func TestSubscriberLeaves(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	for range 20 {
		ctx, cancel := context.WithCancel(testContext(t))
		subscription, err := client.SubscribeToAll(ctx, esdb.SubscribeToAllOptions{From: esdb.Start{}})
		require.NoError(t, err)
		require.NotNil(t, subscription.Recv().CaughtUp)
		cancel()
		require.NotNil(t, subscription.Recv().SubscriptionDropped)
	}
	appendTo(t, client, "after", esdb.NoStream{}, event("a"))
}

// The same with the subscription's own Close, which is called while events arrive.
func TestSubscriptionIsClosed(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	appendTo(t, client, "many", esdb.NoStream{}, numbered(2000)...)
	subscription, err := client.SubscribeToStream(testContext(t), "many",
		esdb.SubscribeToStreamOptions{From: esdb.Start{}})
	require.NoError(t, err)
	for range 10 {
		require.NotNil(t, subscription.Recv().EventAppeared)
	}
	require.NoError(t, subscription.Close())
	for {
		if subscription.Recv().SubscriptionDropped != nil {
			break
		}
	}
	appendTo(t, client, "many", esdb.Revision(1999), event("after"))
}

// A subscription to a stream of thousands of events sends all of them, then that it has caught up, then new ones.
func TestSubscribeToLongStream(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	const total = 6000
	for first := 0; first < total; first += 500 {
		appendTo(t, client, "long", esdb.Any{}, numbered(500)...)
		appendTo(t, client, "other", esdb.Any{}, event("other"))
	}
	subscription := subscribeStream(t, client, "long", esdb.Start{})
	for i := range total {
		message := subscription.subscription.Recv()
		require.NotNil(t, message.EventAppeared)
		require.Equal(t, uint64(i), message.EventAppeared.Event.EventNumber)
	}
	subscription.expect("caught up")
	result := appendTo(t, client, "long", esdb.Revision(total-1), event("new"))
	require.Equal(t, uint64(total), result.NextExpectedVersion)
	subscription.expect("new")
}

// A subscription that has caught up gets every event, even if the stream's metadata hides it from readers. A new one
// catches up with the events that a read shows.
func TestLiveSubscriptionSeesHiddenEvents(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	cases := []struct {
		name   string
		change func(*esdb.StreamMetadata)
		before []string // the first events in a read
		after  []string // all events in a read
	}{
		{"$maxCount", func(m *esdb.StreamMetadata) { m.SetMaxCount(1) }, []string{"b"}, []string{"g"}},
		{"$tb", func(m *esdb.StreamMetadata) { m.SetTruncateBefore(5) }, nil, []string{"f", "g"}},
		{"both", func(m *esdb.StreamMetadata) { m.SetTruncateBefore(1); m.SetMaxCount(2) }, []string{"b"},
			[]string{"f", "g"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			appendTo(t, client, c.name, esdb.NoStream{}, events("a", "b")...)
			describe(t, client, c.name, c.change)
			live := subscribeStream(t, client, c.name, esdb.Start{})
			fromEnd := subscribeStream(t, client, c.name, esdb.End{})
			later := subscribeStream(t, client, c.name, esdb.Revision(2))
			live.expect(append(c.before, "caught up")...)
			fromEnd.expect("caught up")
			later.expect("caught up")

			appendTo(t, client, c.name, esdb.Any{}, events("c", "d", "e", "f", "g")...)

			live.expect("c", "d", "e", "f", "g")
			fromEnd.expect("c", "d", "e", "f", "g")
			later.expect("d", "e", "f", "g")
			subscribeStream(t, client, c.name, esdb.Start{}).expect(append(c.after, "caught up")...)
		})
	}
	t.Run("metadata", func(t *testing.T) {
		live := subscribeStream(t, client, "$$described", esdb.Start{})
		live.expect("caught up")
		appendTo(t, client, "$$described", esdb.NoStream{}, events("a", "b", "c")...)
		live.expect("a", "b", "c")
	})
}

// Subscribers that do not read need limited memory for any number of events, and delay neither appends nor other
// subscribers. They receive all events when they read.
func TestStalledSubscribersCostLittle(t *testing.T) {
	const (
		subscribers = 24
		appends     = 64
		size        = 900 << 10 // bytes of an append: 56 MiB in all, 1.3 GiB for all subscribers
		bound       = 256 << 20 // bytes of heap, part of which is used by Pebble's caches and the tests' own data
	)
	socket := nodetest.Start(t)
	client := nodetest.Client(t, socket)
	var stalled []*esdb.Subscription
	for range subscribers {
		own := nodetest.Client(t, socket)
		subscription, err := own.SubscribeToAll(testContext(t), esdb.SubscribeToAllOptions{From: esdb.Start{}})
		require.NoError(t, err)
		stalled = append(stalled, subscription)
	}
	live := subscribeAll(t, client, esdb.SubscribeToAllOptions{From: esdb.End{}})
	live.expect("caught up")
	most := uint64(0)
	for i := range appends {
		e := event(fmt.Sprintf("big-%d", i))
		e.Data = make([]byte, size)
		appendTo(t, client, "big", esdb.Any{}, e)
		live.expect(e.EventType)
		if i%16 == 15 {
			most = max(most, heap())
		}
	}

	require.Less(t, most, uint64(bound))
	for _, subscription := range stalled[:2] {
		for seen := 0; seen < appends; {
			message := subscription.Recv()
			require.Nil(t, message.SubscriptionDropped)
			if message.EventAppeared != nil {
				require.Equal(t, fmt.Sprintf("big-%d", seen), message.EventAppeared.Event.EventType)
				seen++
			}
		}
	}
	for _, subscription := range stalled {
		require.NoError(t, subscription.Close())
	}
}

// heap returns the number of bytes in use.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)

	return stats.HeapAlloc
}
