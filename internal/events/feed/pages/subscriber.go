// Package pages delivers the event log as Watermill messages. A message carries a page: a run of consecutive events,
// decoded once.
package pages

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/pause"
)

// TopicAll is the topic of all our events. Any other topic is the name of a stream.
const TopicAll = "$all"

// ErrClosed is returned by a closed subscriber.
var ErrClosed = errors.New("the subscriber is closed")

// Config configures a Subscriber.
type Config struct {
	Log    eventlog.Log
	After  eventlog.Position // where subscriptions start
	Limits Limits            // of a page; with Events 1, each message is a single event

	// Decode returns an event with its Go value. Nil leaves events undecoded.
	Decode func(eventlog.Recorded) eventlog.Decoded

	// Ahead is called with the events of a full page while the page before it is handled. The page carries the result.
	// It may be nil.
	Ahead func([]eventlog.Decoded) any

	// ResendAfter is the pause before a refused message (Nack) is sent again; 0 means 100 ms.
	ResendAfter time.Duration

	Logger *slog.Logger // nil discards
}

const resubscribeAfter = 500 * time.Millisecond

func (c *Config) setDefaults() {
	c.Limits = c.Limits.withDefaults()
	if c.Decode == nil {
		c.Decode = func(r eventlog.Recorded) eventlog.Decoded { return eventlog.Decoded{Recorded: r} }
	}
	c.ResendAfter = cmp.Or(c.ResendAfter, 100*time.Millisecond)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// Subscriber is a Watermill subscriber over a catch-up subscription to the log. A message carries a page, see From. The
// next message follows when the last one is acknowledged; a refused one is sent again. There is no checkpoint: each
// Subscribe starts after Config.After, because the receiver commits its position together with the rows of a page.
type Subscriber struct {
	config Config

	closing context.Context
	close   context.CancelFunc

	mu      sync.Mutex // guards the start of subscriptions against Close
	running sync.WaitGroup
}

var _ message.Subscriber = (*Subscriber)(nil)

// NewSubscriber returns a subscriber to the log.
func NewSubscriber(config Config) *Subscriber {
	config.setDefaults()
	closing, cancel := context.WithCancel(context.Background())
	return &Subscriber{config: config, closing: closing, close: cancel}
}

// Subscribe delivers the topic until ctx ends or the subscriber is closed; then the channel is closed. It does not wait
// for the log.
func (s *Subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Err() != nil {
		return nil, ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.closing, cancel)
	messages := make(chan *message.Message)
	subscription := &subscription{config: s.config, topic: topic, after: s.config.After, messages: messages}
	s.running.Go(func() {
		defer cancel()
		defer stop()
		defer close(messages)
		subscription.run(ctx)
	})
	return messages, nil
}

// Close ends all subscriptions and waits for them. It may be called again.
func (s *Subscriber) Close() error {
	s.mu.Lock()
	s.close()
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// subscription is one call of Subscribe.
type subscription struct {
	config   Config
	topic    string
	after    eventlog.Position // of the last acknowledged event
	messages chan<- *message.Message
}

// run reads the log until ctx ends. The log survives outages. If its subscription ends nevertheless, another one
// continues after the last acknowledged event.
func (s *subscription) run(ctx context.Context) {
	for {
		err := s.read(ctx)
		if ctx.Err() != nil {
			return
		}
		s.config.Logger.WarnContext(ctx, "the subscription to the event log ended, subscribing again",
			"topic", s.topic, "after", s.after.String(), "error", err)
		if pause.For(ctx, resubscribeAfter) != nil {
			return
		}
	}
}

// read sends the pages of one subscription of the log. The pager reads ahead while a message is being handled.
func (s *subscription) read(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	source := s.config.Log.Subscribe(ctx, s.after)
	pages := make(chan Page)
	pager := &pager{
		limits:     s.config.Limits,
		decode:     s.config.Decode,
		take:       s.filter(),
		ahead:      s.config.Ahead,
		deliveries: source.Deliveries(),
		pages:      pages,
		after:      s.after,
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(pages)
		pager.run(ctx)
	})
	defer func() {
		cancel()
		reading.Wait()
		for range source.Deliveries() { // wait until the log's subscription has ended
		}
	}()
	for page := range pages {
		if err := s.deliver(ctx, page); err != nil {
			return err
		}
		s.after = page.Last()
	}
	return source.Err()
}

func (s *subscription) filter() func(eventlog.Recorded) bool {
	if s.topic == TopicAll {
		return nil
	}
	return func(r eventlog.Recorded) bool { return r.Stream == s.topic }
}

// deliver sends a page until it is acknowledged.
func (s *subscription) deliver(ctx context.Context, page Page) error {
	for {
		acked, err := s.send(ctx, page)
		if acked || err != nil {
			return err
		}
		if err := pause.For(ctx, s.config.ResendAfter); err != nil {
			return err
		}
	}
}

// send sends a page once. Its context ends with the answer.
func (s *subscription) send(ctx context.Context, page Page) (acked bool, err error) {
	messageContext, cancel := context.WithCancel(ctx)
	defer cancel()
	msg := newMessage(messageContext, page, s.config.Limits.Events == 1)
	select {
	case s.messages <- msg:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	select {
	case <-msg.Acked():
		return true, nil
	case <-msg.Nacked():
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
