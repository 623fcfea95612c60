package esdb

import (
	"context"
	"fmt"
	"sync"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// outage is the time in which the event store answers nothing.
type outage struct {
	mu    sync.Mutex
	since time.Time // when the first attempt began that was not answered; zero while attempts are
}

// begin notes an attempt that was not answered and has taken so long.
func (o *outage) begin(took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		o.since = time.Now().Add(-took)
	}
}

func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.since = time.Time{}
}

func (o *outage) lasted() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return 0
	}
	return time.Since(o.since)
}

// Silence returns for how long the event store has answered nothing, zero while it answers. It is known within
// Config.BeatEvery and Config.BeatTimeout, also if nobody calls.
func (c *Client) Silence() time.Duration { return c.outage.lasted() }

// beat asks the event store for little, again and again, so that a node that hangs without dying is left long before a
// call on it has had its time, and long before keep-alives notice.
func (c *Client) beat() {
	ticker := time.NewTicker(c.conf.BeatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-c.closing.Done():
			return
		case <-ticker.C:
			// What comes of it is in the breaker and in the outage.
			_, _ = try(c.closing, c, reads, &tries{}, attempt{c.conf.BeatTimeout, (*connection).abandon}, lastEvent)
		}
	}
}

func lastEvent(ctx context.Context, client *es.Client) (page, error) {
	events, err := client.ReadAll(ctx, es.ReadAllOptions{Direction: es.Backwards, From: es.End{}}, 1)
	if err != nil {
		return page{}, err
	}
	return collect(events, 1)
}

// unavailable returns the error of a call that was not sent, with the reason if there is no connection.
func (c *Client) unavailable() error {
	if reason := c.supervisor.unreachable(); reason != "" {
		return fmt.Errorf("%w: %s", eventlog.ErrUnavailable, reason)
	}
	return eventlog.ErrUnavailable
}
