package app

import (
	"context"
	"fmt"
	"time"

	commands "github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/readapi/clips"
)

// erasureStores say what is there of a closed account.
func (p *parts) erasureStores(desk *commands.Audit) commands.Stores {
	return commands.Stores{
		KeyDestroyed: p.keys.ErasedAt,
		Left: func(ctx context.Context, account string, until time.Time) ([]commands.Left, error) {
			saved, err := clips.Owned{Models: p.projector}.Count(ctx, account)
			if err != nil {
				return nil, err
			}
			voices, err := desk.Voices(ctx, account)
			if err != nil {
				return nil, err
			}
			var left int64
			for _, id := range voices {
				count, err := p.countBlobs(ctx, blobs.Owner(voice.Stream(id)))
				if err != nil {
					return nil, err
				}
				left += count
			}
			times, err := p.wordTimes.Count(ctx, account, until)
			if err != nil {
				return nil, err
			}
			variables, err := desk.Variables(ctx, account)
			if err != nil {
				return nil, err
			}
			return []commands.Left{
				{What: "its clips", Count: saved}, {What: "recordings and models of its voices", Count: left},
				{What: "word times of its replies", Count: times}, {What: "its API keys at the hosting platform", Count: variables},
			}, nil
		},
	}
}

func (p *parts) countBlobs(ctx context.Context, owner blobs.Owner) (count int64, err error) {
	for _, err := range p.blobs.List(ctx, owner.Prefix()) {
		if err != nil {
			return 0, fmt.Errorf("looking for blobs: %w", err)
		}
		count++
	}
	return count, nil
}
