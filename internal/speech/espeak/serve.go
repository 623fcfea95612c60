// Package espeak is the engine process on top of libespeak-ng. It handles jobs of package engineproto, one at a time.
// It links a GPL library, so only cmd/speechworker imports it.
package espeak

import (
	"errors"
	"io"
	"os"
	"runtime"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/engineproto"
)

// Serve answers jobs until the input ends. An error means that a job could not be finished, or that recitald has
// exited. The process should then exit.
func Serve(in io.Reader, out *os.File) error { return serve(in, out, false) }

// Transcribe is like Serve, but answers jobs with the phonemes of their text in place of audio.
func Transcribe(in io.Reader, out *os.File) error { return serve(in, out, true) }

func serve(in io.Reader, out *os.File, transcribes bool) error {
	// A child is killed when the thread that forked it exits.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	sampleRate, err := open()
	if err != nil {
		return err
	}
	s := &server{out: out, sampleRate: sampleRate, transcribes: transcribes}
	// A child is always ready, even while another one has a job, so that no job waits for a fork. The children write the
	// answers, and the writer is used only while none has a job.
	if s.ready, err = fork(out); err != nil {
		return err
	}
	err = engineproto.Serve(in, workers.NewWriter(out), sampleRate, prepare, s.answer)
	return errors.Join(err, s.ready.dismiss())
}

type server struct {
	out        *os.File
	sampleRate int
	// Answers are phonemes, not audio.
	transcribes bool
	ready       *child // waiting for a job
}

func (s *server) answer(t task) error {
	o, err := t.order(s.sampleRate)
	if err != nil {
		return err
	}
	if t.Careful {
		safe, err := s.makeSafe(t, o)
		if err != nil {
			return err
		}
		o = safe
	}
	o.phonemes, o.transcription = t.Phonemes, s.transcribes
	return errors.Join(s.carryOut(o))
}

// carryOut passes an order to a child, starts the next child meanwhile, and returns the reason if the first one died.
func (s *server) carryOut(o order) (died, err error) {
	busy := s.ready
	s.ready = nil
	died = busy.give(o)
	s.ready, err = fork(s.out)
	return errors.Join(died, busy.dismiss()), err
}
