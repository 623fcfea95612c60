package alignment_test

import (
	"testing"
	"time"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/recital-tts/recital/internal/speech/alignment"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkAlign compares the time for a second of recording with the time for the bare transforms of its frames and
// the rendering's.
func BenchmarkAlign(b *testing.B) {
	for name, seconds := range map[string]int{"10 s": 10, "long": benchtest.Size(120, 20)} {
		b.Run(name, func(b *testing.B) {
			var all []spoken
			for i := range seconds * 3 {
				all = append(all, spoken{sound: i * i % 6, length: 0.28, pause: 0.05})
			}
			recording, reference := say(all, 130, 0.2), say(all, 120, 0.1)
			var ours, bare time.Duration
			for b.Loop() {
				start := time.Now()
				alignment.Align(recording.Sound, reference)
				ours += time.Since(start)
				bare += transforms(2 * recording.Sound.Seconds())
			}
			sound := recording.Sound.Seconds() * float64(b.N)
			benchtest.Compare(b, "ms/audio-s", 1000*ours.Seconds()/sound, 1000*bare.Seconds()/sound)
			benchtest.Finish(b)
		})
	}
}

// transforms returns the time for the transforms of a number of seconds, 100 a second.
func transforms(seconds float64) time.Duration {
	fft, frame, spectrum := fourier.NewFFT(512), make([]float64, 512), make([]complex128, 257)
	start := time.Now()
	for range int(100 * seconds) {
		fft.Coefficients(spectrum, frame)
	}
	return time.Since(start)
}
