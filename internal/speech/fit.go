package speech

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/recital-tts/recital/internal/speech/stretch"
)

// The paces between which speech is fitted to a length, relative to the voice's own. The engines' speeds end at
// MaxSpeed; the last quarter is done by leaving out periods.
const (
	minPace = MinSpeed
	maxPace = 2.5
)

// fit fits a stream to a requested length. All segments are synthesised once to measure them, then again at the
// resulting speed, and the small remaining difference is removed by stretching each segment. So audio starts when the
// whole text has been measured, and its length is exact if the pace is possible.
type fit struct {
	stream   *Stream
	measured chan struct{} // closed when the fields below are set
	ends     []int         // samples from the start of the stream to the end of each segment
	pace     float64
	warning  string
	err      error
}

func newFit(st *Stream) *fit { return &fit{stream: st, measured: make(chan struct{})} }

// measure runs once.
func (f *fit) measure() {
	defer close(f.measured)
	lengths := make([]int, len(f.stream.segments)) // samples at speed 1
	total := 0
	for i := range lengths {
		if lengths[i], f.err = f.lengthOf(i); f.err != nil {
			return
		}
		total += lengths[i]
	}
	if total == 0 {
		return
	}
	rate := float64(f.stream.SampleRate())
	own := float64(total) / rate
	f.pace = clamp(own/f.stream.request.Length, minPace, maxPace)
	if f.pace != own/f.stream.request.Length {
		f.warning = fmt.Sprintf("length: the text takes %.2f to %.2f seconds", own/maxPace, own/minPace)
	}
	at := 0
	for _, n := range lengths {
		at += n
		f.ends = append(f.ends, int(math.Round(float64(at)/f.pace)))
	}
}

// lengthOf returns the number of samples of a segment at speed 1.
func (f *fit) lengthOf(index int) (int, error) {
	samples, err := f.countSamples(f.stream.job(index, false))
	if errors.Is(err, ErrEngineFailed) {
		samples, err = f.countSamples(f.stream.job(index, true))
	}
	if samples == 0 {
		samples = int(silenceOfNothing * float64(f.stream.SampleRate()))
	}
	return samples, err
}

func (f *fit) countSamples(job Job) (int, error) {
	job.Speed = 1
	utterance, err := f.stream.engine.Speak(f.stream.ctx, job)
	if err != nil {
		return 0, err
	}
	defer utterance.Close()
	samples := 0
	for {
		pcm, err := utterance.Next(f.stream.ctx)
		samples += len(pcm) / 2
		if errors.Is(err, io.EOF) {
			return samples, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// speak synthesises a segment with its share of the length.
func (f *fit) speak(ctx context.Context, job Job, index int) (Utterance, error) {
	select {
	case <-f.measured:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if f.err != nil {
		return nil, f.err
	}
	job.Speed = clamp(f.pace, MinSpeed, MaxSpeed)
	utterance, err := f.stream.engine.Speak(ctx, job)
	if err != nil {
		return nil, err
	}
	defer utterance.Close()
	pcm, err := readAll(ctx, utterance)
	if err != nil {
		return nil, err
	}
	start := 0
	if index > 0 {
		start = f.ends[index-1]
	}
	return stretchTo(f.ends[index]-start, pcm, utterance.Marks(), f.stream.SampleRate()), nil
}

func readAll(ctx context.Context, utterance Utterance) ([]byte, error) {
	var pcm []byte
	for {
		part, err := utterance.Next(ctx)
		if errors.Is(err, io.EOF) {
			return pcm, nil
		}
		if err != nil {
			return nil, err
		}
		pcm = append(pcm, part...)
	}
}

// stretchTo stretches speech to a number of samples.
func stretchTo(samples int, pcm []byte, marks []Mark, rate int) *recorded {
	if len(pcm) == 0 {
		return &recorded{pcm: make([]byte, 2*samples)}
	}
	stretcher := stretch.New(rate, float64(samples)/float64(len(pcm)/2))
	out := stretcher.Stretch(pcm)
	out = append(out, stretcher.Finish()...)
	for len(out) < 2*samples { // by rounding
		out = binary.LittleEndian.AppendUint16(out, 0)
	}
	for i := range marks {
		marks[i].Sample = min(stretcher.Scale(marks[i].Sample), samples)
	}
	return &recorded{pcm: out[:2*samples], marks: marks}
}

// recorded is a complete utterance.
type recorded struct {
	pcm   []byte // the rest
	marks []Mark
}

// recordedPiece is the number of bytes of a recorded utterance that are returned at once.
const recordedPiece = 8 << 10

// Next implements Utterance.
func (r *recorded) Next(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(r.pcm) == 0 {
		return nil, io.EOF
	}
	n := min(recordedPiece, len(r.pcm))
	piece := r.pcm[:n:n]
	r.pcm = r.pcm[n:]
	return piece, nil
}

// Marks implements Utterance.
func (r *recorded) Marks() []Mark { return slices.Clone(r.marks) }

// Close implements Utterance.
func (r *recorded) Close() { r.pcm = nil }

// Warning waits until it is known whether the stream can have the requested length. If it cannot, Warning returns the
// reason, as a sentence for the client; otherwise, or if no length was requested, it returns "".
func (st *Stream) Warning(ctx context.Context) (string, error) {
	if st.fit == nil {
		return "", nil
	}
	select {
	case <-st.fit.measured:
		return st.fit.warning, st.fit.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
