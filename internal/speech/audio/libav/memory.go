//go:build cgo

package libav

// #include "encoder.h"
import "C"

import "sync"

// crowd is the peak number of concurrent encoders after which their memory is released (about 1 MiB each for AAC).
// Releasing it after every stream would delay the first byte of the next one.
const crowd = 32

// memory counts the open encoders. The C library retains the memory of a burst of streams, which memory releases when
// the last of them closes.
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
