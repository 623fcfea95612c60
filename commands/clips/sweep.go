package clips

import (
	"context"
	"fmt"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

const (
	// sweepAge is the age from which a blob is considered abandoned: until then its event may still be appended.
	sweepAge   = time.Hour
	sweepBatch = 500
)

// ShownBlobs returns the addresses that a read model of clips shows, among those given.
type ShownBlobs func(ctx context.Context, addresses []blobs.Address) (map[blobs.Address]bool, error)

// Sweep removes the audio of clips that were not saved because of a crash, and of deleted clips whose audio could not
// be removed immediately. It returns the number of removed blobs. A blob that the read model does not show is checked
// against the clip's stream, so that a read model that lags or is being rebuilt costs time, but no audio.
func (c *Clips) Sweep(ctx context.Context, shown ShownBlobs) (removed int, err error) {
	var batch []blobs.Address
	for blob, err := range c.blobs.List(ctx, clip.Stream("")) {
		if err != nil {
			return removed, fmt.Errorf("sweeping clips: %w", err)
		}
		if c.now().Sub(blob.Stored) < sweepAge {
			continue
		}
		if batch = append(batch, blob.Address); len(batch) < sweepBatch {
			continue
		}
		n, err := c.sweepBatch(ctx, batch, shown)
		removed += n
		if err != nil {
			return removed, err
		}
		batch = batch[:0]
	}
	n, err := c.sweepBatch(ctx, batch, shown)
	return removed + n, err
}

func (c *Clips) sweepBatch(ctx context.Context, addresses []blobs.Address, shown ShownBlobs) (removed int, err error) {
	if len(addresses) == 0 {
		return 0, nil
	}
	visible, err := shown(ctx, addresses)
	if err != nil {
		return 0, fmt.Errorf("sweeping clips: %w", err)
	}
	for _, address := range addresses {
		if visible[address] {
			continue
		}
		account, err := Needed(ctx, c.journal, address)
		if err != nil {
			return removed, fmt.Errorf("sweeping clips: %w", err)
		}
		if account != "" {
			continue
		}
		if err := c.blobs.Delete(ctx, address); err != nil {
			return removed, fmt.Errorf("sweeping clips: %w", err)
		}
		removed++
	}
	return removed, nil
}

// Needed returns the account of the clip to which a blob belongs, or "" if the clip does not exist.
func Needed(ctx context.Context, j *journal.Journal, address blobs.Address) (account string, err error) {
	state, _, err := journal.Load(ctx, j, ownerStream(address))
	if err != nil || !state.Exists() || state.Blob != string(address) {
		return "", err
	}
	return state.Account, nil
}

// ownerStream returns the clip's stream, under whose name its blob is stored.
func ownerStream(address blobs.Address) journal.Stream[clip.State, clip.Event] {
	return journal.Stream[clip.State, clip.Event]{Name: string(address.Owner()), Evolve: clip.Evolve}
}
