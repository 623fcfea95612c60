// Package espeak is the engine process on top of libespeak-ng. It handles jobs of package engineproto, one at a time.
// It links a GPL library, so only cmd/speechworker imports it.
package espeak

import (
	"errors"
	"fmt"
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
	s := &server{
		reader: workers.NewReader(in), writer: workers.NewWriter(out), out: out, sampleRate: sampleRate,
		transcribes: transcribes,
	}
	if err := s.writer.Write(engineproto.HelloFrame(sampleRate)); err != nil {
		return err
	}
	return s.serve()
}

type server struct {
	reader     *workers.Reader
	writer     *workers.Writer // used only while no child has a job
	out        *os.File
	sampleRate int
	// Answers are phonemes, not audio.
	transcribes bool
	ready       *child // waiting for a job
}

// serve always keeps a child ready, even while another one has a job, so that no job waits for a fork. The children
// write the answers.
func (s *server) serve() (err error) {
	if s.ready, err = fork(s.out); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.ready.dismiss()) }()
	for {
		t, err := s.nextTask()
		if err != nil {
			return ignoreEnd(err)
		}
		if err := s.answer(t); err != nil {
			return err
		}
	}
}

func (s *server) answer(t task) error {
	o, err := t.order(s.sampleRate)
	if err != nil {
		return err
	}
	if t.careful {
		safe, err := s.makeSafe(t, o)
		if err != nil {
			return err
		}
		o = safe
	}
	o.phonemes, o.transcription = t.phonemes, s.transcribes
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

// nextTask waits for a valid job, and refuses others.
func (s *server) nextTask() (task, error) {
	for {
		frame, err := s.reader.Read()
		if err != nil {
			return task{}, err
		}
		t, err := prepare(frame)
		if err == nil {
			return t, nil
		}
		if err := s.refuse(err); err != nil {
			return task{}, err
		}
	}
}

func (s *server) refuse(why error) error {
	return s.writer.Write(workers.Frame{Kind: engineproto.KindRefused, Payload: []byte(why.Error())})
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("reading a job: %w", err)
}
