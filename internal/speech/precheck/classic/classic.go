// Package classic estimates the quality of a recording from its signal: noise, bandwidth, clipping and the share of
// speech.
package classic

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/precheck"
)

// rate of the recordings in Hz: speech lies below 8 kHz.
const rate = 16000

// Checker implements precheck.Checker. It is safe for concurrent use. Each check takes up to 50 MiB of memory.
type Checker struct {
	Decoder  audio.Decoder
	Longest  time.Duration // of a recording
	Listener precheck.Listener
}

var _ precheck.Checker = (*Checker)(nil)

// Check implements precheck.Checker. The recording is measured while it is decoded, and not stored.
func (c *Checker) Check(ctx context.Context, upload audio.Upload) (precheck.Result, error) {
	analyser := acoustics.New(acoustics.Config{Rate: rate})
	hearing := c.Listener.Listen(ctx)
	limits := audio.DecodeLimits{Rate: rate, Longest: c.Longest}
	_, err := c.Decoder.Decode(ctx, upload, io.MultiWriter(analyser, hearing), limits)
	share, heard := hearing.Speech()
	if err != nil {
		return precheck.Result{}, fmt.Errorf("checking an upload: %w", err)
	}
	report, _ := analyser.Finish()
	if heard && share*report.Seconds < leastHeard*report.Speech {
		report = acoustics.Report{Seconds: report.Seconds}
	}
	return precheck.Result{
		DNSMOS: Score(report), Start: report.Start, End: report.End, Warning: warning(report),
	}, nil
}

// leastHeard is the share of what was measured as speech that a listener has to hear as speech, too. It hears 80 % or
// more of a sentence in any noise at 5 dB, and next to nothing in music and in the sounds of machines and animals.
const leastHeard = 0.25

// leastSNR is the measured ratio of speech to noise in dB below which noise reduction also removes speech.
const leastSNR = 9.0

// warning returns the reason why a recording does not suffice for a good voice, or "".
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

// Score estimates the mean opinion score of a recording, 1 to 5. Other things being equal, it never grows with noise.
func Score(r acoustics.Report) float64 {
	if r.Speech == 0 {
		return 1
	}
	clean := best / (1 + math.Exp((middle-r.SNR)/spread))
	above := clean*bandwidth(r.Bandwidth)*clipping(r.Clipped)*speech(r)*(1-r.Music) - worst
	return 1 + max(above, 0)*best/(best-worst)
}

// Scores range from 1 to 1 + best. Scores within worst of 1 become 1: bad recordings in the noise of a crowd cannot be
// distinguished, because the crowd is speech, too.
const (
	best  = 3.8
	worst = 0.7
)

// A recording at middle dB is half as good as one without noise.
const (
	middle = 14.0
	spread = 6.0
)

// bandwidth returns 1 for speech up to 7 kHz, and 0.7 for the bandwidth of a telephone.
func bandwidth(hertz float64) float64 { return 0.7 + 0.3*between((hertz-3400)/(7000-3400)) }

// clipping returns 1 up to one clipped sample in ten thousand, which is usual in loud recordings, and a third less for
// each decade above.
func clipping(share float64) float64 {
	return 1 - between(math.Log10(max(share, 1e-4)/1e-4)/3)
}

// speech returns less than 1 if there is little speech to judge.
func speech(r acoustics.Report) float64 {
	return (0.7 + 0.3*between(2*r.Speech)) * (0.7 + 0.3*between(10*r.Speech/r.Seconds))
}

func between(value float64) float64 { return min(max(value, 0), 1) }
