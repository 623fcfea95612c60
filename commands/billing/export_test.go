package billing

import (
	"context"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Refresh records the provider's current state of an account, like a notice of it.
func (b *Billing) Refresh(ctx context.Context, account string) (eventlog.Position, error) {
	return b.refresh(ctx, account, journal.System())
}
