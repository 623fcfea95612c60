package app

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recital-tts/recital/internal/http/web"
)

// shutdownTimeout is how long the replies under way may take to finish once the listener is closed.
const shutdownTimeout = 25 * time.Second

// drain takes the public server out of service: not ready at once, requests are served until balancers must have
// noticed, then the listener closes, and what was begun is finished.
type drain struct {
	delay   time.Duration
	server  *web.Server // is set before it serves
	leaving atomic.Bool
	once    sync.Once
	ended   chan struct{}
	err     error // once ended is closed
}

func newDrain(delay time.Duration) *drain { return &drain{delay: delay, ended: make(chan struct{})} }

// Leaving reports whether the drain has begun.
func (d *drain) Leaving() bool { return d.leaving.Load() }

// Leave begins the drain and returns at once.
func (d *drain) Leave() {
	d.once.Do(func() {
		d.leaving.Store(true)
		d.server.Leave()
		go d.run()
	})
}

func (d *drain) run() {
	defer close(d.ended)
	time.Sleep(d.delay)
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	d.err = d.server.Shutdown(ctx)
}

// finish begins the drain, unless it has begun, and returns when it has ended.
func (d *drain) finish() error {
	d.Leave()
	<-d.ended
	return d.err
}
