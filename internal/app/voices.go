package app

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/commands/packages"
	commands "github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/voicepackage"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/http/web/quota"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/cloning/formant"
	"github.com/recital-tts/recital/internal/speech/installed"
	"github.com/recital-tts/recital/internal/speech/precheck/classic"
	"github.com/recital-tts/recital/internal/speech/rendering"
	"github.com/recital-tts/recital/internal/speech/voices"
	projections "github.com/recital-tts/recital/projections/voices"
	readapi "github.com/recital-tts/recital/readapi/voices"
	packagesapi "github.com/recital-tts/recital/writeapi/packages"
	writeapi "github.com/recital-tts/recital/writeapi/voices"
)

// voicesSlice returns the slice of voices.
func voicesSlice(core *coreParts, stores *storeParts, workers *workerParts, shared *sharedParts) slice {
	return slice{
		name:       "voices",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func() (service, error) {
			previews := rendering.NewPreviews(workers.speaker, workers.encoders)
			var err error
			shared.voices, err = commands.New(commands.Config{
				Journal: core.journal, Keys: core.keys, Blobs: stores.blobs, Decoder: workers.decoder,
				Cloner: formant.New(workers.engines).WithInstalled(workers.bases), Previews: previews, Catalogue: workers.catalogue,
				Folder: stores.folder.Path("cloning"), Limits: commands.Limits{Upload: maxUpload}, Now: time.Now, Logger: core.log,
			})
			if err != nil {
				return service{}, err
			}
			shower := voices.Shower{Keys: core.keys, Links: core.links(), Catalogue: workers.catalogue}
			read := readapi.API{Models: core.projector, Shower: shower}
			shared.voiceNames = &read
			write := writeapi.API{
				Voices: shared.voices, Previews: previews, Shower: shower, Links: core.links(), ReadModels: core.projector,
				MaxUpload: maxUpload, Places: quota.New(int64(runtime.NumCPU()), 1),
				Checker: &classic.Checker{Decoder: workers.decoder, Longest: longestChecked, Listener: workers.listener},
			}
			return service{
				public: append(read.Routes(), write.Routes()...),
				collectors: []prometheus.Collector{
					gaugeFunc("recital_prechecks_running", "Recordings that are being checked.", write.Places.Held),
					gaugeFunc("recital_upload_bytes", "What uploads that are being received or answered claim of their budget.",
						stores.uploads.Claimed),
					gaugeFunc("recital_voices_making", "Voices that this instance is preparing or training.", shared.voices.Making),
				},
				close:  shared.voices.Close,
				ends:   []closing{shared.voices.EndFor},
				awaits: []closing{shared.voices.EraseFor},
				jobs: []job{{name: "the sweep of voices", every: time.Hour, run: core.sweep(
					shared.voices.Sweep, "removed blobs that no voice refers to", "blobs")}},
				slow: []toDo{
					{commands.PrepareProcess, readmodel.ToDoPrepareVoiceView, byID(shared.voices.Prepare)},
					{commands.TrainProcess, readmodel.ToDoTrainVoiceView, byID(shared.voices.Train)},
				},
				toDos: []toDo{
					{commands.SettleProcess, readmodel.ToDoSettleVoicePlaceView,
						func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
							return shared.voices.SettlePlace(ctx, strings.TrimPrefix(item.Stream, roster.StreamPrefix), item.ID, item.Cause)
						}},
					{commands.EraseProcess, readmodel.ToDoEraseVoiceView, byID(shared.voices.Erase)},
					{commands.PreviewProcess, readmodel.ToDoRenderVoicePreviewView, byID(shared.voices.RenderPreview)},
				},
			}, nil
		},
	}
}

// bases returns the installed voices that can be cloned. Like a system voice, a clone must not wait for the only stream
// of a voice.
func (w *workerParts) bases() []speech.Voice {
	streams := w.installed.Running()
	return slices.DeleteFunc(w.catalogue.Voices(), func(v speech.Voice) bool {
		return v.Installed == nil || v.Installed.ID != v.ID || v.Installed.Base == nil ||
			streams[v.ID] < voicepackage.MinStreams
	})
}

// longestChecked is the maximum length of a checked recording.
const longestChecked = time.Hour

// followPackages is the interval of reading new events of installed voices, which is cheap because there are hardly
// any.
const followPackages = 2 * time.Second

// packagesSlice returns the slice of voices that operators install.
func packagesSlice(core *coreParts, stores *storeParts, workers *workerParts) slice {
	return slice{
		name:   "packages",
		events: packages.Events(),
		open: func() (service, error) {
			packs := packages.New(packages.Config{
				Journal: core.journal, Blobs: stores.blobs, Engines: workers.installed, Catalogue: workers.catalogue,
				Folder: stores.folder.Path("voices"), Now: time.Now, Logger: core.log,
			})
			write := packagesapi.API{Packages: packs, Inbox: stores.folder.Incoming("voice-package")}
			return service{
				admin:  write.AdminRoutes(),
				checks: []health.Check{installedCheck(packs)},
				collectors: []prometheus.Collector{scraped(func() []prometheus.Metric {
					return installedMetrics(workers.installed.Stats())
				})},
				jobs: []job{{name: "the installed voices", every: followPackages, run: packs.Follow}},
			}, nil
		},
	}
}

// installedCheck returns the check that installed voices run. An instance that does not know them would tell clients
// that they do not exist.
func installedCheck(packs *packages.Packages) health.Check {
	look := func(ctx context.Context) health.Finding {
		all, err := packs.List(ctx)
		if err != nil {
			return health.Broken(err.Error(), "see to the event store")
		}
		var silent []string
		for _, v := range all {
			if !v.Running {
				silent = append(silent, v.Voice)
			}
		}
		if len(silent) > 0 {
			return health.Sound("%d of %d do not run here: %s", len(silent), len(all), strings.Join(silent, ", ")).
				But(health.Warning, "other voices speak in their place; the log of recitald has the reason")
		}
		return health.Sound("all %d run", len(all))
	}
	return health.Check{
		Name: "the installed voices run", Look: look,
		Lacks: lack("the installed voices", func() bool { return !packs.Known() }),
	}
}

func installedMetrics(s installed.Stats) []prometheus.Metric {
	return []prometheus.Metric{
		gauge("recital_neural_voices_running", "Installed voices that run here.", s.Voices),
		gauge("recital_neural_processes_configured", "Processes of installed voices that there should be.", s.Size),
		gauge("recital_neural_processes_alive", "Processes of installed voices that run.", s.Alive),
		total("recital_neural_process_respawns_total", "Processes of installed voices that were started again.", s.Respawns),
		total("recital_neural_jobs_failed_total", "Jobs of installed voices whose process died, or took too long.", s.Failed),
		total("recital_neural_samples_total", "Samples that installed voices have made, 22,050 for a second.", s.Samples),
		total("recital_neural_busy_seconds_total", "Time that processes of installed voices took for jobs.",
			s.BusyTime.Seconds()),
		gauge("recital_neural_streams", "Streams in which installed voices speak.", s.Streams),
		gauge("recital_neural_streams_possible", "Streams in which the running voices can speak at the same time.", s.Places),
		gauge("recital_neural_streams_waiting", "Streams that wait until an installed voice can speak in them.", s.Waiting),
		total("recital_neural_streams_total", "Streams in which installed voices have begun to speak.", s.Streamed),
		total("recital_neural_streams_refused_total", "Streams that waited for an installed voice in vain.", s.Refused),
		total("recital_neural_substitutions_total",
			"Streams in which another voice spoke, for want of the language, the process, the memory or a place.",
			s.Substituted),
		total("recital_neural_fallbacks_total",
			"System voices that spoke themselves, for want of a place of the installed voice that speaks for them.", s.PassedOn),
	}
}
