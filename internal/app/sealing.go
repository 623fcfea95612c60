package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	commands "github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	readapi "github.com/recital-tts/recital/readapi/clips"
)

const (
	// sealingPause is how often clips are looked for whose audio is not sealed: an instance of an earlier release that runs
	// beside saves more of them.
	sealingPause = time.Hour
	// sealingReport is how often a long run says how far it is.
	sealingReport = 15 * time.Second
)

// sealing is the job that seals the audio of clips of earlier releases.
type sealing struct {
	parts  *parts
	list   readapi.Unsealed
	log    *slog.Logger
	left   prometheus.Gauge
	sealed prometheus.Counter
	failed prometheus.Gauge
}

func newSealing(p *parts) *sealing {
	return &sealing{
		parts: p, list: readapi.Unsealed{Models: p.projector}, log: p.log,
		left: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "recital_clips_unsealed", Help: "Clips of earlier releases whose audio is not sealed yet, as this instance has last seen it."}),
		sealed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "recital_clips_sealed_total", Help: "Clips of earlier releases whose audio this instance has sealed."}),
		failed: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "recital_clips_sealing_failed", Help: "Clips whose audio could not be sealed in the last run, for reasons of their own."}),
	}
}

func (s *sealing) run(ctx context.Context) error {
	left, err := s.count(ctx)
	if err != nil {
		return err
	}
	if left == 0 {
		s.failed.Set(0)
		return nil
	}
	s.log.InfoContext(ctx, "sealing the audio of clips of earlier releases", "left", left)
	reported, before := time.Now(), 0
	return s.parts.clips.SealAudio(ctx, s, func(p commands.Progress) {
		s.sealed.Add(float64(p.Sealed - before))
		s.failed.Set(float64(p.Failed))
		before = p.Sealed
		if !p.Ended && time.Since(reported) < sealingReport {
			return
		}
		reported = time.Now()
		if left, err := s.count(ctx); err == nil {
			s.log.InfoContext(ctx, "sealed the audio of clips of earlier releases", "sealed", p.Sealed, "failed", p.Failed, "left", left)
		}
	})
}

func (s *sealing) count(ctx context.Context) (int64, error) {
	left, err := s.list.Count(ctx)
	if err == nil {
		s.left.Set(float64(left))
	}
	return left, err
}

// After implements commands.UnsealedClips.
func (s *sealing) After(ctx context.Context, id string) ([]commands.Unsealed, error) {
	rows, err := s.list.After(ctx, id)
	page := make([]commands.Unsealed, len(rows))
	for i, row := range rows {
		page[i] = commands.Unsealed(row)
	}
	return page, err
}

// Await implements commands.UnsealedClips.
func (s *sealing) Await(ctx context.Context, position eventlog.Position) error {
	return s.parts.projector.Wait(ctx, position, readmodel.Clips)
}
