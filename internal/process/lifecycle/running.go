package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// running is a part that was started.
type running struct {
	part   Part
	cancel context.CancelFunc
	ended  chan error // receives the result of Run, or nil if it was reported as a failure

	mu       sync.Mutex
	stopping bool
}

func (g *Group) run(p Part) *running {
	r := &running{part: p, ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	if p.Run == nil {
		r.ended <- nil
		return r
	}
	go func() {
		err := p.Run(ctx)
		if !r.isStopping() {
			g.fail(failure(p.Name, err))
			err = nil
		}
		r.ended <- err
	}()
	return r
}

func failure(name string, err error) error {
	if err == nil {
		return fmt.Errorf("%s ended", name)
	}
	return fmt.Errorf("%s ended: %w", name, err)
}

func (r *running) isStopping() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopping
}

// stop stops the part and waits for it.
func (r *running) stop() error {
	r.mu.Lock()
	r.stopping = true
	r.mu.Unlock()
	var err error
	if r.part.Stop != nil {
		err = r.part.Stop()
	}
	r.cancel()
	return errors.Join(err, <-r.ended)
}
