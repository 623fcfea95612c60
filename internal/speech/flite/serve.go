// Package flite is the engine process on top of flite, a second engine for American English: statistical voices
// (CLUSTERGEN, Black, Interspeech 2006), which sound smoother than espeak-ng and cost more. It handles jobs of
// package engineproto, one at a time. Only cmd/speechworker imports it.
package flite

import (
	"errors"
	"io"
	"os"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/engineproto"
)

// language is the only language of flite.
const language = "en-us"

// Serve answers jobs until the input ends. An error means that a job could not be finished, or that recitald has
// exited. The process should then exit.
func Serve(in io.Reader, out *os.File) error {
	rate, err := open()
	if err != nil {
		return err
	}
	writer := workers.NewWriter(out)
	return engineproto.Serve(in, writer, outputRate, prepare, func(t task) error {
		p := &performance{writer: writer, rate: rate}
		if err := p.perform(t); err != nil {
			return err
		}
		return writer.Write(engineproto.EndFrame(p.total))
	})
}

// task is a checked job.
type task struct {
	engineproto.Job
	voice voice
}

func prepare(job engineproto.Job) (task, error) {
	if job.Language != language {
		return task{}, errors.New("the language is not American English")
	}
	voice, ok := voiceOf(job.Variant)
	if !ok {
		return task{}, errors.New("the voice is not on the list")
	}
	if job.Timbre != nil {
		return task{}, errors.New("the voice is of the other engine")
	}
	return task{Job: job, voice: voice}, nil
}
