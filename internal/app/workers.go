package app

import (
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/codec"
	"github.com/recital-tts/recital/internal/speech/audio/decode"
	"github.com/recital-tts/recital/internal/speech/worker"
)

// startWorkers starts the processes that speak and encode.
func (a *App) startWorkers(context.Context) error {
	binary, err := a.cfg.speechWorker()
	if err != nil {
		return err
	}
	command := func(mode string) workers.Command { return workers.Command{Path: binary, Args: []string{mode}} }
	a.engines, err = worker.Open(worker.Config{Command: command("engine"), Size: a.cfg.Engines, JobTimeout: a.cfg.EngineTimeout, Logger: a.log})
	if err != nil {
		return err
	}
	a.onClose("the speech engines", a.engines.Close)
	a.second, err = worker.Open(worker.Config{Command: command("flite"), Size: (a.engines.Stats().Size + 1) / 2, JobTimeout: a.cfg.EngineTimeout, Logger: a.log})
	if err != nil {
		return err
	}
	a.onClose("the second speech engines", a.second.Close)
	a.codecs, err = codec.Open(codec.Config{Command: command("codec"), Size: a.cfg.Codecs, Logger: a.log})
	if err != nil {
		return err
	}
	a.onClose("the codecs", func() error { a.codecs.Close(); return nil })
	a.speaker = speech.NewSpeaker(a.engines).WithSecondEngine(a.second)
	a.encoders = audio.NewEncoders(a.codecs)
	a.decoder = decode.NewPool(decode.Config{Command: command("decode"), Logger: a.log})
	return nil
}

func workerGauges(p *parts) []prometheus.Collector {
	return slices.Concat(engineGauges("espeak-ng", p.engines), engineGauges("flite", p.second), codecGauges(p.codecs), decoderGauges(p.decoder))
}

// engineGauges are the same figures for each engine, which is their label.
func engineGauges(engine string, pool *worker.Pool) []prometheus.Collector {
	labels := prometheus.Labels{"engine": engine}
	gauge := func(name, help string, value func(worker.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels},
			func() float64 { return value(pool.Stats()) })
	}
	counter := func(name, help string, value func(worker.Stats) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels},
			func() float64 { return float64(value(pool.Stats())) })
	}
	return []prometheus.Collector{
		gauge("recital_speech_engines_configured", "Engine processes that there should be.", func(s worker.Stats) float64 { return float64(s.Size) }),
		gauge("recital_speech_engines_alive", "Engine processes that run.", func(s worker.Stats) float64 { return float64(s.Alive) }),
		gauge("recital_speech_engines_busy", "Engine processes that have a job.", func(s worker.Stats) float64 { return float64(s.Busy) }),
		gauge("recital_speech_jobs_waiting", "Jobs that wait for an engine.", func(s worker.Stats) float64 { return float64(s.Queued) }),
		gauge("recital_speech_engine_respawns", "Engine processes that were started again.", func(s worker.Stats) float64 { return float64(s.Respawns) }),
		counter("recital_speech_jobs_total", "Jobs that engines have begun.", func(s worker.Stats) uint64 { return s.Jobs }),
		counter("recital_speech_jobs_failed_total", "Jobs whose engine died, or took too long.", func(s worker.Stats) uint64 { return s.Failed }),
	}
}

func codecGauges(pool *codec.Pool) []prometheus.Collector {
	gauge := func(name, help string, value func(codec.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(pool.Stats()) })
	}
	return []prometheus.Collector{
		gauge("recital_codecs_configured", "Codec processes that there should be.", func(s codec.Stats) float64 { return float64(s.Size) }),
		gauge("recital_codecs_running", "Codec processes that run.", func(s codec.Stats) float64 { return float64(s.Running) }),
		gauge("recital_codec_streams", "Open codec streams.", func(s codec.Stats) float64 { return float64(s.Streams) }),
		gauge("recital_codec_restarts", "Codec processes that were started again.", func(s codec.Stats) float64 { return float64(s.Restarts) }),
	}
}

func decoderGauges(pool *decode.Pool) []prometheus.Collector {
	return []prometheus.Collector{prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "recital_decoders_running", Help: "Uploads that are being decoded, each in a process of its own.",
	}, func() float64 { return float64(pool.Running()) })}
}
