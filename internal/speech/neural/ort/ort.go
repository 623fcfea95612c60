// Package ort runs parts of models with ONNX Runtime (onnxruntime.ai), a shared library that is loaded on demand. It
// links C, so only cmd/neuralworker and tests of voices import it.
package ort

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	onnxruntime "github.com/yalue/onnxruntime_go"

	"github.com/recital-tts/recital/internal/speech/neural/onnx"
)

// Open loads the library from a file. It has to be called before the first Load. Further calls do nothing.
func Open(library string) error {
	if onnxruntime.IsInitialized() {
		return nil
	}
	if !filepath.IsAbs(library) {
		return errors.New("loading ONNX Runtime: its path is not absolute")
	}
	onnxruntime.SetSharedLibraryPath(library)
	if err := onnxruntime.InitializeEnvironment(onnxruntime.WithLogLevelFatal()); err != nil {
		return fmt.Errorf("loading ONNX Runtime: %w", err)
	}
	return nil
}

// Tensor is an array of numbers, either Floats or Ints.
type Tensor struct {
	Shape  []int64
	Floats []float32
	Ints   []int64
}

// Floats returns a tensor of real numbers.
func Floats(values []float32, shape ...int64) Tensor { return Tensor{Shape: shape, Floats: values} }

// Ints returns a tensor of whole numbers.
func Ints(values []int64, shape ...int64) Tensor { return Tensor{Shape: shape, Ints: values} }

// Session runs one model, and keeps it until the process ends. It is safe for concurrent use. Results are reproducible,
// but may differ between sessions with different numbers of threads.
type Session struct {
	session *onnxruntime.DynamicAdvancedSession
	outputs int
}

// Load loads a part of a model. Run takes inputs and returns outputs in the order of the part's names. Runs use at most
// this number of threads, of which the caller's is one.
func Load(part onnx.Part, threads int) (*Session, error) {
	options, err := onnxruntime.NewSessionOptions()
	if err != nil {
		return nil, fmt.Errorf("loading a model: %w", err)
	}
	defer options.Destroy()
	if err := errors.Join(
		options.SetIntraOpNumThreads(threads), options.SetInterOpNumThreads(1),
		// It would plan the memory for each size of inputs, and sizes rarely recur.
		options.SetMemPattern(false),
		// Idle threads would take processor time.
		options.AddSessionConfigEntry("session.intra_op.allow_spinning", "0"),
	); err != nil {
		return nil, fmt.Errorf("loading a model: %w", err)
	}
	session, err := onnxruntime.NewDynamicAdvancedSessionWithONNXData(part.Model, part.Inputs, part.Outputs, options)
	if err != nil {
		return nil, fmt.Errorf("loading a model: %w", err)
	}
	return &Session{session: session, outputs: len(part.Outputs)}, nil
}

// Run computes the outputs. If ctx ends first, the run is cancelled and its error includes ctx's.
func (s *Session) Run(ctx context.Context, inputs ...Tensor) (outputs []Tensor, err error) {
	in := make([]onnxruntime.Value, len(inputs))
	out := make([]onnxruntime.Value, s.outputs)
	defer func() { err = errors.Join(err, destroy(in), destroy(out)) }()
	for i, t := range inputs {
		if in[i], err = t.value(); err != nil {
			return nil, fmt.Errorf("passing a tensor to a model: %w", err)
		}
	}
	if err := s.run(ctx, in, out); err != nil {
		return nil, fmt.Errorf("running a model: %w", err)
	}
	for _, value := range out {
		t, err := tensorOf(value)
		if err != nil {
			return nil, err
		}
		outputs = append(outputs, t)
	}
	return outputs, nil
}

// run runs the model, which checks between its operators whether it is terminated.
func (s *Session) run(ctx context.Context, in, out []onnxruntime.Value) error {
	options, err := onnxruntime.NewRunOptions()
	if err != nil {
		return err
	}
	terminated := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { terminated <- options.Terminate() })
	err = s.session.RunWithOptions(in, out, options)
	if !stop() { // ctx has ended: options must not be destroyed before Terminate returns
		err = errors.Join(ctx.Err(), <-terminated)
	}
	return errors.Join(err, options.Destroy())
}

func (t Tensor) value() (onnxruntime.Value, error) {
	if t.Ints != nil {
		return onnxruntime.NewTensor(t.Shape, t.Ints)
	}
	return onnxruntime.NewTensor(t.Shape, t.Floats)
}

// tensorOf copies a tensor out of the library's memory.
func tensorOf(value onnxruntime.Value) (Tensor, error) {
	t := Tensor{Shape: append([]int64(nil), value.GetShape()...)}
	switch v := value.(type) {
	case *onnxruntime.Tensor[float32]:
		t.Floats = append([]float32(nil), v.GetData()...)
	case *onnxruntime.Tensor[int64]:
		t.Ints = append([]int64(nil), v.GetData()...)
	default:
		return Tensor{}, errors.New("a model returned a tensor of an unknown type")
	}
	return t, nil
}

func destroy(values []onnxruntime.Value) (err error) {
	for _, v := range values {
		if v != nil {
			err = errors.Join(err, v.Destroy())
		}
	}
	return err
}
