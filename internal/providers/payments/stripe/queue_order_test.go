package stripe

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// passage records the order in which requests pass a queue, in a synctest bubble.
type passage struct {
	*queue
	t *testing.T

	mu     sync.Mutex
	passed []string
}

func (p *passage) note(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed = append(p.passed, name)
}

// order returns the names of the requests that have passed.
func (p *passage) order() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.passed)
}

// send sends a request into the queue, and returns when it waits or has passed.
func (p *passage) send(ctx context.Context, method, name string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://provider.example", nil)
	assert.NoError(p.t, err)
	go func() {
		if p.wait(r, time.Now().Add(time.Hour)) == 0 {
			p.note(name) // in order: the queue lets one pass at a time
		}
	}()
	synctest.Wait()
}

func (p *passage) person(account string) context.Context {
	return payments.WithCaller(p.t.Context(), payments.Caller{Account: account, Waiting: true})
}

func TestTheOrderOfTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &passage{queue: newQueue(2), t: t}
		p.send(t.Context(), http.MethodGet, "first")
		p.send(t.Context(), http.MethodGet, "background")
		for _, name := range []string{"a1", "a2", "a3"} {
			p.send(p.person("a"), http.MethodGet, name)
		}
		p.send(p.person("b"), http.MethodGet, "b1")
		p.send(p.person("c"), http.MethodPost, "change")
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"first", "change", "a1", "b1", "a2", "a3", "background"}, p.order())
	})
}

// Background requests make progress even while more and more requests of users arrive.
func TestBackgroundRequestsMakeProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &passage{queue: newQueue(20), t: t}
		for range 10 { // more than pass at once
			p.send(p.person("a"), http.MethodGet, "person")
		}
		p.send(t.Context(), http.MethodGet, "background")
		for range 60 {
			p.send(p.person("a"), http.MethodGet, "person")
			time.Sleep(time.Second / 20)
		}
		assert.Contains(t, p.order(), "background")
		time.Sleep(time.Minute)
	})
}
