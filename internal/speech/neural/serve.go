package neural

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
)

// Serve answers jobs with the voice until the input ends. The command starts a speechworker in mode phonemes.
func Serve(in io.Reader, out *os.File, voice *Voice, transcribe workers.Command) error {
	s := &server{voice: voice, writer: workers.NewWriter(out), transcriber: transcriber{command: transcribe}}
	defer s.transcriber.stop()
	if err := s.transcriber.start(); err != nil {
		return err
	}
	if err := s.writer.Write(engineproto.HelloFrame(voice.Config.Audio.SampleRate)); err != nil {
		return err
	}
	jobs := make(chan order)
	go receive(workers.NewReader(in), jobs)
	for job := range jobs {
		if job.err != nil {
			return fmt.Errorf("reading a job: %w", job.err)
		}
		if err := s.answer(job.ctx, job.frame); err != nil {
			return err
		}
	}
	return nil
}

// order is what was read: a job, or why there is none.
type order struct {
	ctx   context.Context // ends when the job is given up
	frame workers.Frame
	err   error
}

// receive passes jobs on until the input ends. Whatever comes after a job gives it up, if it goes on.
func receive(reader *workers.Reader, to chan<- order) {
	defer close(to)
	giveUp := func() {}
	for {
		frame, err := reader.Read()
		giveUp()
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			to <- order{err: err}
			return
		case frame.Kind == engineproto.KindGiveUp:
			continue
		}
		job := order{frame: frame}
		job.ctx, giveUp = context.WithCancel(context.Background())
		to <- job
	}
}

type server struct {
	voice       *Voice
	writer      *workers.Writer
	transcriber transcriber
}

func (s *server) answer(ctx context.Context, frame workers.Frame) error {
	if frame.Kind == engineproto.KindCheck {
		return s.check(frame)
	}
	job, err := s.prepare(frame)
	if err != nil {
		return s.refuse(err)
	}
	text := []rune(job.Text)
	if len(job.Phrases) == 0 {
		job.Phrases = []speech.Phrase{speech.OwnPhrase(len(text))}
	}
	clauses := cutClauses(text, job.Phrases)
	if err := s.transcriber.transcribe(job, clauses); err != nil {
		if errors.Is(err, errRefused) {
			return s.refuse(err)
		}
		return err
	}
	p := &performance{ctx: ctx, voice: s.voice, job: job, writer: s.writer}
	bounds := s.voice.Config.units
	clauses = bounds.cut(clauses)
	for len(clauses) > 0 {
		n := bounds.next(clauses)
		err := p.sentence(clauses[:n], n == len(clauses))
		if ctx.Err() != nil {
			break // nobody listens: the job ends with what there is
		}
		if err != nil {
			return err
		}
		clauses = clauses[n:]
	}
	return s.writer.Write(engineproto.EndFrame(p.total))
}

// prepare checks a job.
func (s *server) prepare(frame workers.Frame) (engineproto.Job, error) {
	job, err := engineproto.ParseJob(frame)
	switch {
	case err != nil:
		return job, err
	case job.Variant != s.voice.ID:
		return job, errors.New("the voice is another one")
	case job.Timbre != nil:
		return job, errors.New("the voice has no timbre but its own")
	case !slices.Contains(s.voice.Languages, job.Language):
		return job, errors.New("the voice does not speak the language")
	}
	return job, job.Check()
}

func (s *server) refuse(why error) error { return refuse(s.writer, why) }

// Refuse says in place of a hello why the voice cannot be loaded.
func Refuse(out io.Writer, why error) error { return refuse(workers.NewWriter(out), why) }

func refuse(writer *workers.Writer, why error) error {
	return writer.Write(workers.Frame{Kind: engineproto.KindRefused, Payload: []byte(why.Error())})
}
