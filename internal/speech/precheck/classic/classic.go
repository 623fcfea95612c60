// Package classic estimates the quality of a recording from its signal: noise, bandwidth, clipping and how much of it
// is speech.
package classic

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/precheck"
)

// rate of the recordings in Hz: speech lies below 8 kHz.
const rate = 16000

// Config configures a Checker.
type Config struct {
	Decoder  audio.Decoder
	Longest  time.Duration // of a recording
	MostOnce int           // recordings that are checked at once; each takes up to 50 MiB of memory
}

// Checker implements precheck.Checker. It is safe for concurrent use.
type Checker struct {
	config Config
	places chan struct{}
}

var _ precheck.Checker = (*Checker)(nil)

// New returns a Checker.
func New(config Config) *Checker {
	return &Checker{config: config, places: make(chan struct{}, config.MostOnce)}
}

// Running returns the number of recordings that are being checked.
func (c *Checker) Running() int { return len(c.places) }

// Check implements precheck.Checker. The recording is measured while it is decoded, and kept nowhere.
func (c *Checker) Check(ctx context.Context, upload audio.Upload) (precheck.Result, error) {
	select {
	case c.places <- struct{}{}:
	default:
		return precheck.Result{}, precheck.ErrBusy
	}
	defer func() { <-c.places }()
	analyser := acoustics.New(acoustics.Config{Rate: rate})
	limits := audio.DecodeLimits{Rate: rate, Longest: c.config.Longest}
	if _, err := c.config.Decoder.Decode(ctx, upload, analyser, limits); err != nil {
		return precheck.Result{}, fmt.Errorf("checking an upload: %w", err)
	}
	report, _ := analyser.Finish()
	return precheck.Result{
		DNSMOS: Score(report), Start: report.Start, End: report.End, Warning: warning(report),
	}, nil
}

// leastSNR is the ratio of speech to noise in dB, as measured, below which noise reduction takes the speech along.
const leastSNR = 9.0

// warning returns why no good voice can be made of a recording, "" if one can.
func warning(r acoustics.Report) string {
	switch {
	case r.Speech == 0:
		return "There is no speech in the recording"
	case r.Music > 0.5:
		return "The recording sounds like music, not like speech"
	case r.SNR < leastSNR:
		return "The noise in the recording is too loud, and enhance would not remove it"
	}
	return ""
}

// Score estimates the mean opinion score of a recording, 1 to 5. With everything else equal it never grows with noise.
func Score(r acoustics.Report) float64 {
	if r.Speech == 0 {
		return 1
	}
	clean := best / (1 + math.Exp((middle-r.SNR)/spread))
	above := clean*bandwidth(r.Bandwidth)*clipping(r.Clipped)*speech(r)*(1-r.Music) - worst
	return 1 + max(above, 0)*best/(best-worst)
}

// Scores reach from 1 to 1 + best. What would be within worst of 1 is 1: in the noise of a crowd, how bad such a
// recording is cannot be measured, because the crowd is speech, too.
const (
	best  = 3.8
	worst = 0.7
)

// A recording at middle dB is half as good as one without noise.
const (
	middle = 14.0
	spread = 6.0
)

// bandwidth is 1 for speech that reaches to 7 kHz, and 0.7 at that of a telephone.
func bandwidth(hertz float64) float64 { return 0.7 + 0.3*between((hertz-3400)/(7000-3400)) }

// clipping is 1 up to a sample in ten thousand, as loud recordings have, and less by a third for each decade above.
func clipping(share float64) float64 {
	return 1 - between(math.Log10(max(share, 1e-4)/1e-4)/3)
}

// speech is less than 1 where there is little speech to judge by.
func speech(r acoustics.Report) float64 {
	return (0.7 + 0.3*between(2*r.Speech)) * (0.7 + 0.3*between(10*r.Speech/r.Seconds))
}

func between(value float64) float64 { return min(max(value, 0), 1) }
