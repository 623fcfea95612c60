package app

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	commands "github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/http/web/quota"
	"github.com/recital-tts/recital/internal/speech/cloning/formant"
	"github.com/recital-tts/recital/internal/speech/precheck/classic"
	"github.com/recital-tts/recital/internal/speech/rendering"
	"github.com/recital-tts/recital/internal/speech/voices"
	projections "github.com/recital-tts/recital/projections/voices"
	readapi "github.com/recital-tts/recital/readapi/voices"
	writeapi "github.com/recital-tts/recital/writeapi/voices"
)

// voicesSlice is that of who speaks.
func voicesSlice() slice {
	return slice{
		name:       "voices",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func(p *parts) (service, error) {
			previews := rendering.NewPreviews(p.speaker, p.encoders)
			var err error
			p.voices, err = commands.New(commands.Config{
				Journal: p.journal, Keys: p.keys, Blobs: p.blobs, Decoder: p.decoder, Cloner: formant.New(p.engines), Previews: previews,
				Folder: p.folder.Path("cloning"), Limits: commands.Limits{Upload: maxUpload}, Now: time.Now, Logger: p.log,
			})
			if err != nil {
				return service{}, err
			}
			shower := voices.Shower{Keys: p.keys, Links: p.links()}
			read := readapi.API{Models: p.projector, Shower: shower}
			write := writeapi.API{Voices: p.voices, Previews: previews, Shower: shower, Links: p.links(), ReadModels: p.projector}
			create := writeapi.Creator{Voices: p.voices, Shower: shower, ReadModels: p.projector, MaxUpload: maxUpload}
			prechecker, running := p.prechecker()
			return service{
				public:     slices.Concat(read.Routes(), write.Routes(), create.Routes(), prechecker.Routes()),
				collectors: []prometheus.Collector{running, p.uploadsGauge(), p.clonings()},
				close:      p.voices.Close,
				ends:       []closing{p.voices.EndFor},
				awaits:     []closing{p.voices.EraseFor},
				jobs:       []job{{name: "the sweep of voices", every: time.Hour, run: p.sweepVoices}},
				slow: []toDo{
					{commands.PrepareProcess, readmodel.ToDoPrepareVoiceView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
						return p.voices.Prepare(ctx, item.ID, item.Cause)
					}},
					{commands.TrainProcess, readmodel.ToDoTrainVoiceView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
						return p.voices.Train(ctx, item.ID, item.Cause)
					}},
				},
				toDos: []toDo{
					{commands.SettleProcess, readmodel.ToDoSettleVoicePlaceView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
						return p.voices.SettlePlace(ctx, strings.TrimPrefix(item.Stream, roster.StreamPrefix), item.ID, item.Cause)
					}},
					{commands.EraseProcess, readmodel.ToDoEraseVoiceView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
						return p.voices.Erase(ctx, item.ID, item.Cause)
					}},
					{commands.PreviewProcess, readmodel.ToDoRenderVoicePreviewView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
						return p.voices.RenderPreview(ctx, item.ID, item.Cause)
					}},
				},
			}, nil
		},
	}
}

// sweepVoices removes what crashes left among the blobs.
func (p *parts) sweepVoices(ctx context.Context) error {
	removed, err := p.voices.Sweep(ctx)
	if removed > 0 {
		p.log.InfoContext(ctx, "removed blobs that no voice refers to", "blobs", removed)
	}
	return err
}

func (p *parts) clonings() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "recital_voices_making", Help: "Voices that this instance is preparing or training.",
	}, func() float64 { return float64(p.voices.Making()) })
}

// longestChecked is the longest recording that is checked.
const longestChecked = time.Hour

// prechecker checks recordings before voices are made from them, as many at once as uploads are decoded.
func (p *parts) prechecker() (*writeapi.Prechecker, prometheus.Collector) {
	atOnce := runtime.NumCPU()
	checker := classic.New(classic.Config{Decoder: p.decoder, Longest: longestChecked, MostOnce: atOnce})
	running := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "recital_prechecks_running", Help: "Recordings that are being checked.",
	}, func() float64 { return float64(checker.Running()) })
	return &writeapi.Prechecker{Checker: checker, Places: quota.New(int64(atOnce), 1), MaxUpload: maxUpload}, running
}

// uploadsGauge measures what uploads hold.
func (p *parts) uploadsGauge() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "recital_upload_bytes", Help: "What uploads that are being received or answered claim of their budget.",
	}, func() float64 { return float64(p.uploads.Claimed()) })
}
