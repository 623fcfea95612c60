//go:build cgo

package libav

// #include "encoder.h"
import "C"

import "sync"

// crowd is how many encoders at once make it worth giving their memory back (about 1 MiB each for AAC). Doing so after
// every stream would cost the next one its first byte's time.
const crowd = 32

// memory watches the open encoders. The C library keeps the memory of a burst of streams; this gives it back when
// the last of them has closed.
type memory struct {
	mu         sync.Mutex
	open, peak int
}

func (m *memory) opened() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open++
	m.peak = max(m.peak, m.open)
}

func (m *memory) closed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open--
	if m.open > 0 || m.peak < crowd {
		return
	}
	m.peak = 0
	C.recital_release_memory()
}
