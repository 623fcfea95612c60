package neural

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"math"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
	"github.com/recital-tts/recital/internal/speech/neural/family"
)

// ownPause is the pause after a sentence whose pause is left to the engine, in seconds at speed 1.
const ownPause = 0.25

const (
	// edge is the part at each end of a pause in which words may still be heard, in seconds. Between the edges there is
	// silence.
	edge = 0.03
	// fade is the duration of a change from silence to full loudness, in seconds. Without it some voices stop abruptly.
	fade = 0.005
	// headroom is a factor on all samples that keeps the loudest phrases from being clipped.
	headroom = 0.5
)

// performance computes and writes the answer to a job.
type performance struct {
	ctx    context.Context // ends when the job is cancelled
	voice  *Voice
	job    engineproto.Job
	writer *workers.Writer
	total  int     // samples written
	owed   float64 // difference between the wanted and the written samples, because frames are whole
}

// span is a word or a pause: some ids of a sentence with a duration and a mark of their own.
type span struct {
	from, to int // ids
	speed    float64
	gain     float64 // a factor
	rune     int     // index of the word's first code point
	gap      float64 // seconds of silence after the word
	isPause  bool
	pause    float64 // seconds of the pause, or speech.OwnPause
}

// sentence speaks clauses in one run of the model.
func (p *performance) sentence(clauses []clause, last bool) error {
	ids, spans := p.spell(clauses)
	if len(spans) == 0 {
		return nil
	}
	config := p.voice.Config
	encoded, err := p.voice.model.Encode(p.ctx, ids, family.Noise{
		Sound: config.Inference.Noise, Pace: config.Inference.PaceNoise, Seed: seedOf(p.job),
	})
	if err != nil {
		return err
	}
	wanted := p.lengths(encoded.Durations, spans)
	frames := family.Round(wanted)
	cut := cutFrom(p, frames, spans)
	p.owed += float64(cutFrom(p, wanted, spans).length() - cut.length())
	envelope, err := p.writeMarks(cut, spans)
	if err != nil {
		return err
	}
	computed := 0
	if err := encoded.Speak(frames, func(samples []float32) error {
		audible := cut.audible(samples, computed)
		computed += len(samples)
		return p.write(envelope.apply(audible))
	}); err != nil {
		return err
	}
	return p.writePause(clauses[len(clauses)-1], last)
}

// seedOf returns the seed of a job's noise, so that equal jobs give equal samples. Models have no input for the pitch,
// so a phrase's pitch varies the noise instead.
func seedOf(job engineproto.Job) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(job.Text))
	for _, p := range job.Phrases {
		hash.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(p.Pitch)))
	}
	return hash.Sum64()
}

// spell returns the ids of a sentence, with pads if the voice has them.
func (p *performance) spell(clauses []clause) (ids []int64, spans []span) {
	s := speller{config: p.voice.Config}
	s.add(beginSymbol)
	for i, c := range clauses {
		like := span{speed: p.speedOf(c), gain: math.Pow(10, c.phrase.Gain/20)}
		s.words(c, like)
		like.from, like.isPause, like.pause = len(s.ids), true, c.pause()
		s.add(string(c.mark))
		if i < len(clauses)-1 {
			s.add(spaceSymbol)
			like.to = len(s.ids)
			s.spans = append(s.spans, like)
		}
	}
	if !s.spoken {
		return nil, nil
	}
	return append(s.ids, s.config.id(endSymbol)...), s.spans
}

// speedOf returns the speed of a clause, by which its frames are divided.
func (p *performance) speedOf(c clause) float64 {
	return p.job.Speed * c.phrase.Rate / p.voice.Config.Inference.Length
}

// speller collects the ids of a sentence.
type speller struct {
	config Config
	ids    []int64
	spans  []span
	spoken bool // it has at least one word
}

// add adds a symbol, if the voice has it.
func (s *speller) add(symbol string) { s.addIDs(s.config.id(symbol)) }

// addIDs adds ids, each with a pad after it, if the voice has pads.
func (s *speller) addIDs(ids []int64) {
	pad := s.config.id(padSymbol)
	for _, id := range ids {
		s.ids = append(append(s.ids, id), pad...)
	}
}

// words adds the words of a clause. In running speech a word begins with the space before it.
func (s *speller) words(c clause, like span) {
	first := len(s.spans)
	for i, w := range c.words {
		symbols := s.config.symbols(w)
		if len(symbols) == 0 {
			continue
		}
		word := like
		word.from, word.rune = len(s.ids), w.rune
		if len(s.spans) > first {
			s.add(spaceSymbol)
		}
		s.addIDs(symbols)
		if i < len(c.words)-1 {
			word.gap = c.phrase.Gap
		}
		word.to = len(s.ids)
		s.spans, s.spoken = append(s.spans, word), true
	}
}

// speedOfPause returns the speed of a pause. It ignores the voice's length_scale, so that pauses are the same in all
// engines.
func (s span) speedOfPause(c Config) float64 { return s.speed * c.Inference.Length }

func (p *performance) frames(seconds float64) float64 {
	return seconds * float64(p.samples(1)) / p.voice.model.Hop()
}

func (p *performance) samples(seconds float64) int {
	return int(seconds * float64(p.voice.Config.Audio.SampleRate))
}

// writeMarks writes the marks of a sentence, and returns the envelope of its parts.
func (p *performance) writeMarks(cut cut, spans []span) (*envelope, error) {
	ramp := 1 / float64(p.samples(fade))
	e := &envelope{level: spans[0].gain, ramp: ramp, end: cut.length()}
	var marks []speech.Mark
	for _, s := range spans {
		from, to := cut.starts[s.from], cut.starts[s.to]
		marks = append(marks, speech.Mark{Rune: s.rune, Sample: p.total + from, Silence: s.isPause})
		if e.add(from, s.gain); s.isPause && to-from > 2*p.samples(edge) {
			e.add(from+p.samples(edge), 0)
			e.add(to-p.samples(edge), s.gain)
		}
	}
	return e, p.writer.Write(engineproto.MarksFrame(marks))
}

// writePause writes the silence after a sentence.
func (p *performance) writePause(c clause, last bool) error {
	pause := c.pause()
	if pause == speech.OwnPause {
		pause = ownPause
	}
	if last && p.job.NoPause || !c.ends && c.mark == 0 {
		pause = 0
	}
	if err := p.writer.Write(engineproto.MarksFrame([]speech.Mark{{Silence: true, Sample: p.total}})); err != nil {
		return err
	}
	return p.write(make([]float32, p.silence(pause, p.job.Speed*c.phrase.Rate)))
}

// silence returns the number of samples in the pause after a sentence, less the sentence's last frames, which are
// silent too. It adds the samples owed by rounding, so that the error does not accumulate at any speed.
func (p *performance) silence(pause, speed float64) int {
	if pause == 0 {
		return 0
	}
	tail := float64(p.voice.Config.edges.tail) * p.voice.model.Hop()
	wanted := max(pause*float64(p.samples(1))-tail, 0)/speed + p.owed
	samples := max(math.Round(wanted), 0)
	p.owed = wanted - samples
	return int(samples)
}

// maxSamples keeps frames of the protocol within their size limit.
const maxSamples = 64 << 10

func (p *performance) write(samples []float32) error {
	for len(samples) > 0 {
		n := min(len(samples), maxSamples)
		pcm := make([]byte, 0, 2*n)
		for _, s := range samples[:n] {
			value := math.Round(float64(s) * math.MaxInt16)
			pcm = binary.LittleEndian.AppendUint16(pcm, uint16(int16(max(math.MinInt16, min(math.MaxInt16, value)))))
		}
		if err := p.writer.Write(workers.Frame{Kind: engineproto.KindAudio, Payload: pcm}); err != nil {
			return err
		}
		p.total += n
		samples = samples[n:]
	}
	return nil
}

// envelope is the loudness of a sentence's samples.
type envelope struct {
	steps []step
	level float64 // current factor
	goal  float64 // the factor that level approaches
	ramp  float64 // greatest change of level between two samples
	end   int     // end of the sentence, in samples
	at    int     // index of the next sample
}

type step struct {
	at   int
	gain float64
}

func (e *envelope) add(at int, gain float64) { e.steps = append(e.steps, step{at: at, gain: gain}) }

func (e *envelope) apply(samples []float32) []float32 {
	for i := range samples {
		for len(e.steps) > 0 && e.steps[0].at <= e.at {
			e.goal, e.steps = e.steps[0].gain, e.steps[1:]
		}
		e.level += max(-e.ramp, min(e.ramp, e.goal-e.level))
		samples[i] = float32(headroom * float64(samples[i]) * e.level * min(1, e.ramp*float64(e.end-e.at)))
		e.at++
	}
	return samples
}
