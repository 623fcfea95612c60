package speech

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// The paces between which speech is fitted to a length, relative to the voice's own. The engines' speeds end at
// MaxSpeed; beyond that, periods of the voice are left out.
const (
	minPace = MinSpeed
	maxPace = 2.5
)

// fit fits a stream to a requested length. All segments are synthesised once to measure them, then again at the
// resulting speed, and the small remaining difference is removed by stretching each segment. Audio starts once the
// whole text has been measured. Its length is exact if the pace is possible.
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
	own, pauses := float64(total)/rate, f.stream.pauses()
	pace := own / max(f.stream.request.Length-pauses, 1e-3)
	if f.pace = clamp(pace, minPace, maxPace); f.pace != pace {
		f.warning = fmt.Sprintf("length: the text takes %.2f to %.2f seconds", own/maxPace+pauses, own/minPace+pauses)
	}
	at := 0
	for _, n := range lengths {
		at += n
		f.ends = append(f.ends, int(math.Round(float64(at)/f.pace)))
	}
}

// lengthOf returns the number of samples of a segment at speed 1.
func (f *fit) lengthOf(index int) (int, error) {
	if f.stream.segments[index].Text == "" { // a pause of markup before any text
		return 0, nil
	}
	samples, err := f.stream.countSamples(f.stream.ctx, f.stream.job(index, false))
	if errors.Is(err, ErrEngineFailed) {
		samples, err = f.stream.countSamples(f.stream.ctx, f.stream.job(index, true))
	}
	if samples == 0 {
		samples = int(silenceOfNothing * float64(f.stream.SampleRate()))
	}
	return int(float64(samples) / f.stream.rateOf(index)), err
}

// speak synthesises a segment with its share of the length.
func (f *fit) speak(ctx context.Context, job Job, index int) (Utterance, error) {
	if err := await(ctx, f.measured); err != nil {
		return nil, err
	}
	if f.err != nil {
		return nil, f.err
	}
	start := 0
	if index > 0 {
		start = f.ends[index-1]
	}
	return f.stream.speakFor(ctx, job, f.pace*f.stream.rateOf(index), f.ends[index]-start)
}

// speakAtSpeed synthesises a segment with its length at speed 1, divided by its speed. The engines' own speeds are up
// to 30 % off, depending on the text.
func (st *Stream) speakAtSpeed(ctx context.Context, job Job) (Utterance, error) {
	samples, err := st.countSamples(ctx, job)
	if err != nil {
		return nil, err
	}
	return st.speakFor(ctx, job, job.Speed, int(math.Round(float64(samples)/job.Speed)))
}

// countSamples returns the number of samples of a job at speed 1.
func (st *Stream) countSamples(ctx context.Context, job Job) (int, error) {
	job.Speed, job.Faint = 1, st.faint(1)
	pcm, _, err := Synthesise(ctx, st.engine, job)
	return len(pcm) / 2, err
}

// speakFor synthesises a job near a pace, and stretches it to a number of samples.
func (st *Stream) speakFor(ctx context.Context, job Job, pace float64, samples int) (Utterance, error) {
	job.Speed = clamp(pace, SlowSpeed, MaxSpeed)
	pcm, marks, err := Synthesise(ctx, st.engine, job)
	if err != nil {
		return nil, err
	}
	return stretchTo(samples, pcm, marks, st.SampleRate(), job.Speed/pace), nil
}

// recorded is a complete utterance.
type recorded struct {
	pcm   []byte // the rest
	marks []Mark
}

// recordedPiece is the maximum number of bytes that Next returns of a recorded utterance.
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
