package pages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb/esdbtest"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

// publisher appends messages to the stream of their topic, even with other publishers.
type publisher struct {
	log eventlog.Log

	mu        sync.Mutex
	revisions map[string]eventlog.Revision
}

func (p *publisher) Publish(topic string, messages ...*message.Message) error {
	events := make([]eventlog.Proposed, 0, len(messages))
	for _, m := range messages {
		metadata, err := json.Marshal(m.Metadata)
		if err != nil {
			return err
		}
		events = append(events, eventlog.Proposed{
			ID: uuid.MustParse(m.UUID), Type: "message-sent", Data: m.Payload, Metadata: metadata,
		})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	expected, known := p.revisions[topic]
	if !known {
		expected = eventlog.NoStream
	}
	for {
		appended, err := p.log.Append(context.Background(), topic, expected, events)
		var lost *eventlog.ConflictError
		switch {
		case err == nil:
			p.revisions[topic] = appended.Revision
			return nil
		case errors.As(err, &lost):
			expected = lost.Actual
		case !errors.Is(err, eventlog.ErrUnavailable): // otherwise it may have been written, which the identical append shows
			return err
		}
	}
}

func (*publisher) Close() error { return nil }

// nodes starts a node for each test of Watermill's suite, because a subscriber reads the whole log.
type nodes struct {
	t    *testing.T
	mu   sync.Mutex
	logs map[string]eventlog.Log
}

func (n *nodes) log(test string) eventlog.Log {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := path.Dir(test) // without the suite's id of the run
	if n.logs[name] == nil {
		n.logs[name] = esdbtest.Open(n.t, nodetest.Start(n.t))
	}
	return n.logs[name]
}

// pubSub returns the publisher and the subscriber that Watermill's suite tests.
func pubSub(t *testing.T, log eventlog.Log) (message.Publisher, message.Subscriber) {
	subscriber := NewSubscriber(Config{Log: log, Limits: Limits{Events: 1}})
	t.Cleanup(func() { require.NoError(t, subscriber.Close()) }) // the suite does not close all of them
	return &publisher{log: log, revisions: map[string]eventlog.Revision{}}, subscriber
}

func features() tests.Features {
	return tests.Features{
		GuaranteedOrder:                  true,
		Persistent:                       true,
		NewSubscriberReceivesOldMessages: true,
		ForceShort:                       raceDetected,
	}
}

func (n *nodes) pubSub(t *testing.T) (message.Publisher, message.Subscriber) {
	return pubSub(t, n.log(t.Name()))
}

func TestWatermillsOwnSuite(t *testing.T) {
	tests.TestPubSub(t, features(), (&nodes{t: t, logs: map[string]eventlog.Log{}}).pubSub, nil)
}

// STRESS_TEST_COUNT is the number of Watermill's suites that run concurrently, by default 10.
func TestSoakWatermillsStressSuite(t *testing.T) {
	if os.Getenv("RECITAL_SOAK") == "" {
		t.Skip("make soak runs it")
	}
	tests.TestPubSubStressTest(t, features(), (&nodes{t: t, logs: map[string]eventlog.Log{}}).pubSub, nil)
}

// This replaces the suite's TestReconnect, which has a race: it compares the received messages with a list to which
// another goroutine still appends.
func TestASubscriptionOutlivesRestartsOfTheNode(t *testing.T) {
	const count, publishers, topic = 3000, 20, "topic"
	dir := nodetest.Dir(t)
	node := nodetest.Open(t, dir)
	log := esdbtest.Open(t, nodetest.Socket(dir))
	pub, sub := pubSub(t, log)
	messages, err := sub.Subscribe(t.Context(), topic)
	require.NoError(t, err)

	// given many publishers
	var publishing sync.WaitGroup
	for range publishers {
		publishing.Go(func() {
			for range count / publishers {
				assert.NoError(t, pub.Publish(topic, message.NewMessage(uuid.NewString(), []byte("x"))))
			}
		})
	}

	// when the node is restarted while their messages are read
	var received []string
	for m := range messages {
		received = append(received, m.Metadata.Get(MetadataRevision))
		m.Ack()
		if len(received) == count/3 || len(received) == count/2 {
			require.NoError(t, node.Close())
			node = nodetest.Open(t, dir)
		}
		if len(received) == count {
			break
		}
	}
	publishing.Wait()
	require.NoError(t, sub.Close())

	// then each message was received once, in order
	for i, revision := range received {
		require.Equal(t, strconv.Itoa(i), revision)
	}
	require.NoError(t, log.Close())
	require.NoError(t, node.Close())
}

func TestAMessageCarriesItsEvents(t *testing.T) {
	// given a log with three events
	log, registry := esdbtest.Open(t, nodetest.Start(t)), registry(t)
	write(t, log, opened{ID: "a", Label: "new"}, raised{ID: "a", By: 2}, closed{ID: "a"})

	subscribe := func(limits Limits) (<-chan *message.Message, func()) {
		decode := func(r eventlog.Recorded) eventlog.Decoded {
			decoded, err := registry.Decode(r)
			assert.NoError(t, err)
			return decoded
		}
		s := NewSubscriber(Config{Log: log, Limits: limits, Decode: decode})
		messages, err := s.Subscribe(t.Context(), TopicAll)
		require.NoError(t, err)
		return messages, func() { require.NoError(t, s.Close()) }
	}

	t.Run("one by one", func(t *testing.T) {
		messages, end := subscribe(Limits{Events: 1})
		defer end()
		m := <-messages
		require.JSONEq(t, `{"ID":"a","Label":"new"}`, string(m.Payload))
		require.Equal(t, "counter-opened", m.Metadata.Get(MetadataType))
		require.Equal(t, "0", m.Metadata.Get(MetadataRevision))
		require.Contains(t, m.Metadata.Get(MetadataStream), "counter-")
		require.Equal(t, "2026-09-21T14:13:20Z", m.Metadata.Get("time"))
		_, err := eventlog.ParsePosition(m.Metadata.Get(MetadataPosition))
		require.NoError(t, err)
	})
	t.Run("as a page", func(t *testing.T) {
		messages, end := subscribe(Limits{})
		defer end()
		var events []any
		for len(events) < 3 {
			m := <-messages
			page, ok := From(m.Context())
			require.True(t, ok)
			for _, event := range page.Events {
				events = append(events, event.Event)
			}
			_, ok = From(m.Copy().Context())
			require.False(t, ok)
			m.Ack()
		}
		require.Equal(t, raised{ID: "a", By: 2}, events[1])
	})
}

func TestASubscriptionStartsAfterAPosition(t *testing.T) {
	log := esdbtest.Open(t, nodetest.Start(t))
	at := write(t, log, closed{ID: "before"})
	write(t, log, closed{ID: "after"})
	s := NewSubscriber(Config{Log: log, After: at, Limits: Limits{Events: 1}})
	messages, err := s.Subscribe(t.Context(), TopicAll)
	require.NoError(t, err)
	require.JSONEq(t, `{"ID":"after"}`, string((<-messages).Payload))
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err = s.Subscribe(t.Context(), TopicAll)
	require.ErrorIs(t, err, ErrClosed)
}

// brittle is a log with subscriptions that end after a few deliveries.
type brittle struct{ eventlog.Log }

type broken struct {
	eventlog.Subscription
	deliveries chan eventlog.Delivery
}

func (b brittle) Subscribe(ctx context.Context, after eventlog.Position) eventlog.Subscription {
	ctx, cancel := context.WithCancel(ctx)
	source := b.Log.Subscribe(ctx, after)
	s := &broken{Subscription: source, deliveries: make(chan eventlog.Delivery)}
	go func() {
		defer close(s.deliveries)
		defer func() {
			for range source.Deliveries() {
			}
		}()
		defer cancel()
		for range 3 {
			select {
			case s.deliveries <- <-source.Deliveries():
			case <-ctx.Done():
				return
			}
		}
	}()
	return s
}

func (b *broken) Deliveries() <-chan eventlog.Delivery { return b.deliveries }

func TestAnEndedSubscriptionIsReplaced(t *testing.T) {
	// given a log with subscriptions that end
	log := esdbtest.Open(t, nodetest.Start(t))
	for i := range 8 {
		write(t, log, closed{ID: fmt.Sprint(i)})
	}
	s := NewSubscriber(Config{Log: brittle{log}, Limits: Limits{Events: 1}})
	messages, err := s.Subscribe(t.Context(), TopicAll)
	require.NoError(t, err)

	// then the subscriber resumes after the acknowledged messages
	for i := range 8 {
		select {
		case m := <-messages:
			require.JSONEq(t, fmt.Sprintf(`{"ID":"%d"}`, i), string(m.Payload))
			m.Ack()
		case <-time.After(patience):
			t.Fatal("no message")
		}
	}
	require.NoError(t, s.Close())
}
