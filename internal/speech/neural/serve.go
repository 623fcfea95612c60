package neural

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
)

// Serve answers jobs with the voices until the input ends. The command transcribe starts a speechworker in mode
// phonemes.
func Serve(in io.Reader, out *os.File, voices *Voices, transcribe workers.Command) error {
	s := &server{voices: voices, writer: workers.NewWriter(out), transcriber: transcriber{command: transcribe}}
	defer s.transcriber.stop()
	if err := s.transcriber.start(); err != nil {
		return err
	}
	if err := s.writer.Write(engineproto.HelloFrame(voices.config.Audio.SampleRate)); err != nil {
		return err
	}
	jobs := make(chan request)
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

// request is a job, or the error of reading one.
type request struct {
	ctx   context.Context // ends when the job is cancelled
	frame workers.Frame
	err   error
}

// receive passes jobs on until the input ends. Any frame after a job cancels that job, if it is still running.
func receive(reader *workers.Reader, to chan<- request) {
	defer close(to)
	giveUp := func() {}
	for {
		frame, err := reader.Read()
		giveUp()
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			to <- request{err: err}
			return
		case frame.Kind == engineproto.KindGiveUp:
			continue
		}
		job := request{frame: frame}
		job.ctx, giveUp = context.WithCancel(context.Background())
		to <- job
	}
}

type server struct {
	voices      *Voices
	writer      *workers.Writer
	transcriber transcriber
}

func (s *server) answer(ctx context.Context, frame workers.Frame) error {
	if frame.Kind == engineproto.KindCheck {
		return s.check(frame)
	}
	job, voice, err := s.prepare(frame)
	if err != nil {
		return s.writer.Write(engineproto.Refusal(err))
	}
	text := []rune(job.Text)
	if len(job.Phrases) == 0 {
		job.Phrases = []speech.Phrase{speech.OwnPhrase(len(text))}
	}
	clauses := cutClauses(text, job.Phrases)
	if err := s.transcriber.transcribe(job, clauses, voice.Config); err != nil {
		if errors.Is(err, errRefused) {
			return s.writer.Write(engineproto.Refusal(err))
		}
		return err
	}
	p := &performance{ctx: ctx, voice: voice, job: job, writer: s.writer}
	bounds := voice.Config.units
	clauses = bounds.cut(clauses)
	for len(clauses) > 0 {
		n := bounds.next(clauses)
		err := p.sentence(clauses[:n], n == len(clauses))
		if ctx.Err() != nil {
			break // cancelled: the job ends with the samples written so far
		}
		if err != nil {
			return err
		}
		clauses = clauses[n:]
	}
	return s.writer.Write(engineproto.EndFrame(p.total))
}

// prepare checks a job and returns its voice. The job's variant is the folder of the voice.
func (s *server) prepare(frame workers.Frame) (engineproto.Job, *Voice, error) {
	job, err := engineproto.ParseJob(frame)
	if err != nil {
		return job, nil, err
	}
	if job.Timbre != nil {
		return job, nil, errors.New("the voice has no timbre but its own")
	}
	voice, err := s.voices.voice(job.Variant)
	return job, voice, err
}
