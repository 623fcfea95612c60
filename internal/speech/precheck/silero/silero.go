// Package silero hears how much of a recording is speech, with Silero's model of voice activity. It starts a
// neuralworker for each recording, which exits with it.
package silero

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/engineproto"
	"github.com/recital-tts/recital/internal/speech/precheck"
)

// ModelFile is the name of the model, beside ONNX Runtime's library.
const ModelFile = "silero_vad.onnx"

// timeout bounds the time for a recording. The model takes 3 ms of processor time for a second.
const timeout = 2 * time.Minute

// Listener implements precheck.Listener. It hears nothing while one of its files is missing, and they may be installed
// while recitald runs.
type Listener struct {
	Runtime      string // the path of ONNX Runtime's library
	Speechworker string // the binary; the neuralworker is in the same folder
	Logger       *slog.Logger
}

var _ precheck.Listener = (*Listener)(nil)

// Listen implements precheck.Listener.
func (l *Listener) Listen(ctx context.Context) precheck.Hearing {
	h := &hearing{ctx: ctx, logger: l.Logger}
	model := filepath.Join(filepath.Dir(l.Runtime), ModelFile)
	for _, file := range []string{l.Runtime, model} {
		if _, err := os.Stat(file); err != nil {
			return h
		}
	}
	process, err := workers.Start(workers.Command{
		Path: filepath.Join(filepath.Dir(l.Speechworker), "neuralworker"),
		Args: []string{"--runtime", l.Runtime, "--activity", model}, Logger: l.Logger, Alone: true,
	})
	if err != nil {
		h.fail(err)
		return h
	}
	h.process = process
	bounded, cancel := context.WithTimeout(ctx, timeout)
	context.AfterFunc(bounded, process.Kill)
	h.cancel = cancel
	return h
}

// hearing is a recording that is heard by a process; nil for none.
type hearing struct {
	ctx     context.Context // of the client, who may hang up
	process *workers.Process
	cancel  context.CancelFunc // kills the process
	logger  *slog.Logger
	samples int
}

// Write implements io.Writer. It never fails, because a recording can be checked without being heard.
func (h *hearing) Write(pcm []byte) (int, error) {
	for rest := pcm; h.process != nil && len(rest) > 0; {
		size := min(len(rest), workers.MaxPayload)
		if err := h.process.In.Write(workers.Frame{Kind: engineproto.KindAudio, Payload: rest[:size]}); err != nil {
			h.fail(err)
		}
		rest = rest[size:]
	}
	h.samples += len(pcm) / 2
	return len(pcm), nil
}

// fail ends the hearing, and logs the cause.
func (h *hearing) fail(err error) {
	if h.ctx.Err() == nil {
		h.logger.Warn("the speech in a recording could not be heard", "error", err)
	}
	h.stop()
}

func (h *hearing) stop() {
	if h.process != nil {
		h.cancel()
		h.process = nil
	}
}

// Speech implements precheck.Hearing.
func (h *hearing) Speech() (share float64, heard bool) {
	if h.process == nil || h.samples == 0 {
		h.stop()
		return 0, false
	}
	h.process.CloseInput()
	frame, err := h.process.Out.Read()
	speech := 0
	if err == nil {
		speech, err = engineproto.ParseEnd(frame)
	}
	if err != nil {
		h.fail(err)
		return 0, false
	}
	h.stop()
	return float64(speech) / float64(h.samples), true
}
