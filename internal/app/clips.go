package app

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	commands "github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/providers/blobs/sealed"
	projections "github.com/recital-tts/recital/projections/clips"
	readapi "github.com/recital-tts/recital/readapi/clips"
	writeapi "github.com/recital-tts/recital/writeapi/clips"
)

// clipsSlice returns the slice of saved results.
func clipsSlice(core *coreParts, stores *storeParts, shared *sharedParts) slice {
	return slice{
		name:       "clips",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func() (service, error) {
			shared.clips = commands.New(commands.Config{
				Journal: core.journal, Keys: core.keys, Blobs: stores.blobs, Spool: stores.spool, SaveTimeout: clipSaveTimeout,
				Now: time.Now, Logger: core.log,
			})
			read := readapi.API{
				Models: core.projector, Keys: core.keys, Sealed: sealed.New(stores.blobs, core.keys), Links: core.links(),
			}
			write := writeapi.API{Clips: shared.clips, ReadModels: core.projector}
			erasure := clipErasure{core, shared.clips, readapi.Owned{Models: core.projector}}
			return service{
				public: append(read.Routes(), write.Routes()...),
				awaits: []closing{erasure.await},
				toDos:  []toDo{{commands.EraseProcess, readmodel.ToDoEraseClipsView, erasure.erase}},
				jobs: []job{{
					name: "the sweep of clips", every: time.Hour, current: true,
					run: core.sweep(func(ctx context.Context) (int, error) {
						return shared.clips.Sweep(ctx, readapi.Blobs{Pool: stores.pool}.Shown)
					}, "removed audio that no clip refers to", "blobs"),
				}},
				collectors: []prometheus.Collector{clipsToErase(stores.pool)},
			}, nil
		},
	}
}

// clipSaveTimeout is the time that the end of a reply waits for its clip to be saved. It then ends without the clip.
const clipSaveTimeout = 10 * time.Second

const (
	erasedInTurn      = 1000   // clips in one turn
	erasuresLogged    = 10_000 // deleted clips between two lines in the log
	erasedPerSecond   = 1000   // an estimate, for when a closing looks again
	erasureLookAtMost = time.Minute
)

// clipErasure deletes the clips of closed accounts.
type clipErasure struct {
	*coreParts
	clips *commands.Clips
	owned readapi.Owned
}

// erase deletes some clips of a closed account. The next turn deletes more, so that an account with a million clips
// delays no other, and an interrupted turn need not be repeated.
func (e clipErasure) erase(ctx context.Context, item todo.Item) (eventlog.Position, error) {
	ids, err := e.owned.First(ctx, item.ID, erasedInTurn)
	if err != nil {
		return eventlog.Position{}, err
	}
	erased, err := e.clips.Erase(ctx, item.ID, item.Cause, ids)
	if err != nil {
		return eventlog.Position{}, err
	}
	if err := e.projector.Wait(ctx, erased.Position, readmodel.Clips); err != nil {
		return eventlog.Position{}, fmt.Errorf("waiting for the read model of clips: %w", err)
	}
	left, err := e.owned.Count(ctx, item.ID)
	if err != nil {
		return eventlog.Position{}, err
	}
	if before := left + int64(erased.Deleted); left == 0 || left/erasuresLogged != before/erasuresLogged {
		e.log.InfoContext(ctx, "deleting the clips of a closed account", "account", item.ID, "left", left)
	}
	switch {
	case left == 0:
		return erased.Position, nil
	case erased.Deleted == 0: // another instance has, and the read model is behind
		return eventlog.Position{}, &todo.NotYetError{After: time.Second}
	}
	return eventlog.Position{}, &todo.NotYetError{}
}

// await returns a *todo.NotYetError while a closed account has clips. It first waits for the read model to show all
// clips saved before.
func (e clipErasure) await(ctx context.Context, account string) error {
	head, err := e.journal.Log.Head(ctx)
	if err != nil {
		return err
	}
	if err := e.projector.Wait(ctx, head, readmodel.Clips); err != nil {
		return fmt.Errorf("waiting for the read model of clips: %w", err)
	}
	left, err := e.owned.Count(ctx, account)
	if err != nil || left == 0 {
		return err
	}
	return &todo.NotYetError{After: min(time.Second+time.Duration(left)*time.Second/erasedPerSecond, erasureLookAtMost)}
}

// clipsToErase returns a gauge of the clips of closed accounts. It is omitted if Postgres does not answer.
func clipsToErase(pool *pgxpool.Pool) prometheus.Collector {
	left := newRecent(readapi.Erasures{Pool: pool}.Clips)
	return scraped(func() (all []prometheus.Metric) {
		if clips, known := left.get(); known {
			all = append(all, gauge("recital_clips_to_erase", "Clips of closed accounts, which are being deleted.", clips))
		}
		return all
	})
}
