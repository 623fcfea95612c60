package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recital-tts/recital/internal/process/supervise"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
)

var errNoProcess = errors.New("no process runs, and none can be started")

// slot keeps one process running and passes jobs to it.
type slot struct {
	pool    *Pool
	started bool // a process was started before: the next one replaces it
}

// keep keeps a process running until the pool is closed. It begins with a running process, or starts one if that is
// nil. If no process of the pool can be started, jobs are refused.
func (s *slot) keep(running *engine) {
	child := supervise.Child[*engine]{
		Name: "speech engine", Start: s.start, Serve: s.feed, Failing: s.refuseJobs, Policy: respawning,
		Logger: s.pool.config.Logger,
	}
	if running == nil {
		child.Run(s.pool.ctx)
		return
	}
	s.started = true
	child.Keep(s.pool.ctx, running)
}

// refuseJobs refuses the waiting jobs, unless another slot has a process.
func (s *slot) refuseJobs(error) {
	if s.pool.Stats().Alive == 0 {
		s.pool.queue.refuse(s.pool.engineFailed(errNoProcess))
	}
}

func (s *slot) start(ctx context.Context) (*engine, error) {
	if s.started {
		s.pool.count(func(c *Stats) { c.Respawns++ })
	}
	s.started = true
	e, err := s.pool.startEngine(ctx)
	if err != nil {
		return nil, err
	}
	if e.sampleRate != s.pool.sampleRate {
		e.kill()
		return nil, fmt.Errorf("the process speaks at %d Hz, the others at %d Hz", e.sampleRate, s.pool.sampleRate)
	}
	return e, nil
}

// feed passes jobs to a process until the process or the pool ends. A process that had a job was useful, even if it
// died of it.
func (s *slot) feed(ctx context.Context, e *engine) (useful bool, err error) {
	s.pool.count(func(c *Stats) { c.Alive++ })
	defer s.pool.count(func(c *Stats) { c.Alive-- })
	for {
		t, ok := s.pool.queue.take(ctx, e.process.Done())
		if !ok && ctx.Err() != nil {
			e.stop()
			return useful, nil
		}
		if !ok {
			e.kill()
			return useful, e.process.Death()
		}
		t.taken <- nil
		useful = true
		if err := s.serve(e, t); err != nil {
			e.kill()
			return useful, err
		}
	}
}

// serve runs one job. An error means that the process cannot be used any more.
func (s *slot) serve(e *engine, t *task) error {
	start := time.Now()
	s.pool.count(func(c *Stats) { c.Jobs, c.Busy = c.Jobs+1, c.Busy+1 })
	defer s.pool.count(func(c *Stats) { c.Busy, c.BusyTime = c.Busy-1, c.BusyTime+time.Since(start) })
	u := t.utterance
	defer u.cancel()
	if u.ctx.Err() != nil {
		u.finish(u.ctx.Err())
		return nil
	}
	if err := e.process.In.WriteJSON(engineproto.KindJob, engineproto.NewJob(t.job)); err != nil {
		return s.fail(u, err)
	}
	return s.pass(e, u)
}

// pass handles the frames of the process until the job ends.
func (s *slot) pass(e *engine, u *utterance) error {
	timeout := time.NewTimer(s.pool.config.JobTimeout)
	defer timeout.Stop()
	givenUp := u.ctx.Done()
	for {
		select {
		case frame, ok := <-e.frames:
			if !ok {
				return s.fail(u, e.process.Death())
			}
			done, err := s.take(u, frame)
			if err != nil || done {
				return err
			}
			if givenUp != nil {
				timeout.Reset(s.pool.config.JobTimeout)
			}
		case <-timeout.C:
			err := fmt.Errorf("nothing of the job came for %s", s.pool.config.JobTimeout)
			if u.ctx.Err() != nil {
				err = errors.New("an abandoned job did not end in time")
			}
			return s.fail(u, err)
		case <-givenUp:
			u.finish(u.ctx.Err())
			givenUp = nil
			timeout.Reset(s.pool.config.AbandonTimeout)
			if err := s.giveUp(e); err != nil {
				return err
			}
		case <-s.pool.ctx.Done():
			u.finish(speech.ErrEngineClosed)
			return s.pool.ctx.Err()
		}
	}
}

// giveUp asks the process to end its job early, if it supports that.
func (s *slot) giveUp(e *engine) error {
	if !s.pool.config.GivesUp {
		return nil
	}
	return e.process.In.Write(workers.Frame{Kind: engineproto.KindGiveUp})
}

// take handles one frame. It reports whether the job has ended. An error means that the process cannot be used any
// more.
func (s *slot) take(u *utterance, frame workers.Frame) (done bool, err error) {
	switch frame.Kind {
	case engineproto.KindAudio:
		s.pool.count(func(c *Stats) { c.Samples += uint64(len(frame.Payload) / 2) })
		return false, s.fail(u, u.addAudio(frame.Payload))
	case engineproto.KindMarks:
		marks, err := engineproto.ParseMarks(frame)
		return false, s.fail(u, cmp.Or(err, u.addMarks(marks)))
	case engineproto.KindPhonemes:
		phonemes, err := engineproto.ParsePhonemes(frame)
		return false, s.fail(u, cmp.Or(err, u.addMarks(phonemes)))
	case engineproto.KindRefused:
		u.finish(fmt.Errorf("%w: %s", speech.ErrRefused, frame.Payload))
		return true, nil
	case engineproto.KindEnd:
		samples, err := engineproto.ParseEnd(frame)
		if err == nil {
			err = u.complete(samples)
		}
		return true, s.fail(u, err)
	default:
		return false, s.fail(u, fmt.Errorf("the process sent a frame of the unknown kind %q", frame.Kind))
	}
}

// fail ends the utterance with an error, if there is one, and returns it.
func (s *slot) fail(u *utterance, err error) error {
	switch {
	case err == nil:
	case errors.Is(err, speech.ErrTooMuchAudio):
		u.finish(err)
	default:
		u.finish(s.pool.engineFailed(err))
	}
	return err
}
