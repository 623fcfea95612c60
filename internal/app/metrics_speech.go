package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/commands/synthesis"
)

// speechMetrics are the figures of syntheses.
type speechMetrics struct {
	firstAudio        *prometheus.HistogramVec
	ended, characters *prometheus.CounterVec
}

func newSpeechMetrics() *speechMetrics {
	m := &speechMetrics{
		firstAudio: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "recital_speech_first_audio_seconds", Help: "Time from the beginning of a synthesis until its first audio was handed to the connection.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15)}, []string{"kind", "format"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "recital_speech_syntheses_total", Help: "Syntheses, and units of WebSockets, that have ended, by what became of them."}, []string{"kind", "outcome"}),
		characters: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "recital_speech_characters_total", Help: "Characters that were spoken and count."}, []string{"kind"}),
	}
	for _, kind := range []synthesis.Kind{synthesis.Streamed, synthesis.Collected, synthesis.Spoken} {
		m.characters.WithLabelValues(string(kind))
		for _, outcome := range []synthesis.Outcome{synthesis.Done, synthesis.Refused, synthesis.Cut, synthesis.Failed} {
			m.ended.WithLabelValues(string(kind), string(outcome))
		}
	}
	return m
}

func (m *speechMetrics) observe(o synthesis.Observation) {
	m.ended.WithLabelValues(string(o.Kind), string(o.Outcome)).Inc()
	m.characters.WithLabelValues(string(o.Kind)).Add(float64(o.Characters))
	if o.FirstAudio > 0 {
		m.firstAudio.WithLabelValues(string(o.Kind), string(o.Format)).Observe(o.FirstAudio.Seconds())
	}
}
