package commands

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/recital-tts/recital/internal/audio"
	"github.com/recital-tts/recital/internal/speech"
)

// inaudible is the largest sample that counts as silence: -66 dB.
const inaudible = 16

// lag is how much silence pushes the last sound out of a format's encoder. A codec holds its look-ahead and a frame that
// is not full, 3,000 samples of its rate at most; a resampler alone holds a few milliseconds.
func lag(spec audio.Spec) time.Duration {
	switch spec.Format {
	case audio.MP3, audio.AAC, audio.WebM:
		return 3400 * time.Second / time.Duration(spec.SampleRate)
	default:
		return 20 * time.Millisecond
	}
}

// encode gives samples to the encoder.
func (s *Session) encode(ctx context.Context, pcm []byte) ([]byte, error) {
	if len(pcm) == 0 {
		return nil, nil
	}
	s.samples += int64(len(pcm) / 2)
	if quiet := quietEnd(pcm); quiet == len(pcm)/2 {
		s.quiet += int64(quiet)
	} else {
		s.quiet = int64(quiet)
	}
	return s.encoder.Encode(ctx, pcm)
}

// quietEnd counts the samples of silence at the end.
func quietEnd(pcm []byte) int {
	n := len(pcm) / 2
	for i := n; i > 0; i-- {
		if sample := int16(binary.LittleEndian.Uint16(pcm[2*i-2:])); sample > inaudible || sample < -inaudible {
			return n - i
		}
	}
	return n
}

// expel has the encoder give what it holds back, as far as what follows needs it.
func (s *Session) expel(ctx context.Context, e end) ([]byte, error) {
	switch {
	case e.last:
		s.finished = true
		return s.encoder.Finish(ctx)
	case e.flush:
		missing := int64(lag(s.order.Audio).Seconds()*float64(s.synthesiser.Speaker.SampleRate())) - s.quiet
		return s.encode(ctx, make([]byte, 2*max(missing, 0)))
	}
	return nil, nil
}

// now is how long the audio is so far, in milliseconds.
func (s *Session) now() int64 { return s.samples * 1000 / int64(s.synthesiser.Speaker.SampleRate()) }

// maxChunk is how large a chunk is that clients take well, in bytes.
const maxChunk = 64 << 10

// chunkLength is how long a chunk of so many bytes lasts, in milliseconds.
func chunkLength(spec audio.Spec) int64 {
	bytesPerSample := 2
	switch spec.Format {
	case audio.PCMF32LE:
		bytesPerSample = 4
	case audio.ULaw:
		bytesPerSample = 1
	}
	return min(2000, int64(maxChunk*1000/(spec.SampleRate*bytesPerSample)))
}

// timedPiece is a piece of a part with the times of its words, which count from its start and fill it.
type timedPiece struct {
	pcm     []byte
	timings []speech.Timing
	length  int64 // milliseconds
}

// extend appends a piece.
func (p *timedPiece) extend(next timedPiece) {
	for _, t := range next.timings {
		t.Start = seconds(p.length + milliseconds(t.Start))
		p.timings = append(p.timings, t)
	}
	p.length += next.length
}

// lengthen adds silence to the last timing.
func (p *timedPiece) lengthen(by int64) {
	p.length += by
	if n := len(p.timings); n > 0 {
		last := &p.timings[n-1]
		last.Duration = seconds(milliseconds(last.Duration) + by)
	}
}

// cutTimed cuts the audio of a part at borders of its timings, into pieces that last most milliseconds at most. An
// element that is longer goes on in the next piece under the empty text. The timings are those of a stream with one
// segment: they begin at 0 and leave no gap.
func cutTimed(pcm []byte, timings []speech.Timing, rate int, most int64) []timedPiece {
	c := timedCut{pcm: pcm, rate: int64(rate)}
	for _, t := range timings {
		from, to := milliseconds(t.Start), milliseconds(t.Start)+milliseconds(t.Duration)
		if to-c.begin > most && from > c.begin {
			c.close(from)
		}
		for to-c.begin > most {
			c.add(t.Text, from, c.begin+most)
			from = c.begin + most
			t.Text = ""
			c.close(from)
		}
		c.add(t.Text, from, to)
	}
	return c.finish()
}

// timedCut is the state of cutTimed.
type timedCut struct {
	pcm    []byte
	rate   int64
	begin  int64 // of the open piece, in milliseconds
	open   []speech.Timing
	pieces []timedPiece
}

func (c *timedCut) add(text string, from, to int64) {
	c.open = append(c.open, speech.Timing{Text: text, Start: seconds(from - c.begin), Duration: seconds(to - from)})
}

func (c *timedCut) close(at int64) {
	cut := min(2*(at*c.rate/1000-c.begin*c.rate/1000), int64(len(c.pcm)))
	c.pieces = append(c.pieces, timedPiece{pcm: c.pcm[:cut:cut], timings: c.open, length: at - c.begin})
	c.pcm, c.begin, c.open = c.pcm[cut:], at, nil
}

// finish closes the last piece with all samples that are left.
func (c *timedCut) finish() []timedPiece {
	if len(c.open) == 0 && len(c.pcm) == 0 {
		return c.pieces
	}
	length := int64(0)
	for _, t := range c.open {
		length += milliseconds(t.Duration)
	}
	return append(c.pieces, timedPiece{pcm: c.pcm, timings: c.open, length: length})
}

func milliseconds(seconds float64) int64 { return int64(seconds*1000 + 0.5) }

func seconds(milliseconds int64) float64 { return float64(milliseconds) / 1000 }
