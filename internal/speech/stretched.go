package speech

import (
	"math"

	"github.com/recital-tts/recital/internal/speech/stretch"
)

// shortestStill is the length in seconds from which a run of zeros is a pause that an engine has added.
const shortestStill = 0.02

// stretchTo stretches an utterance to a number of samples. Engines speak words faster or slower than requested, while
// their pauses are exact but for a factor. Words and pauses are therefore stretched separately.
func stretchTo(samples int, pcm []byte, marks []Mark, rate int, pauses float64) *recorded {
	if len(pcm) == 0 {
		return &recorded{pcm: make([]byte, 2*samples)}
	}
	s := stretched{rate: rate, out: make([]byte, 0, 2*samples)}
	stills := stillsOf(pcm, rate)
	quiet, after := 0, 0.0 // samples of pauses before and after
	for _, still := range stills {
		quiet += still.end - still.start
	}
	after = float64(quiet) * pauses
	words := len(pcm)/2 - quiet
	if words <= 0 || float64(samples)-after < float64(samples)/4 {
		stills, after, words = nil, 0, len(pcm)/2
	}
	s.factor, s.pauses = (float64(samples)-after)/float64(words), pauses
	at := 0
	for _, still := range stills {
		s.words(pcm[2*at : 2*still.start])
		s.still(still.end - still.start)
		at = still.end
	}
	s.words(pcm[2*at:])
	s.fill(samples)
	for i := range marks {
		marks[i].Sample = min(s.place(marks[i].Sample), samples)
	}
	return &recorded{pcm: s.out[:2*samples], marks: marks}
}

// still is a pause in samples.
type still struct{ start, end int }

func stillsOf(pcm []byte, rate int) (stills []still) {
	start, least := 0, int(shortestStill*float64(rate))
	for at := 0; at <= len(pcm)/2; at++ {
		if at < len(pcm)/2 && pcm[2*at] == 0 && pcm[2*at+1] == 0 {
			continue
		}
		if at-start >= least {
			stills = append(stills, still{start, at})
		}
		start = at + 1
	}
	return stills
}

// stretched is the state of stretchTo.
type stretched struct {
	rate           int
	factor, pauses float64 // on words and on pauses
	out            []byte
	read           int
	end            float64 // samples of the output so far
	ends           []joint
}

// joint is a place in the input and in the output, in samples.
type joint struct{ in, out float64 }

func (s *stretched) words(pcm []byte) {
	stretcher := stretch.New(s.rate, s.factor)
	s.out = append(s.out, stretcher.Stretch(pcm)...)
	s.out = append(s.out, stretcher.Finish()...)
	s.join(len(pcm)/2, s.factor)
}

func (s *stretched) still(samples int) { s.join(samples, s.pauses) }

func (s *stretched) join(samples int, factor float64) {
	s.read += samples
	s.end += float64(samples) * factor
	s.ends = append(s.ends, joint{float64(s.read), s.end})
	s.fill(int(math.Round(s.end)))
}

// fill pads the output with silence to a number of samples.
func (s *stretched) fill(samples int) {
	if missing := 2*samples - len(s.out); missing > 0 {
		s.out = append(s.out, make([]byte, missing)...)
	}
}

// place converts a sample of the input into one of the output.
func (s *stretched) place(sample int) int {
	before := joint{}
	for _, j := range s.ends {
		if float64(sample) < j.in {
			return int(before.out + (float64(sample)-before.in)*(j.out-before.out)/(j.in-before.in))
		}
		before = j
	}
	return int(before.out)
}
