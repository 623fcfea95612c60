package app

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/internal/http/web/quota"
	"github.com/recital-tts/recital/internal/speech/alignment/rendered"
	writeapi "github.com/recital-tts/recital/writeapi/alignment"
)

// longestRecording is what is aligned at most.
const longestRecording = 10 * time.Minute

// alignmentSlice is that of finding words in recordings.
func alignmentSlice() slice {
	return slice{
		name: "alignment",
		open: func(p *parts) (service, error) {
			aligner := rendered.New(rendered.Config{
				Decoder: p.decoder, Engine: p.engines, Longest: longestRecording, MostOnce: p.cfg.Alignments,
			})
			write := writeapi.API{Aligner: aligner, Places: quota.New(int64(p.cfg.Alignments), 1)}
			return service{
				public: write.Routes(),
				collectors: []prometheus.Collector{prometheus.NewGaugeFunc(prometheus.GaugeOpts{
					Name: "recital_alignments_running", Help: "Recordings that are being aligned.",
				}, func() float64 { return float64(aligner.Running()) })},
			}, nil
		},
	}
}
