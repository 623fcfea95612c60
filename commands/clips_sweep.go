package commands

import (
	"context"
	"fmt"
	"time"

	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/blobs"
)

const (
	// sweepAge is how old a blob must be before it can count as left behind: its event may be on its way.
	sweepAge   = time.Hour
	sweepBatch = 500
)

// ShownBlobs tells which of the addresses a read model of clips shows.
type ShownBlobs func(ctx context.Context, addresses []blobs.Address) (map[blobs.Address]bool, error)

// Sweep removes the audio of clips that a crash kept from being saved, and of deleted ones whose audio could not be
// removed at once, and counts it. What the read model does not show is only suspected: the clip's stream decides, so that
// a read model which is behind or being built costs time and no audio.
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
		state, _, err := load(ctx, c.journal, string(address.Owner()), clip.Evolve)
		if err != nil {
			return removed, fmt.Errorf("sweeping clips: %w", err)
		}
		if state.Exists() && state.Blob == string(address) {
			continue
		}
		if err := c.blobs.Delete(ctx, address); err != nil {
			return removed, fmt.Errorf("sweeping clips: %w", err)
		}
		removed++
	}
	return removed, nil
}
