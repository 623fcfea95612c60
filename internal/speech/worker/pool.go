// Package worker implements speech.Engine with a pool of speechworker processes, each handling one job at a time.
// When a process crashes or stalls, its job fails and it is restarted.
package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recital-tts/recital/internal/process/supervise"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
	"github.com/recital-tts/recital/internal/speech/stretch"
)

var _ speech.Engine = (*Pool)(nil)

// Pool implements speech.Engine.
type Pool struct {
	config     Config
	command    atomic.Pointer[workers.Command]
	sampleRate int
	queue      *queue
	counting   sync.Mutex
	counts     Stats // without Size and Queued

	ctx   context.Context // ends at Close
	close context.CancelFunc
	slots sync.WaitGroup
}

// Stats are the figures for readiness and metrics.
type Stats struct {
	Size     int           // configured number of processes
	Alive    int           // running processes that have sent their hello
	Busy     int           // processes with a job
	Queued   int           // jobs that wait for a process
	Jobs     uint64        // jobs that were started
	Failed   uint64        // jobs that ended with ErrEngineFailed
	Respawns uint64        // processes started in place of exited ones
	Samples  uint64        // received from processes
	BusyTime time.Duration // total time of completed jobs
}

// Open starts the processes and returns when the first one is ready for jobs, or the reason why it is not.
func Open(config Config) (*Pool, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Pool{config: config, queue: newQueue()}
	p.command.Store(&config.Command)
	p.ctx, p.close = context.WithCancel(context.Background())
	first, err := p.startEngine(p.ctx)
	if err != nil {
		p.close()
		return nil, fmt.Errorf("starting the first speech engine process: %w", err)
	}
	p.sampleRate = first.sampleRate
	for i := range config.Size {
		s := &slot{pool: p}
		if i == 0 {
			p.slots.Go(func() { s.keep(first) })
			continue
		}
		p.slots.Go(func() { s.keep(nil) })
	}
	return p, nil
}

// SampleRate implements speech.Engine.
func (p *Pool) SampleRate() int { return p.sampleRate }

// SetCommand changes the command of future processes.
func (p *Pool) SetCommand(command workers.Command) { p.command.Store(&command) }

// Speak implements speech.Engine.
func (p *Pool) Speak(ctx context.Context, job speech.Job) (speech.Utterance, error) {
	if !(job.Speed >= speech.MinSpeed && job.Speed <= speech.MaxSpeed) { // also refuses NaN
		return nil, fmt.Errorf("%w: the speed is out of range", speech.ErrRefused)
	}
	if err := engineproto.NewJob(job).Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", speech.ErrRefused, err)
	}
	t := &task{job: job, utterance: newUtterance(ctx, p.config.MaxAudioBytes), taken: make(chan error, 1)}
	if speed := engineproto.EngineSpeed(job); speed != job.Pace() {
		t.utterance.stretcher = stretch.New(p.sampleRate, speed/job.Pace())
	}
	if err := p.queue.pass(ctx, p.ctx.Done(), t); err != nil {
		t.utterance.Close()
		return nil, fmt.Errorf("waiting for a speech engine process: %w", err)
	}
	return t.utterance, nil
}

// Healthy reports whether a process is running.
func (p *Pool) Healthy() bool { return p.ctx.Err() == nil && p.Stats().Alive > 0 }

// Stats returns the numbers of processes and jobs.
func (p *Pool) Stats() Stats {
	p.counting.Lock()
	defer p.counting.Unlock()
	stats := p.counts
	stats.Size, stats.Queued = p.config.Size, p.queue.len()
	return stats
}

func (p *Pool) count(change func(counts *Stats)) {
	p.counting.Lock()
	defer p.counting.Unlock()
	change(&p.counts)
}

// Close cancels all jobs, stops the processes and waits for them. It may be called more than once.
func (p *Pool) Close() error {
	p.close()
	p.slots.Wait()
	return nil
}

// engineFailed wraps the reason why a process could not finish a job.
func (p *Pool) engineFailed(why error) error {
	p.count(func(c *Stats) { c.Failed++ })
	return errors.Join(speech.ErrEngineFailed, why)
}

// Config configures a Pool. Zero values take the defaults.
type Config struct {
	Command workers.Command // starts one engine process: the speechworker binary in mode "engine"
	Size    int             // engine processes; default: the number of CPUs, at least 2

	// HelloTimeout bounds the time from the start of a process to its hello; default 10 s.
	HelloTimeout time.Duration
	// JobTimeout bounds the time without output of a worker with a job; default 15 s. A worker that takes longer is
	// killed.
	JobTimeout time.Duration
	// AbandonTimeout bounds the time for a worker to finish an abandoned job before it is killed; default 250 ms. It
	// should be longer for processes that take long to start.
	AbandonTimeout time.Duration
	// GivesUp means that a process ends a job early on a KindGiveUp frame.
	GivesUp bool
	// MaxAudioBytes bounds the samples of one segment, which stay in memory until they are read; default 32 MiB, 12
	// minutes at 22,050 Hz.
	MaxAudioBytes int

	Logger *slog.Logger // default: slog.Default()
}

// exitTimeout is the time for a process to exit after its input is closed, before it is killed.
const exitTimeout = time.Second

// respawning is the policy for processes that exited without a job. A process that died of its job is replaced without
// a delay.
var respawning = supervise.Policy{
	FirstDelay: 50 * time.Millisecond, LongestDelay: 5 * time.Second, Steady: 10 * time.Second,
}

func (c Config) withDefaults() (Config, error) {
	if c.Command.Path == "" {
		return c, errors.New("the path of the speechworker binary is not set")
	}
	c.Size = cmp.Or(c.Size, max(runtime.NumCPU(), 2))
	c.HelloTimeout = cmp.Or(c.HelloTimeout, 10*time.Second)
	c.JobTimeout = cmp.Or(c.JobTimeout, 15*time.Second)
	c.AbandonTimeout = cmp.Or(c.AbandonTimeout, 250*time.Millisecond)
	c.MaxAudioBytes = cmp.Or(c.MaxAudioBytes, 32<<20)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.Command.Logger = cmp.Or(c.Command.Logger, c.Logger)
	return c, nil
}
