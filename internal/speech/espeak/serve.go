// Package espeak is the engine process around libespeak-ng: it takes jobs of package engineproto, one at a time.
// It links a GPL library, so only cmd/speechworker imports it.
package espeak

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
	"github.com/recital-tts/recital/internal/workers"
)

// normalRate is speed 1 in words per minute. espeak-ng takes 80 to 450.
const normalRate = 175

// Serve answers jobs until the input ends. An error means that a job could not be finished, or that recitald is gone;
// the process shall exit then.
func Serve(in io.Reader, out *os.File) error {
	// A child is killed when the thread that forked it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	sampleRate, err := open()
	if err != nil {
		return err
	}
	s := &server{reader: workers.NewReader(in), writer: workers.NewWriter(out), out: out}
	if err := s.writer.Write(engineproto.HelloFrame(sampleRate)); err != nil {
		return err
	}
	return s.serve()
}

type server struct {
	reader *workers.Reader
	writer *workers.Writer // only used while no child has a job
	out    *os.File
}

// serve keeps a child ready, also while another one has a job, so that no job waits for a fork. The children write the
// answers.
func (s *server) serve() error {
	ready, err := fork(s.out)
	if err != nil {
		return err
	}
	for {
		next, err := s.nextOrder()
		if err != nil {
			return errors.Join(ignoreEnd(err), ready.dismiss())
		}
		busy := ready
		if err := busy.give(next); err != nil {
			return errors.Join(err, busy.dismiss())
		}
		ready, err = fork(s.out)
		if err := errors.Join(err, busy.dismiss()); err != nil {
			return errors.Join(err, ready.dismiss())
		}
	}
}

// nextOrder waits for a job and refuses those that espeak-ng must not see.
func (s *server) nextOrder() (order, error) {
	for {
		frame, err := s.reader.Read()
		if err != nil {
			return order{}, err
		}
		o, err := prepare(frame)
		if err == nil {
			return o, nil
		}
		refusal := workers.Frame{Kind: engineproto.KindRefused, Payload: []byte(err.Error())}
		if err := s.writer.Write(refusal); err != nil {
			return order{}, err
		}
	}
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("reading a job: %w", err)
}

// order is a job in the terms of espeak-ng.
type order struct {
	voice    string // such as "gmw/en-US+f2"
	rate     int    // words per minute
	endPause bool
	text     string
	breaks   []uint32 // see cleanText
}

// prepare checks everything that reaches espeak-ng: SetVoiceByName takes any name, overflows a buffer on long ones
// and opens whatever file a path leads to.
func prepare(frame workers.Frame) (order, error) {
	job, err := engineproto.ParseJob(frame)
	if err != nil {
		return order{}, err
	}
	language, ok := languageFiles[job.Language]
	if !ok {
		return order{}, errors.New("the language is not on the list")
	}
	if !speech.IsVariant(job.Variant) {
		return order{}, errors.New("the voice is not on the list")
	}
	if !(job.Speed >= engineproto.SlowestSpeed && job.Speed <= speech.MaxSpeed) { // refuses NaN too
		return order{}, errors.New("the speed is out of range")
	}
	if len(job.Text) > engineproto.MaxTextBytes {
		return order{}, errors.New("the text is too long")
	}
	text, breaks := cleanText(job.Text)
	return order{
		voice: language + "+" + job.Variant, rate: wordsPerMinute(job.Speed), endPause: !job.NoPause,
		text: text, breaks: breaks,
	}, nil
}

func wordsPerMinute(speed float64) int { return int(math.Round(normalRate * speed)) }
