package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
)

// positions answers x-recital-min-position.
type positions struct {
	log       eventlog.Log
	projector interface {
		Reached(models ...readmodel.Model) eventlog.Position
		Wait(ctx context.Context, position eventlog.Position, models ...readmodel.Model) error
	}
}

// Wait implements web.Positions. The log is asked only about positions that the read models have not reached.
func (p positions) Wait(ctx context.Context, text string, models []readmodel.Model) error {
	position, err := eventlog.ParsePosition(text)
	if err != nil {
		return web.ErrBadPosition
	}
	if position.Compare(p.projector.Reached(models...)) <= 0 {
		return nil
	}
	head, err := p.log.Head(ctx)
	if err != nil {
		return fmt.Errorf("asking for the head of the log: %w", err)
	}
	if position.Compare(head) > 0 {
		return web.ErrBadPosition
	}
	return p.wait(ctx, position, models)
}

// Current implements web.Positions.
func (p positions) Current(ctx context.Context, models []readmodel.Model) error {
	head, err := p.log.Head(ctx)
	if err != nil {
		return fmt.Errorf("asking for the head of the log: %w", err)
	}
	return p.wait(ctx, head, models)
}

func (p positions) wait(ctx context.Context, position eventlog.Position, models []readmodel.Model) error {
	err := p.projector.Wait(ctx, position, models...)
	if errors.Is(err, feed.ErrStopped) {
		return errors.Join(web.ErrStandsStill, err)
	}
	return err
}
