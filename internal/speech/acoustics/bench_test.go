package acoustics_test

import (
	"testing"
	"time"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/acoustics/acousticstest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkAnalyse compares the time for a second of recording with the time for its bare transforms: the spectrum of
// each frame, the wider one for its pitch, and the autocorrelation.
func BenchmarkAnalyse(b *testing.B) {
	samples := with(say(rate, 170, 120, 0.5), -50)
	seconds := float64(len(samples)) / rate
	for name, config := range map[string]acoustics.Config{
		"plain": {Rate: rate}, "enhance": {Rate: rate, Enhance: true, Filter: true},
	} {
		b.Run(name, func(b *testing.B) {
			var ours, bare time.Duration
			for b.Loop() {
				start := time.Now()
				acousticstest.Analyse(samples, config)
				ours += time.Since(start)
				bare += transforms(int(100 * seconds))
			}
			sound := seconds * float64(b.N)
			benchtest.Compare(b, "ms/audio-s", 1000*ours.Seconds()/sound, 1000*bare.Seconds()/sound)
			benchtest.Finish(b)
		})
	}
}

func transforms(frames int) time.Duration {
	start := time.Now()
	for _, size := range []int{512, 1024, 512} {
		fft, frame, spectrum := fourier.NewFFT(size), make([]float64, size), make([]complex128, size/2+1)
		for range frames {
			fft.Coefficients(spectrum, frame)
		}
	}
	return time.Since(start)
}
