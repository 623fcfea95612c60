package clips

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// EraseProcess is the name of the to-do list of closed accounts that have clips.
const EraseProcess = "erase_clips"

const (
	erasedAtOnce = 8
	// erasureTurn is the time for which the clips of one account are deleted before the next account's turn. It is less
	// than a to-do worker's time limit, however slowly audio is removed.
	erasureTurn = 5 * time.Second
)

// Erasure is the result of a turn.
type Erasure struct {
	Deleted  int               // number of clips, excluding those deleted before
	Position eventlog.Position // of the last event
}

// Erase deletes clips of a closed account, and their audio, because of an event. It ends early when the turn is over,
// and can be repeated.
func (c *Clips) Erase(ctx context.Context, account string, cause uuid.UUID, ids []string) (Erasure, error) {
	var done eventlog.Position
	var mu sync.Mutex
	var deleted atomic.Int64
	deleting, all := errgroup.WithContext(ctx)
	deleting.SetLimit(erasedAtOnce)
	end := time.Now().Add(erasureTurn)
	for _, id := range ids {
		if time.Now().After(end) {
			break
		}
		deleting.Go(func() error {
			position, err := c.Delete(all, id, account, journal.CausedBy(cause))
			if domain.CodeOf(err) == domain.NotFound { // deleted by its owner, or by an earlier attempt
				return nil
			}
			if err != nil {
				return err
			}
			deleted.Add(1)
			mu.Lock()
			defer mu.Unlock()
			if position.Compare(done) > 0 {
				done = position
			}
			return nil
		})
	}
	err := deleting.Wait()
	if err != nil {
		err = fmt.Errorf("erasing clips: %w", err)
	}
	return Erasure{Deleted: int(deleted.Load()), Position: done}, err
}
