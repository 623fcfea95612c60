package app

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/commands/feedback"
	"github.com/recital-tts/recital/commands/pronunciations"
	commands "github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/http/web/quota"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/alignment/rendered"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/codec"
	"github.com/recital-tts/recital/internal/speech/audio/decode"
	"github.com/recital-tts/recital/internal/speech/installed"
	"github.com/recital-tts/recital/internal/speech/japanese/reader"
	"github.com/recital-tts/recital/internal/speech/precheck/silero"
	"github.com/recital-tts/recital/internal/speech/wordtimes"
	"github.com/recital-tts/recital/internal/speech/worker"
	readapi "github.com/recital-tts/recital/readapi/synthesis"
	alignmentapi "github.com/recital-tts/recital/writeapi/alignment"
	feedbackapi "github.com/recital-tts/recital/writeapi/feedback"
	pronunciationsapi "github.com/recital-tts/recital/writeapi/pronunciations"
	writeapi "github.com/recital-tts/recital/writeapi/synthesis"
)

// wordTimesSweep is the interval of erasing expired word times, including those of crashed instances.
const wordTimesSweep = 30 * time.Second

// synthesisSlice returns the slice of speech.
func synthesisSlice(
	core *coreParts, status *statusParts, stores *storeParts, workers *workerParts, shared *sharedParts,
) slice {
	return slice{
		name: "synthesis",
		open: func() (service, error) {
			limits, err := core.cfg.concurrency()
			if err != nil {
				return service{}, err
			}
			openAIVoices, err := core.cfg.openAIVoices()
			if err != nil {
				return service{}, err
			}
			shared.wordTimes = wordtimes.New(core.keys, stores.blobs, time.Now)
			write := writeapi.API{
				Synthesiser: &commands.Synthesiser{
					Ledger: shared.ledger, Voices: shared.voices, Clips: shared.clips, WordTimes: shared.wordTimes,
					Speaker: workers.speaker, Encoders: workers.encoders, Spool: stores.spool,
					ReadModels: promptReads{core.projector, &status.readiness},
					Pronounced: shared.pronunciations,
					Slots:      commands.NewSlots(limits), Rates: core.rates, Longest: core.cfg.LongestStream, Logger: core.log,
					Observe: core.metrics.observeSynthesis,
				},
				Links: core.links(), OpenAIVoices: openAIVoices, VoiceNames: shared.voiceNames, Catalogue: workers.catalogue,
			}
			read := readapi.API{
				Times: shared.wordTimes, Links: core.links(), LongestReply: core.cfg.longestReservation(), Now: time.Now,
			}
			return service{
				collectors: []prometheus.Collector{gaugeFunc("recital_spool_bytes",
					"What clips that are being made, and replies in JSON that are, or wait to be read, claim of the spool's budget.",
					stores.spool.Claimed)},
				public: slices.Concat(write.Routes(), read.Routes()),
				erases: []closing{shared.wordTimes.EraseFor},
				jobs: []job{{name: "the sweep of word times", every: wordTimesSweep, run: func(ctx context.Context) error {
					_, err := shared.wordTimes.Sweep(ctx)
					return err
				}}},
			}, nil
		},
	}
}

// startWorkers starts the processes that speak and encode.
func (a *App) startWorkers(context.Context) error {
	binary, err := a.cfg.speechWorker()
	if err != nil {
		return err
	}
	command := func(mode string) workers.Command { return workers.Command{Path: binary, Args: []string{mode}} }
	a.engines, err = worker.Open(worker.Config{Command: command("engine"), Size: a.cfg.Engines, Logger: a.log})
	if err != nil {
		return err
	}
	a.onClose("the speech engines", a.engines.Close)
	a.second, err = worker.Open(worker.Config{
		Command: command("flite"), Size: (a.engines.Stats().Size + 1) / 2, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.onClose("the second speech engines", a.second.Close)
	a.codecs, err = codec.Open(codec.Config{Command: command("codec"), Size: a.cfg.Codecs, Logger: a.log})
	if err != nil {
		return err
	}
	a.onClose("the codecs", func() error { a.codecs.Close(); return nil })
	a.openJapanese(filepath.Join(filepath.Dir(binary), "japanesereader"))
	a.catalogue = &speech.Catalogue{}
	a.installed = installed.New(installed.Config{
		Runtime: a.onnxRuntime(), Speechworker: binary, SampleRate: a.engines.SampleRate(),
		Memory: int64(a.cfg.NeuralMemory) * mib, Japanese: a.japanese, Logger: a.log,
	})
	a.onClose("the installed voices", a.installed.CloseAll)
	a.listener = &silero.Listener{Runtime: a.onnxRuntime(), Speechworker: binary, Logger: a.log}
	a.speaker = speech.NewSpeaker(a.engines).WithSecondEngine(a.second).WithJapanese(a.japanese).WithInstalled(a.installed)
	a.encoders = audio.NewEncoders(a.codecs)
	a.decoder = decode.NewPool(decode.Config{Command: command("decode"), Logger: a.log})
	a.metrics.scrape(func() []prometheus.Metric { return workerMetrics(&a.workerParts) })
	return nil
}

// onnxRuntime returns the path of ONNX Runtime's library. In mode dev the default is the path used by make voices.
func (a *App) onnxRuntime() string {
	if a.cfg.ONNXRuntime == "" && a.cfg.Mode != modeProd {
		return a.folder.Path("onnxruntime", "libonnxruntime.so")
	}
	return a.cfg.ONNXRuntime
}

// openJapanese prepares the process that reads Japanese, in the folder of speechworker. recitald runs without it.
func (a *App) openJapanese(path string) {
	if _, err := os.Stat(path); err != nil {
		a.log.Warn("there is no program japanesereader beside speechworker, so that Japanese is spoken without the readings "+
			"of its words; make build makes it", "path", path)
	}
	a.japanese = reader.New(reader.Config{Command: workers.Command{Path: path}, Logger: a.log})
	a.onClose("the reader of Japanese", a.japanese.Close)
}

func workerMetrics(p *workerParts) []prometheus.Metric {
	return append(slices.Concat(engineMetrics("espeak-ng", p.engines.Stats()), engineMetrics("flite", p.second.Stats()),
		codecMetrics(p.codecs.Stats()), japaneseMetrics(p.japanese.Stats())),
		gauge("recital_decoders_running", "Uploads that are being decoded, each in a process of its own.",
			p.decoder.Running()))
}

// engineMetrics returns the same metrics for each engine, which is their label.
func engineMetrics(engine string, s worker.Stats) []prometheus.Metric {
	return []prometheus.Metric{
		gauge("recital_speech_engines_configured", "Engine processes that there should be.", s.Size, "engine", engine),
		gauge("recital_speech_engines_alive", "Engine processes that run.", s.Alive, "engine", engine),
		gauge("recital_speech_engines_busy", "Engine processes that have a job.", s.Busy, "engine", engine),
		gauge("recital_speech_jobs_waiting", "Jobs that wait for an engine.", s.Queued, "engine", engine),
		gauge("recital_speech_engine_respawns", "Engine processes that were started again.", s.Respawns, "engine", engine),
		total("recital_speech_jobs_total", "Jobs that engines have begun.", s.Jobs, "engine", engine),
		total("recital_speech_jobs_failed_total", "Jobs whose engine died, or took too long.", s.Failed, "engine", engine),
	}
}

func codecMetrics(s codec.Stats) []prometheus.Metric {
	return []prometheus.Metric{
		gauge("recital_codecs_configured", "Codec processes that there should be.", s.Size),
		gauge("recital_codecs_running", "Codec processes that run.", s.Running),
		gauge("recital_codec_streams", "Open codec streams.", s.Streams),
		gauge("recital_codec_restarts", "Codec processes that were started again.", s.Restarts),
	}
}

func japaneseMetrics(s reader.Stats) []prometheus.Metric {
	return []prometheus.Metric{
		gauge("recital_japanese_readers_running", "Whether the process that reads Japanese runs; it ends when idle.",
			oneIf(s.Running)),
		total("recital_japanese_reader_starts_total", "Starts of the process that reads Japanese.", s.Starts),
		total("recital_japanese_texts_total", "Segments, or parts of them, that were to be read as Japanese.", s.Texts),
		total("recital_japanese_texts_failed_total",
			"Those that could not be read, and were spoken without the readings of their words.", s.Failed),
	}
}

const (
	// A crash loop is this number of deaths of workers within crashWindow. Dead workers are started again.
	crashWindow, crashes = time.Minute, 5
	// failureWindow is the time over which the share of failures is computed. Fewer than fewFailures do not count.
	failureWindow, fewFailures = 5 * time.Minute, 5
)

// workerPool is the state of a pool of processes.
type workerPool struct {
	alive, size int
	deaths      uint64
}

// workerChecks returns the checks of the processes that speak and encode. The instance stays ready without the second
// engine, which serves only the English of the blizzard models.
func (a *App) workerChecks() []health.Check {
	engines := func(pool *worker.Pool) func() workerPool {
		return func() workerPool {
			s := pool.Stats()
			return workerPool{s.Alive, s.Size, s.Respawns}
		}
	}
	first := crashCheck(a.here("workers/espeak-ng", alert.CrashLoop), health.Fault, crashWindow, engines(a.engines))
	first.Lacks, first.Rules = lack("speech engine", func() bool { return !a.engines.Healthy() }),
		[]string{"RecitalEnginesDie"}
	second := crashCheck(a.here("workers/flite", alert.CrashLoop), health.Warning, crashWindow, engines(a.second))
	codecs := crashCheck(a.here("workers/codec", alert.CrashLoop), health.Fault, crashWindow, func() workerPool {
		s := a.codecs.Stats()
		return workerPool{s.Running, s.Size, s.Restarts}
	})
	codecs.Lacks, codecs.Rules = lack("codec", func() bool { return !a.codecs.Healthy() }), []string{"RecitalCodecsDie"}
	return []health.Check{first, second, codecs,
		failureCheck(a.here(alert.SpeechSource, alert.Failing), failureLimit, func() health.Tally {
			one, two := a.engines.Stats(), a.second.Stats()
			return health.Tally{All: one.Jobs + two.Jobs, Bad: one.Failed + two.Failed}
		})}
}

// crashCheck returns the check that workers do not die repeatedly. worst is the state if none is alive.
func crashCheck(
	condition alert.Condition, worst health.State, within time.Duration, stats func() workerPool,
) health.Check {
	recent := health.Window{Length: within}
	return health.Check{Name: strings.TrimPrefix(condition.Source, "workers/") + " workers run", Raises: condition.Is,
		Look: func(context.Context) health.Finding {
			pool := stats()
			died := recent.Since(time.Now(), health.Tally{Bad: pool.deaths}).Bad
			f := health.Sound("%d of %d are alive, and %d have died within %s", pool.alive, pool.size, died, within)
			if pool.alive == 0 || died >= crashes {
				f = f.Raising(condition, time.Time{})
			}
			switch {
			case pool.alive == 0:
				return f.But(worst, "recitald's log says why they end; speechworker and the libraries it links belong to one "+
					"release")
			case pool.alive < pool.size || died >= crashes:
				return f.But(health.Warning, "some are being started again; where that does not end, recitald's log says why")
			}
			return f
		}}
}

// failureCheck returns the check that at most limit per cent of the latest jobs have failed.
func failureCheck(condition alert.Condition, limit float64, count func() health.Tally) health.Check {
	recent := health.Window{Length: failureWindow}
	return health.Check{Name: "few syntheses fail", Raises: condition.Is, Rules: []string{"RecitalSpeechFails"},
		Look: func(context.Context) health.Finding {
			counted := recent.Since(time.Now(), count())
			f := health.Sound("%d of %d have failed within five minutes", counted.Bad, counted.All)
			if counted.Bad < fewFailures || 100*float64(counted.Bad) < limit*float64(counted.All) {
				return f
			}
			return f.But(health.Fault, "recitald's log says why engines end or take too long").Raising(condition, time.Time{})
		}}
}

// longestRecording is the maximum length of an aligned recording.
const longestRecording = 10 * time.Minute

// alignmentSlice returns the slice of finding words in recordings.
func alignmentSlice(core *coreParts, workers *workerParts) slice {
	return slice{
		name: "alignment",
		open: func() (service, error) {
			aligner := &rendered.Aligner{
				Decoder: workers.decoder, Engine: speech.WithFrontEnd(workers.engines, workers.japanese), Longest: longestRecording,
			}
			write := alignmentapi.API{Aligner: aligner, Places: quota.New(int64(core.cfg.Alignments), 1)}
			return service{
				public: write.Routes(),
				collectors: []prometheus.Collector{
					gaugeFunc("recital_alignments_running", "Recordings that are being aligned.", write.Places.Held),
				},
			}, nil
		},
	}
}

// pronunciationsSlice returns the slice of accounts' pronunciations.
func pronunciationsSlice(core *coreParts, shared *sharedParts) slice {
	return slice{
		name:   "pronunciations",
		events: pronunciations.Events(),
		open: func() (service, error) {
			shared.pronunciations = pronunciations.New(core.journal, core.keys, time.Now)
			write := pronunciationsapi.API{Pronunciations: shared.pronunciations}
			return service{public: write.Routes(), erases: []closing{shared.pronunciations.Forget}}, nil
		},
	}
}

// feedbackSlice returns the slice of clients' feedback on syntheses.
func feedbackSlice(core *coreParts) slice {
	return slice{
		name:   "feedback",
		events: feedback.Events(),
		open: func() (service, error) {
			write := feedbackapi.API{Feedback: feedback.New(core.journal, core.keys, core.generations(), time.Now)}
			return service{public: write.Routes()}, nil
		},
	}
}
