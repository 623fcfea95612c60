package app

import (
	"context"
	"fmt"
	"log/slog"
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

// clipsSlice is that of results that accounts keep.
func clipsSlice(core *coreParts, stores *storeParts, shared *sharedParts) slice {
	return slice{
		name:       "clips",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func() (service, error) {
			shared.clips = commands.New(commands.Config{
				Journal: core.journal, Keys: core.keys, Blobs: stores.blobs, Spool: stores.spool, SaveTimeout: clipSaveTimeout, Now: time.Now, Logger: core.log,
			})
			read := readapi.API{Models: core.projector, Keys: core.keys, Sealed: sealed.New(stores.blobs, core.keys), Links: core.links()}
			write := writeapi.API{Clips: shared.clips, ReadModels: core.projector}
			erasure := clipErasure{core, shared.clips, readapi.Owned{Models: core.projector}}
			return service{
				public:     append(read.Routes(), write.Routes()...),
				awaits:     []closing{erasure.await},
				toDos:      []toDo{{commands.EraseProcess, readmodel.ToDoEraseClipsView, erasure.erase}},
				jobs:       []job{{name: "the sweep of clips", every: time.Hour, current: true, run: clipSweep(core.log, shared.clips, stores.pool)}},
				collectors: []prometheus.Collector{clipsToErase(stores.pool)},
			}, nil
		},
	}
}

// clipSaveTimeout is how long the end of a reply waits for its clip to be saved. The reply then ends without the clip.
const clipSaveTimeout = 10 * time.Second

// clipSweep returns the removal of what crashes left among the blobs.
func clipSweep(log *slog.Logger, clips *commands.Clips, pool *pgxpool.Pool) func(context.Context) error {
	return func(ctx context.Context) error {
		removed, err := clips.Sweep(ctx, readapi.Blobs{Pool: pool}.Shown)
		if removed > 0 {
			log.InfoContext(ctx, "removed audio that no clip refers to", "blobs", removed)
		}
		return err
	}
}

const (
	erasedInTurn      = 1000   // clips
	erasuresLogged    = 10_000 // after how many deleted clips there is a line in the log
	erasedPerSecond   = 1000   // clips, about, which only decides when a closing looks again
	erasureLookAtMost = time.Minute
)

// clipErasure deletes the clips of closed accounts.
type clipErasure struct {
	*coreParts
	clips *commands.Clips
	owned readapi.Owned
}

// erase deletes some clips of a closed account. The next ones are the next turn's, so that one with a million of
// them holds up no other, and a turn that is cut short is nothing to do again.
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

// await returns a *todo.NotYetError as long as there are clips of a closed account, as soon as the read
// model shows all that were saved before.
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

// clipsToErase is a gauge of the clips of closed accounts. It is left out if Postgres does not answer.
func clipsToErase(pool *pgxpool.Pool) prometheus.Collector {
	return clipsGauge{
		desc:  prometheus.NewDesc("recital_clips_to_erase", "Clips of closed accounts, which are being deleted.", nil, nil),
		clips: newRecent(readapi.Erasures{Pool: pool}.Clips),
	}
}

// clipsGauge is a number of clips in the read model.
type clipsGauge struct {
	desc  *prometheus.Desc
	clips *recent[int64]
}

// Describe implements prometheus.Collector.
func (g clipsGauge) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- g.desc }

// Collect implements prometheus.Collector.
func (g clipsGauge) Collect(figures chan<- prometheus.Metric) {
	if clips, known := g.clips.get(); known {
		figures <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, float64(clips))
	}
}
