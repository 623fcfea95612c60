package clips

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
)

// erasedAtOnce is how many clips of a closed account are deleted at the same time.
const erasedAtOnce = 8

// Owned returns ids of clips of an account in their order, from the one after a given id on; none at the end.
type Owned func(ctx context.Context, account, after string) ([]string, error)

// EraseAll deletes the clips of a closed account, and their audio. It may be called again.
func (c *Clips) EraseAll(ctx context.Context, account string, owned Owned) error {
	for after := ""; ; {
		ids, err := owned(ctx, account, after)
		if err != nil || len(ids) == 0 {
			return err
		}
		deleting, all := errgroup.WithContext(ctx)
		deleting.SetLimit(erasedAtOnce)
		for _, id := range ids {
			deleting.Go(func() error { return c.erase(all, id, account) })
		}
		if err := deleting.Wait(); err != nil {
			return fmt.Errorf("erasing clips: %w", err)
		}
		after = ids[len(ids)-1]
	}
}

func (c *Clips) erase(ctx context.Context, id, account string) error {
	_, err := c.Delete(ctx, id, account, journal.System())
	if domain.CodeOf(err) == domain.NotFound { // its owner has deleted it, or an earlier attempt has
		return nil
	}
	return err
}
