package todo

import "sync"

// Bell wakes workers when the read models have moved. The zero Bell is ready.
type Bell struct {
	mu        sync.Mutex
	listeners []chan struct{}
}

// Ring wakes the workers that sleep. One that is at work looks once more afterwards. Ring never blocks.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, listener := range b.listeners {
		select {
		case listener <- struct{}{}:
		default: // it will look anyway
		}
	}
}

func (b *Bell) listen() <-chan struct{} {
	if b == nil {
		return nil
	}
	listener := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners = append(b.listeners, listener)
	return listener
}
