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

// ownPause is the pause after a sentence that leaves it to the engine, in seconds at speed 1.
const ownPause = 0.25

const (
	// edge is the part of a pause at both ends in which words may still be heard, in seconds; between them is silence.
	edge = 0.03
	// fade is the time in which the loudness changes from none to all, in seconds: some voices stop abruptly.
	fade = 0.005
	// headroom is a factor on the samples, with which the loudest phrases are not clipped.
	headroom = 0.5
)

// performance is the answer to a job.
type performance struct {
	ctx    context.Context // ends when the job is given up
	voice  *Voice
	job    engineproto.Job
	writer *workers.Writer
	total  int     // samples written
	owed   float64 // samples that are missing, or too many, because frames are whole
}

// span is some ids of a sentence that have a length and a mark of their own.
type span struct {
	from, to int // ids
	speed    float64
	gain     float64 // a factor
	rune     int     // of a word
	gap      float64 // seconds of silence after a word
	isPause  bool
	pause    float64 // seconds that a pause lasts, or speech.OwnPause
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
	envelope, err := p.announce(cut, spans)
	if err != nil {
		return err
	}
	computed := 0
	if err := encoded.Speak(frames, func(samples []float32) error {
		heard := cut.heard(samples, computed)
		computed += len(samples)
		return p.write(envelope.apply(heard))
	}); err != nil {
		return err
	}
	return p.rest(clauses[len(clauses)-1], last)
}

// seedOf makes a job's noise its own, so that the same job gives the same samples. The model has no input for the
// pitch; what is drawn for it varies the noise.
func seedOf(job engineproto.Job) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(job.Text))
	for _, p := range job.Phrases {
		hash.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(p.Pitch)))
	}
	return hash.Sum64()
}

// spell returns the ids of a sentence, with a pad between them if the voice has one.
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
	if id, found := s.config.id(endSymbol); found {
		s.ids = append(s.ids, id)
	}
	return s.ids, s.spans
}

// speedOf returns a factor on what the model says: its frames are divided by it.
func (p *performance) speedOf(c clause) float64 {
	return p.job.Speed * c.phrase.Rate / p.voice.Config.Inference.Length
}

// speller collects the ids of a sentence.
type speller struct {
	config Config
	ids    []int64
	spans  []span
	spoken bool // some of it is a word
}

// add adds a symbol, if the voice has it, and a pad.
func (s *speller) add(symbol string) {
	if id, found := s.config.id(symbol); found {
		s.addIDs(id)
	}
}

func (s *speller) addIDs(ids ...int64) {
	pad, padded := s.config.id(padSymbol)
	for _, id := range ids {
		if s.ids = append(s.ids, id); padded {
			s.ids = append(s.ids, pad)
		}
	}
}

// words adds the words of a clause. In running speech a word is heard from the space before it on.
func (s *speller) words(c clause, like span) {
	first := len(s.spans)
	for i, w := range c.words {
		symbols, _ := s.config.symbols(w)
		if len(symbols) == 0 {
			continue
		}
		word := like
		word.from, word.rune = len(s.ids), w.rune
		if len(s.spans) > first {
			s.add(spaceSymbol)
		}
		s.addIDs(symbols...)
		if i < len(c.words)-1 {
			word.gap = c.phrase.Gap
		}
		word.to = len(s.ids)
		s.spans, s.spoken = append(s.spans, word), true
	}
}

// speedOfPause leaves out the voice's own length: pauses are those of all engines.
func (s span) speedOfPause(c Config) float64 { return s.speed * c.Inference.Length }

func (p *performance) frames(seconds float64) float64 {
	return seconds * float64(p.samples(1)) / p.voice.model.Hop()
}

func (p *performance) samples(seconds float64) int {
	return int(seconds * float64(p.voice.Config.Audio.SampleRate))
}

// announce writes the marks of a sentence, and returns how loud its parts are.
func (p *performance) announce(cut cut, spans []span) (*envelope, error) {
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

// rest is silent after a sentence.
func (p *performance) rest(c clause, last bool) error {
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

// silence returns the samples after a sentence for a pause at a speed, of which the sentence's last frames are a part.
// What rounding to frames has cost is made up for, so that no speed makes it add up.
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

// maxSamples keeps frames within their bound.
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

// envelope is how loud the samples of a sentence are.
type envelope struct {
	steps []step
	level float64 // a factor
	goal  float64 // of the level
	ramp  float64 // by which the level changes from one sample to the next
	end   int     // of the sentence, in samples
	at    int     // samples before the next ones
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
