package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
	"github.com/recital-tts/recital/internal/speech/stretch"
)

// maxMarks is the maximum number of marks of a job: several for each byte of the longest text.
const maxMarks = 8 * engineproto.MaxTextBytes

var errTooManyMarks = errors.New("the process sent too many marks")

// utterance buffers the samples of a job between its process and the reader.
type utterance struct {
	ctx       context.Context // of the job; cancelled at its end
	cancel    context.CancelFunc
	news      chan struct{}      // of capacity 1; signals a change
	limit     int                // of size
	stretcher *stretch.Stretcher // nil unless the engine does not support the speed

	mu     sync.Mutex
	chunks [][]byte
	came   int // bytes of samples from the process
	size   int // bytes of samples for the reader, including those already read
	marks  []speech.Mark
	end    error // io.EOF or an error; nil while there may be more samples
}

func newUtterance(ctx context.Context, limit int) *utterance {
	u := &utterance{news: make(chan struct{}, 1), limit: limit}
	u.ctx, u.cancel = context.WithCancel(ctx)
	return u
}

// Next implements speech.Utterance.
func (u *utterance) Next(ctx context.Context) ([]byte, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if chunk, err := u.look(); chunk != nil || err != nil {
			return chunk, err
		}
		select {
		case <-u.news:
		case <-ctx.Done():
		case <-u.ctx.Done():
			u.finish(u.ctx.Err())
		}
	}
}

func (u *utterance) look() ([]byte, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.chunks) == 0 {
		return nil, u.end
	}
	chunk := u.chunks[0]
	u.chunks[0] = nil
	u.chunks = u.chunks[1:]
	return chunk, nil
}

// Marks implements speech.Utterance.
func (u *utterance) Marks() []speech.Mark {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.marks)
}

// Close implements speech.Utterance.
func (u *utterance) Close() {
	u.cancel()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.chunks = nil
	if u.end == nil {
		u.end = context.Canceled
	}
}

func (u *utterance) addAudio(samples []byte) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.end != nil {
		return nil
	}
	u.came += len(samples)
	if u.stretcher != nil {
		samples = u.stretcher.Stretch(samples)
	}
	return u.append(samples)
}

func (u *utterance) append(samples []byte) error {
	if len(samples) == 0 {
		return nil
	}
	u.size += len(samples)
	if u.size > u.limit {
		return speech.ErrTooMuchAudio
	}
	u.chunks = append(u.chunks, samples)
	u.tell()
	return nil
}

func (u *utterance) addMarks(marks []speech.Mark) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.marks)+len(marks) > maxMarks {
		return errTooManyMarks
	}
	for _, m := range marks {
		if u.stretcher != nil {
			m.Sample = u.stretcher.Scale(m.Sample)
		}
		u.marks = append(u.marks, m)
	}
	return nil
}

// finish ends the utterance. Later output is ignored, and earlier samples remain readable.
func (u *utterance) finish(end error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.end == nil {
		u.end = end
	}
	u.tell()
}

// complete ends the utterance, with io.EOF if all samples have arrived.
func (u *utterance) complete(samples int) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.end != nil {
		return nil
	}
	if u.came != samples*2 {
		return fmt.Errorf("%d bytes arrived of %d samples", u.came, samples)
	}
	if u.stretcher != nil {
		if err := u.append(u.stretcher.Finish()); err != nil {
			return err
		}
	}
	u.end = io.EOF
	u.tell()
	return nil
}

func (u *utterance) tell() {
	select {
	case u.news <- struct{}{}:
	default:
	}
}
