// Package silero hears where a recording has speech, with Silero's model of voice activity.
package silero

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/engineproto"
	"github.com/recital-tts/recital/internal/speech/neural/onnx"
	"github.com/recital-tts/recital/internal/speech/neural/ort"
)

const (
	rate   = 16000 // of the samples, in Hz
	window = 512   // samples that the model judges at a time
	before = 64    // samples that it sees before them
	least  = 0.5   // probability from which a window counts as speech
)

// hearing is a recording as far as it has been heard.
type hearing struct {
	model  *ort.Session
	bytes  []byte     // of the next window
	seen   []float32  // by the model, in memory of its own because C code reads it
	state  ort.Tensor // of the model
	speech int        // samples that are speech
}

// Serve reads a recording, as audio frames with samples at 16 kHz, to the end of the input. Its answer is an end frame
// with the number of samples that are speech.
func Serve(input io.Reader, output io.Writer, file string) error {
	model, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("loading the model of voice activity: %w", err)
	}
	session, err := ort.Load(onnx.Part{
		Model: model, Inputs: []string{"input", "state", "sr"}, Outputs: []string{"output", "stateN"},
	}, 1)
	if err != nil {
		return err
	}
	h := &hearing{
		model: session, seen: make([]float32, before+window), state: ort.Floats(make([]float32, 256), 2, 1, 128),
	}
	for frames := workers.NewReader(input); ; {
		frame, err := frames.Read()
		if errors.Is(err, io.EOF) {
			return workers.NewWriter(output).Write(engineproto.EndFrame(h.speech))
		}
		if err := errors.Join(err, h.hear(frame.Payload)); err != nil {
			return err
		}
	}
}

// hear hears the windows that further samples complete.
func (h *hearing) hear(pcm []byte) error {
	h.bytes = append(h.bytes, pcm...)
	for ; len(h.bytes) >= 2*window; h.bytes = h.bytes[2*window:] {
		if err := h.judge(h.bytes[:2*window]); err != nil {
			return err
		}
	}
	return nil
}

func (h *hearing) judge(pcm []byte) error {
	copy(h.seen, h.seen[window:])
	for i := range window {
		h.seen[before+i] = float32(int16(binary.LittleEndian.Uint16(pcm[2*i:]))) / (1 << 15)
	}
	out, err := h.model.Run(context.Background(), ort.Floats(h.seen, 1, before+window), h.state,
		ort.Ints([]int64{rate}, 1))
	if err != nil {
		return err
	}
	if len(out[0].Floats) != 1 || len(out[1].Floats) != len(h.state.Floats) {
		return errors.New("this is no model of voice activity")
	}
	if h.state.Floats = out[1].Floats; out[0].Floats[0] >= least {
		h.speech += window
	}
	return nil
}
