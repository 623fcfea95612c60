// Package codec runs the processes that encode with libav, and distributes streams among them. When a process dies or
// stalls, its streams fail and it is replaced.
package codec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/codec/protocol"
)

var (
	// ErrCodecFailed means that a stream was lost, because its process died, stalled or could not encode it.
	ErrCodecFailed = domain.Refuse(domain.Unavailable, "The codec failed")
	// ErrBusy means that every process has the maximum number of streams.
	ErrBusy = domain.Refuse(domain.Unavailable, "All codec processes are full")
	// ErrClosed means that the pool is closed.
	ErrClosed = domain.Refuse(domain.Unavailable, "The codecs are shut down")
)

const (
	defaultTimeout = 10 * time.Second
	openAttempts   = 3 // a process may die while a stream opens, and another one can still open it
)

// Config configures a Pool.
type Config struct {
	Command workers.Command // speechworker in mode "codec"
	Size    int             // number of processes; 0 means one per processor
	Timeout time.Duration   // after which a process without a response counts as stalled; 0 means 10 s
	Logger  *slog.Logger    // nil discards messages
}

func (c Config) withDefaults() Config {
	c.Size = cmp.Or(c.Size, runtime.NumCPU())
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.Command.Logger = cmp.Or(c.Command.Logger, c.Logger)
	return c
}

// Pool is a set of codec processes. It is safe for concurrent use.
type Pool struct {
	config  Config
	stop    context.CancelFunc
	running sync.WaitGroup // supervisors

	mu       sync.Mutex
	procs    []*process    // live processes
	changed  chan struct{} // closed and replaced when procs changes
	restarts uint64
	closed   bool
}

var _ audio.Encoders = (*Pool)(nil)

// Stats has the current state of a pool.
type Stats struct {
	Size     int    // configured number of processes
	Running  int    // processes that accept streams
	Streams  int    // open streams
	Restarts uint64 // processes replaced since Open
}

// Open starts the processes, and returns an error unless all of them can encode.
func Open(config Config) (*Pool, error) {
	config = config.withDefaults()
	first := make([]*process, config.Size)
	var starting sync.WaitGroup
	errs := make([]error, config.Size)
	for i := range first {
		starting.Go(func() { first[i], errs[i] = startProcess(config) })
	}
	starting.Wait()
	if err := errors.Join(errs...); err != nil {
		for _, p := range first {
			p.close()
		}
		return nil, fmt.Errorf("starting the codec processes: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	pool := &Pool{config: config, stop: stop, procs: first, changed: make(chan struct{})}
	for _, p := range first {
		pool.running.Go(func() { pool.supervise(ctx, p) })
	}
	return pool, nil
}

// Open starts a stream in one of protocol.Codecs, or in PCMS16LE to change only the rate. If no process is running, it
// waits for one until ctx ends, but at most for the pool's timeout.
func (p *Pool) Open(ctx context.Context, spec audio.Spec, inputRate int) (audio.Encoder, error) {
	opening := protocol.Opening{Format: spec.Format, SampleRate: spec.SampleRate, InputRate: inputRate}
	if err := opening.Check(); err != nil {
		return nil, err
	}
	st, err := p.openStream(ctx, opening)
	if err != nil {
		return nil, fmt.Errorf("opening a stream of %s: %w", spec.Format, err)
	}
	return &encoder{pool: p, opening: opening, current: st}, nil
}

func (p *Pool) openStream(ctx context.Context, opening protocol.Opening) (st *stream, err error) {
	for range openAttempts {
		if st, err = p.open(ctx, opening); err == nil {
			return st, nil
		}
		if !errors.Is(err, ErrCodecFailed) || ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

func (p *Pool) open(ctx context.Context, opening protocol.Opening) (*stream, error) {
	proc, err := p.leastLoaded(ctx)
	if err != nil {
		return nil, err
	}
	return proc.open(ctx, opening)
}

// leastLoaded returns the live process with the fewest streams.
func (p *Pool) leastLoaded(ctx context.Context) (*process, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.config.Timeout,
		fmt.Errorf("no codec process is running: %w", ErrCodecFailed))
	defer cancel()
	for {
		p.mu.Lock()
		procs, changed, closed := p.procs, p.changed, p.closed
		p.mu.Unlock()
		if closed {
			return nil, ErrClosed
		}
		if proc := fewestStreams(procs); proc != nil {
			return proc, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func fewestStreams(procs []*process) *process {
	var least *process
	fewest := 0
	for _, proc := range procs {
		if load, alive := proc.load(); alive && (least == nil || load < fewest) {
			least, fewest = proc, load
		}
	}
	return least
}

// Healthy reports whether a process is running, so that Open does not have to wait.
func (p *Pool) Healthy() bool { return p.Stats().Running > 0 }

// Stats returns the current state of the pool.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := Stats{Size: p.config.Size, Restarts: p.restarts}
	for _, proc := range p.procs {
		streams, alive := proc.load()
		stats.Streams += streams
		if alive {
			stats.Running++
		}
	}
	return stats
}

// Close stops all processes and waits for them. Open streams fail with ErrCodecFailed.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.announce()
	p.mu.Unlock()
	p.stop()
	p.running.Wait()
}
