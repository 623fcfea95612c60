// Package outbox keeps notices in memory instead of sending them, for mode dev.
package outbox

import (
	"context"
	"slices"
	"sync"

	"github.com/recital-tts/recital/internal/providers/notices"
)

// capacity is the maximum number of stored notices. The newest are kept.
const capacity = 200

// Outbox implements notices.Sender.
type Outbox struct {
	mu   sync.Mutex
	kept []notices.Message
}

// Send stores a message, and replaces one with the same id.
func (o *Outbox) Send(_ context.Context, m notices.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept = slices.DeleteFunc(o.kept, func(kept notices.Message) bool { return kept.ID == m.ID })
	o.kept = append(o.kept, m)
	if len(o.kept) > capacity {
		o.kept = slices.Delete(o.kept, 0, len(o.kept)-capacity)
	}
	return nil
}

// Messages returns the stored messages, the newest first.
func (o *Outbox) Messages() []notices.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := slices.Clone(o.kept)
	slices.Reverse(all)
	return all
}
