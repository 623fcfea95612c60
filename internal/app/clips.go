package app

import (
	"context"
	"fmt"
	"time"

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
func clipsSlice() slice {
	return slice{
		name:       "clips",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func(p *parts) (service, error) {
			p.clips = commands.New(commands.Config{
				Journal: p.journal, Keys: p.keys, Blobs: p.blobs, Spool: p.spool, SaveTimeout: clipSaveTimeout, Now: time.Now, Logger: p.log,
			})
			read := readapi.API{Models: p.projector, Keys: p.keys, Sealed: sealed.New(p.blobs, p.keys), Links: p.links()}
			write := writeapi.API{Clips: p.clips, ReadModels: p.projector}
			return service{
				public: append(read.Routes(), write.Routes()...),
				awaits: []closing{p.awaitErasedClips},
				toDos: []toDo{{commands.EraseProcess, readmodel.ToDoEraseClipsView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
					return p.eraseClips(ctx, readapi.Owned{Models: p.projector}, item)
				}}},
				jobs:       []job{{name: "the sweep of clips", every: time.Hour, current: true, run: p.sweepClips}},
				collectors: []prometheus.Collector{p.clipsToErase()},
			}, nil
		},
	}
}

// clipSaveTimeout is how long the end of a reply waits for its clip to be saved. The reply then ends without the clip.
const clipSaveTimeout = 10 * time.Second

// sweepClips removes what crashes left among the blobs.
func (p *parts) sweepClips(ctx context.Context) error {
	removed, err := p.clips.Sweep(ctx, readapi.Blobs{Pool: p.pool}.Shown)
	if removed > 0 {
		p.log.InfoContext(ctx, "removed audio that no clip refers to", "blobs", removed)
	}
	return err
}

const (
	erasedInTurn      = 1000   // clips
	erasuresLogged    = 10_000 // after how many deleted clips there is a line in the log
	erasedPerSecond   = 1000   // clips, about, which only decides when a closing looks again
	erasureLookAtMost = time.Minute
)

// eraseClips deletes some clips of a closed account. The next ones are the next turn's, so that one with a million of
// them holds up no other, and a turn that is cut short is nothing to do again.
func (p *parts) eraseClips(ctx context.Context, owned readapi.Owned, item todo.Item) (eventlog.Position, error) {
	ids, err := owned.First(ctx, item.ID, erasedInTurn)
	if err != nil {
		return eventlog.Position{}, err
	}
	erased, err := p.clips.Erase(ctx, item.ID, item.Cause, ids)
	if err != nil {
		return eventlog.Position{}, err
	}
	if err := p.projector.Wait(ctx, erased.Position, readmodel.Clips); err != nil {
		return eventlog.Position{}, fmt.Errorf("waiting for the read model of clips: %w", err)
	}
	left, err := owned.Count(ctx, item.ID)
	if err != nil {
		return eventlog.Position{}, err
	}
	if before := left + int64(erased.Deleted); left == 0 || left/erasuresLogged != before/erasuresLogged {
		p.log.InfoContext(ctx, "deleting the clips of a closed account", "account", item.ID, "left", left)
	}
	switch {
	case left == 0:
		return erased.Position, nil
	case erased.Deleted == 0: // another instance has, and the read model is behind
		return eventlog.Position{}, &todo.NotYetError{After: time.Second}
	}
	return eventlog.Position{}, &todo.NotYetError{}
}

// awaitErasedClips returns a *todo.NotYetError as long as there are clips of a closed account, as soon as the read
// model shows all that were saved before.
func (p *parts) awaitErasedClips(ctx context.Context, account string) error {
	head, err := p.journal.Log.Head(ctx)
	if err != nil {
		return err
	}
	if err := p.projector.Wait(ctx, head, readmodel.Clips); err != nil {
		return fmt.Errorf("waiting for the read model of clips: %w", err)
	}
	left, err := readapi.Owned{Models: p.projector}.Count(ctx, account)
	if err != nil || left == 0 {
		return err
	}
	return &todo.NotYetError{After: min(time.Second+time.Duration(left)*time.Second/erasedPerSecond, erasureLookAtMost)}
}

// clipsToErase is a gauge of the clips of closed accounts. It is left out if Postgres does not answer.
func (p *parts) clipsToErase() prometheus.Collector {
	return clipsGauge{
		desc:  prometheus.NewDesc("recital_clips_to_erase", "Clips of closed accounts, which are being deleted.", nil, nil),
		clips: newRecent(readapi.Erasures{Pool: p.pool}.Clips),
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
