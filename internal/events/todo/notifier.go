package todo

import "sync"

// Notifier wakes workers when the read models have advanced. The zero value is ready to use.
type Notifier struct {
	mu        sync.Mutex
	listeners []chan struct{}
}

// Notify wakes the workers that sleep. A worker that is busy reads its list once more afterwards. Notify never blocks.
func (n *Notifier) Notify() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, listener := range n.listeners {
		select {
		case listener <- struct{}{}:
		default: // it is notified already
		}
	}
}

func (n *Notifier) listen() <-chan struct{} {
	if n == nil {
		return nil
	}
	listener := make(chan struct{}, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners = append(n.listeners, listener)
	return listener
}
