package app

import (
	"context"
	"fmt"
	"time"

	commands "github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/internal/readmodel"
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
			p.clips = commands.New(p.journal, p.keys, p.blobs, time.Now, p.log)
			read := readapi.API{Models: p.projector, Keys: p.keys, Blobs: p.blobs, Links: p.links()}
			write := writeapi.API{Clips: p.clips, ReadModels: p.projector}
			return service{
				public: append(read.Routes(), write.Routes()...),
				erases: []closing{p.eraseClips},
				jobs:   []job{{name: "the sweep of clips", every: time.Hour, current: true, run: p.sweepClips}},
			}, nil
		},
	}
}

// sweepClips removes what crashes left among the blobs.
func (p *parts) sweepClips(ctx context.Context) error {
	removed, err := p.clips.Sweep(ctx, readapi.Blobs{Pool: p.pool}.Shown)
	if removed > 0 {
		p.log.InfoContext(ctx, "removed audio that no clip refers to", "blobs", removed)
	}
	return err
}

// eraseClips deletes the clips of a closed account, as soon as the read model shows all that were saved before.
func (p *parts) eraseClips(ctx context.Context, account string) error {
	head, err := p.journal.Log.Head(ctx)
	if err != nil {
		return err
	}
	if err := p.projector.Wait(ctx, head, readmodel.Clips); err != nil {
		return fmt.Errorf("waiting for the read model of clips: %w", err)
	}
	return p.clips.EraseAll(ctx, account, readapi.Owned{Models: p.projector}.After)
}
