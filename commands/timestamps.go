package commands

import (
	"context"
	"log/slog"

	"github.com/recital-tts/recital/internal/wordtimes"
)

// Timestamps keeps the word times of replies that are audio alone, for whoever has the id that the reply told. It is no
// part of the domain: no event is written for it (see package wordtimes).
type Timestamps struct {
	shelf *wordtimes.Shelf
	log   *slog.Logger
}

// NewTimestamps makes a Timestamps over a shelf.
func NewTimestamps(shelf *wordtimes.Shelf, log *slog.Logger) *Timestamps {
	return &Timestamps{shelf: shelf, log: log}
}

// nameTimestamps gives the word times their id, if they shall be kept: the client learns it before there is any audio.
func (r *Reply) nameTimestamps() (err error) {
	kept := r.synthesiser.Timestamps
	if !r.order.KeepTimes || kept == nil {
		return nil
	}
	r.timestamps, err = kept.shelf.DrawID()
	return err
}

// keepTimestamps begins to keep the times of the segments that were handed over, and gives a function that waits until
// that is done. It runs beside the settlement, and goes on when the client has gone. Times that cannot be kept are logged,
// never the reply's trouble: the client has its audio.
func (r *Reply) keepTimestamps(ctx context.Context) (wait func()) {
	if r.timestamps == "" || len(r.timings) == 0 {
		return func() {}
	}
	kept, done := r.synthesiser.Timestamps, make(chan struct{})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	go func() {
		defer close(done)
		defer cancel()
		if err := kept.shelf.Put(ctx, r.order.Account, r.timestamps, r.timings); err != nil {
			kept.log.ErrorContext(ctx, "word times were not kept", "account", r.order.Account, "error", err)
		}
	}()
	return func() { <-done }
}
