package eventnode

import "sync"

// head is the end of what readers may see: the position of the last event that is on disk. Pebble shows a batch to
// readers before its fsync; an event that was read must never be lost, so every read stops at the head.
type head struct {
	mu       sync.Mutex
	position uint64
	moved    chan struct{}
}

func newHead(position uint64) *head {
	return &head{position: position, moved: make(chan struct{})}
}

// get returns the position and a channel that is closed when the head advances.
func (h *head) get() (uint64, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.position, h.moved
}

func (h *head) advance(position uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.position = position
	close(h.moved)
	h.moved = make(chan struct{})
}
