package codec

import (
	"sync"

	"github.com/recital-tts/recital/internal/process/workers"
)

// outbox is the queue of requests to a process. Adding never blocks, so that a process that reads slowly delays no
// stream; it is bounded because a stream has at most one request and one Close in it.
type outbox struct {
	mu     sync.Mutex
	filled sync.Cond
	frames []workers.Frame
	closed bool
}

func newOutbox() *outbox {
	o := &outbox{}
	o.filled.L = &o.mu
	return o
}

func (o *outbox) add(frame workers.Frame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.frames = append(o.frames, frame)
	o.filled.Signal()
}

// next waits for a request; it returns false when the outbox is closed.
func (o *outbox) next() (workers.Frame, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.frames) == 0 && !o.closed {
		o.filled.Wait()
	}
	if o.closed {
		return workers.Frame{}, false
	}
	frame := o.frames[0]
	o.frames[0] = workers.Frame{} // releases the payload
	o.frames = o.frames[1:]
	return frame, true
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.frames = nil
	o.filled.Signal()
}
