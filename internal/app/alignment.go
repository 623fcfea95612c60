package app

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/internal/http/web/quota"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/alignment/rendered"
	writeapi "github.com/recital-tts/recital/writeapi/alignment"
)

// longestRecording is the maximum length of a recording that is aligned.
const longestRecording = 10 * time.Minute

// alignmentSlice returns the slice of finding words in recordings.
func alignmentSlice(core *coreParts, workers *workerParts) slice {
	return slice{
		name: "alignment",
		open: func() (service, error) {
			aligner := rendered.New(rendered.Config{
				Decoder: workers.decoder, Engine: speech.WithFrontEnd(workers.engines, workers.japanese), Longest: longestRecording,
				MostOnce: core.cfg.Alignments,
			})
			write := writeapi.API{Aligner: aligner, Places: quota.New(int64(core.cfg.Alignments), 1)}
			return service{
				public: write.Routes(),
				collectors: []prometheus.Collector{
					gauge("recital_alignments_running", "Recordings that are being aligned.", aligner.Running),
				},
			}, nil
		},
	}
}
