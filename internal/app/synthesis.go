package app

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	commands "github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/speech/wordtimes"
	readapi "github.com/recital-tts/recital/readapi/synthesis"
	writeapi "github.com/recital-tts/recital/writeapi/synthesis"
)

// wordTimesSweep is how often word times are erased that are older than they may become, which may be those of an
// instance that crashed.
const wordTimesSweep = 30 * time.Second

// synthesisSlice is that of speech.
func synthesisSlice() slice {
	return slice{
		name: "synthesis",
		open: func(p *parts) (service, error) {
			limits, err := p.cfg.concurrency()
			if err != nil {
				return service{}, err
			}
			p.wordTimes = wordtimes.NewShelf(p.keys, p.blobs, time.Now)
			write := writeapi.API{
				Synthesiser: &commands.Synthesiser{
					Ledger: p.ledger, Voices: p.voices, Speaker: p.speaker, Encoders: p.encoders, ReadModels: promptReads{p.projector, &p.readiness}, Clips: p.clips,
					Slots: commands.NewSlots(limits), Rates: p.rates, WordTimes: p.wordTimes, Spool: p.spool, Longest: p.cfg.LongestStream, Logger: p.log,
					Observe: p.metrics.speech.observe,
				},
				Links: p.links(),
			}
			read := readapi.API{Shelf: p.wordTimes, Links: p.links(), LongestReply: p.cfg.longestReservation(), Now: time.Now}
			return service{
				collectors: []prometheus.Collector{spoolGauge(p.spool)},
				public:     slices.Concat(write.Routes(), read.Routes()),
				erases:     []closing{p.wordTimes.EraseFor},
				jobs: []job{{name: "the sweep of word times", every: wordTimesSweep, run: func(ctx context.Context) error {
					_, err := p.wordTimes.Sweep(ctx)
					return err
				}}},
			}, nil
		},
	}
}

func spoolGauge(s *spool.Spool) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "recital_spool_bytes", Help: "What clips that are being made, and replies in JSON that are, or wait to be read, claim of the spool's budget.",
	}, func() float64 { return float64(s.Claimed()) })
}
