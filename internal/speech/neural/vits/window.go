package vits

import (
	"errors"

	"github.com/recital-tts/recital/internal/speech/neural/ort"
)

// window holds the computed frames of a sentence that are still needed.
type window struct {
	columns    int       // of a frame
	start, end int       // frames
	values     []float32 // by column and channel
}

// size returns the numbers of a frame.
func (w *window) size() int { return len(w.values) / (w.end - w.start) }

// push adds the values of the next frames.
func (w *window) push(values []float32, count int) {
	w.values, w.end = append(w.values, values...), w.end+count
}

// add adds the next frames before last from a tensor, which has the frames between from and to by channel.
func (w *window) add(tensor []float32, from, to, last int) error {
	count := (to - from) * w.columns
	if len(tensor) == 0 || len(tensor)%count != 0 {
		return errors.New("speaking a sentence: the model returns a tensor of another size")
	}
	for column := (w.end - from) * w.columns; column < (last-from)*w.columns; column++ {
		for at := column; at < len(tensor); at += count {
			w.values = append(w.values, tensor[at])
		}
	}
	w.end = last
	return nil
}

// tensor returns some frames by channel, as models take them.
func (w *window) tensor(from, to int) ort.Tensor {
	count, channels := (to-from)*w.columns, w.size()/w.columns
	values := make([]float32, count*channels)
	for column := range count {
		at := (from-w.start)*w.size() + column*channels
		for c, value := range w.values[at : at+channels] {
			values[c*count+column] = value
		}
	}
	return ort.Floats(values, 1, int64(channels), int64(count))
}

// forget drops the frames before one.
func (w *window) forget(before int) {
	if before > w.start {
		w.values = append(w.values[:0], w.values[(before-w.start)*w.size():]...)
		w.start = before
	}
}
