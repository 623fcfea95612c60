//go:build cgo

package libav

// #include "encoder.h"
import "C"

import "sync"

// crowd is the number of concurrent encoders from which it is worth returning their memory (about 1 MiB each for
// AAC). Doing so after every stream would delay the first byte of the next one.
const crowd = 32

// memory counts the open encoders. The C library retains the memory of a burst of streams; this releases it when the
// last of them has closed.
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
