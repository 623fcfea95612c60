package flite

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
	"github.com/recital-tts/recital/internal/speech/resample"
)

// outputRate is espeak-ng's rate in Hz, so that one stream may contain speech of both engines.
const outputRate = 22050

const (
	// lead is the part in seconds that is kept of the pause of about 0.2 s at both ends of an utterance.
	lead = 0.02
	// headroom is a factor on flite's samples that prevents the clipping of the loudest phrases.
	headroom = 0.5
	// quietest is the lowest audible sample (jobs may set another one for the ends of phrases), and edge the number of
	// samples kept before the first audible one.
	quietest = 60
	edge     = outputRate / 200
	// shortestPause is the minimum length in seconds of a gap between words that is reported as a silence.
	shortestPause = 0.03
)

// errEnough stops a synthesis whose further output is not needed.
var errEnough = errors.New("enough")

// performance is the answer to a job.
type performance struct {
	writer *workers.Writer
	rate   int   // of flite in Hz
	total  int   // samples written
	err    error // the reason why writing failed

	// Of the current phrase:
	text     []byte
	phones   []string // of its sounds
	start    int      // code points of the job's text before it
	cursor   int      // bytes up to the last token found
	gain     float64
	trims    bool // it begins at its first audible sample, and its quiet end counts as pause
	words    []heard
	told     bool // their positions were reported
	skipped  int  // samples omitted at its beginning
	quiet    int  // inaudible samples at its end
	faint    float64
	base     int // samples of the job before it
	resample *resample.Resampler
	from, to int // the range of flite's samples that is kept
	seen     int // samples produced by flite so far
}

// heard is the position of a word in the phrase.
type heard struct {
	index      int // of its token's first byte in the phrase's text
	start, end float64
}

func (p *performance) perform(t task) error {
	phrases := t.Phrases
	written := []rune(t.Text)
	text := toASCII(written)
	if t.Careful {
		harmless(text)
	}
	if len(phrases) == 0 {
		phrases = []speech.Phrase{speech.OwnPhrase(len(text))}
	}
	for i, phrase := range phrases {
		if i == len(phrases)-1 && t.NoPause {
			phrase.Pause = 0
		}
		end := p.start + phrase.Runes
		p.phones = putSounds(text[p.start:end], written[p.start:end], p.start, t.Sounds)
		if err := p.phrase(t, phrase, text[p.start:end]); err != nil {
			return err
		}
		p.start += phrase.Runes
	}
	return nil
}

func (p *performance) phrase(t task, phrase speech.Phrase, text []byte) error {
	if !isSayable(text) {
		return nil
	}
	speed := t.Speed * phrase.Rate
	p.text, p.cursor, p.words, p.seen, p.from, p.to = text, 0, nil, 0, 0, 0
	p.told, p.skipped, p.quiet = false, 0, 0
	p.faint = float64(cmp.Or(t.Faint, quietest))
	p.gain, p.trims = headroom*math.Pow(10, phrase.Gain/20), phrase.Pause != speech.OwnPause
	err := utterance{
		text: string(text), phones: p.phones, voice: t.voice, pitch: math.Exp2(phrase.Pitch / 12), width: phrase.Range,
		stretch: 1 / speed,
		rises:   phrase.Question,
	}.speak(p)
	if err := errors.Join(err, p.err); err != nil || len(p.words) == 0 {
		return err
	}
	p.say(p.resample.Finish())
	p.mark(speech.Mark{Silence: true, Sample: min(p.sample(p.words[len(p.words)-1].end), p.total)})
	if left := int(phrase.Pause/speed*outputRate) - p.quiet - edge; left > 0 {
		p.write(make([]float64, left))
	}
	return p.err
}

// isSayable reports whether a text has letters or digits. flite renders anything else as silence, or reads the names
// of symbols aloud.
func isSayable(text []byte) bool {
	return bytes.ContainsFunc(text, func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' ||
			bytes.ContainsRune([]byte("@#$%&*+="), r) || r == soundByte
	})
}

// word receives a word of the token with this name, which is spoken between two times, in seconds. same means that it
// belongs to the same token as the previous word.
func (p *performance) word(token string, same bool, start, end float64) {
	if !same {
		if i := bytes.Index(p.text[p.cursor:], []byte(token)); i >= 0 {
			p.words = append(p.words, heard{index: p.cursor + i, start: start, end: end})
			p.cursor += i + len(token)
			return
		}
	}
	if n := len(p.words); n > 0 {
		p.words[n-1].end = end
		return
	}
	p.words = append(p.words, heard{start: start, end: end})
}

// samples receives the next samples of flite. An error stops the synthesis.
func (p *performance) samples(pcm []int16) error {
	if p.seen == 0 && !p.begin() {
		return errEnough
	}
	first, last := max(p.from-p.seen, 0), min(p.to-p.seen, len(pcm))
	p.seen += len(pcm)
	if first < last {
		p.say(p.resample.Add(p.amplify(pcm[first:last])))
	}
	if p.seen >= p.to {
		return errEnough
	}
	return p.err
}

// say writes samples of the phrase.
func (p *performance) say(samples []float64) {
	if p.trims && !p.told {
		first := slices.IndexFunc(samples, isHeard)
		if first < 0 {
			p.skipped += len(samples)
			return
		}
		first = max(first-edge, 0)
		p.skipped += first
		samples = samples[first:]
	}
	if !p.told {
		p.tell()
	}
	last := len(samples)
	for last > 0 && math.Abs(samples[last-1]) < p.faint {
		last--
	}
	if last > 0 {
		p.quiet = 0
	}
	p.quiet += len(samples) - last
	p.write(samples)
}

func isHeard(sample float64) bool { return math.Abs(sample) >= quietest }

// begin determines the samples to keep, once all words are known and before the first samples.
func (p *performance) begin() bool {
	if len(p.words) == 0 {
		return false
	}
	p.base, p.resample = p.total, resample.New(p.rate, outputRate)
	p.from = max(p.samplesOf(p.words[0].start-lead), 0)
	p.to = math.MaxInt
	if p.trims {
		p.to = p.samplesOf(p.words[len(p.words)-1].end + lead)
	}
	return true
}

// tell reports the positions of the words.
func (p *performance) tell() {
	p.told = true
	var marks []speech.Mark
	for i, w := range p.words {
		marks = append(marks, speech.Mark{Rune: p.start + w.index, Sample: p.sample(w.start)})
		if i+1 < len(p.words) && p.words[i+1].start-w.end > shortestPause {
			marks = append(marks, speech.Mark{Silence: true, Sample: p.sample(w.end)})
		}
	}
	p.mark(marks...)
}

// sample converts a time of flite into a sample of the job.
func (p *performance) sample(seconds float64) int {
	return p.base + max((p.samplesOf(seconds)-p.from)*outputRate/p.rate-p.skipped, 0)
}

func (p *performance) samplesOf(seconds float64) int { return int(seconds * float64(p.rate)) }

func (p *performance) amplify(pcm []int16) []float64 {
	out := make([]float64, len(pcm))
	for i, sample := range pcm {
		out[i] = float64(sample) * p.gain
	}
	return out
}

func (p *performance) mark(marks ...speech.Mark) {
	p.err = errors.Join(p.err, p.writer.Write(engineproto.MarksFrame(marks)))
}

func (p *performance) write(samples []float64) {
	pcm := make([]byte, 0, 2*len(samples))
	for _, sample := range samples {
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(int16(min(max(math.Round(sample), math.MinInt16), math.MaxInt16))))
	}
	p.total += len(samples)
	if len(pcm) > 0 {
		p.err = errors.Join(p.err, p.writer.Write(workers.Frame{Kind: engineproto.KindAudio, Payload: pcm}))
	}
}
