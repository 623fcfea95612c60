// Package reader runs the process that reads Japanese text, cmd/japanesereader, and asks it. It is started with the
// first text and ends when there has been none for a while, because its dictionary takes about 100 MB of memory. It
// exits at the end of its input, and so dies with recitald.
package reader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/japanese"
)

// Errors of a Reader.
var (
	errTooLong = errors.New("the text is too long to be read")
	errPaused  = errors.New("the reader of Japanese could not be started a short while ago")
	errClosed  = errors.New("the reader of Japanese is closed")
)

// attempts is how often a text is read: a second time if the process has died of the first, or before it.
const attempts = 2

// Config configures a Reader. Zero values take the defaults.
type Config struct {
	Command workers.Command // starts the process: the program japanesereader
	Idle    time.Duration   // without a text, after which the process is stopped; default 10 min
	Loading time.Duration   // the longest time in which it may load its dictionary; default 1 min
	Timeout time.Duration   // the longest time in which it may read a text; default 5 s
	Pause   time.Duration   // after it could not be started, until the next try; default 10 s
	Logger  *slog.Logger    // default: slog.Default()
}

func (c Config) withDefaults() Config {
	c.Idle, c.Loading = cmp.Or(c.Idle, 10*time.Minute), cmp.Or(c.Loading, time.Minute)
	c.Timeout, c.Pause = cmp.Or(c.Timeout, 5*time.Second), cmp.Or(c.Pause, 10*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.Command.Logger = cmp.Or(c.Command.Logger, c.Logger)
	c.Command.Alone = true
	return c
}

// Stats are figures for metrics.
type Stats struct {
	Running bool
	Starts  uint64 // processes that were started
	Texts   uint64 // that were to be read
	Failed  uint64 // texts without readings
}

// Reader reads texts, one at a time. It is safe for concurrent use.
type Reader struct {
	config Config
	ctx    context.Context // ends at Close
	close  context.CancelFunc

	turn      chan struct{}    // has an element while one of the fields below is used
	process   *workers.Process // nil if none runs
	failures  int              // starts in a row
	notBefore time.Time        // of the next start
	resting   *time.Timer      // stops an idle process

	running               atomic.Bool
	starts, texts, failed atomic.Uint64
}

// New returns a Reader, which has no process until there is a text.
func New(config Config) *Reader {
	r := &Reader{config: config.withDefaults(), turn: make(chan struct{}, 1)}
	r.ctx, r.close = context.WithCancel(context.Background())
	r.resting = time.AfterFunc(r.config.Idle, r.rest)
	return r
}

// Stats returns the figures.
func (r *Reader) Stats() Stats {
	return Stats{r.running.Load(), r.starts.Load(), r.texts.Load(), r.failed.Load()}
}

// Read returns the readings of a text of at most MaxText bytes; their originals, concatenated, are the text. It waits
// for others until ctx ends. If a process dies, the text is read once more by another. No error quotes the text.
func (r *Reader) Read(ctx context.Context, text string) ([]japanese.Reading, error) {
	r.texts.Add(1)
	readings, err := r.inTurn(ctx, text)
	if err != nil {
		r.failed.Add(1)
		return nil, fmt.Errorf("reading Japanese: %w", err)
	}
	return readings, nil
}

func (r *Reader) inTurn(ctx context.Context, text string) ([]japanese.Reading, error) {
	if len(text) > MaxText {
		return nil, errTooLong
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	r.resting.Reset(r.config.Idle)
	var err error
	for range attempts {
		var readings []japanese.Reading
		if readings, err = r.attempt(text); err == nil {
			return readings, nil
		}
		if errors.Is(err, errPaused) || r.ctx.Err() != nil {
			return nil, err
		}
		r.config.Logger.Warn("the reader of Japanese has failed", "error", err)
	}
	return nil, err
}

// attempt has the process read a text.
func (r *Reader) attempt(text string) ([]japanese.Reading, error) {
	if err := r.start(); err != nil {
		return nil, err
	}
	err := r.process.In.Write(workers.Frame{Kind: kindText, Payload: []byte(text)})
	if err != nil {
		return nil, r.end(err)
	}
	payload, err := r.await(kindReadings, r.config.Timeout)
	if err != nil {
		return nil, err
	}
	readings, err := parse(payload, text)
	if err != nil {
		return nil, r.end(err)
	}
	return readings, nil
}

// start starts a process, if none runs.
func (r *Reader) start() error {
	switch {
	case r.ctx.Err() != nil:
		return errClosed
	case r.process != nil:
		return nil
	case time.Now().Before(r.notBefore):
		return errPaused
	}
	err := r.load()
	if err == nil {
		r.failures = 0
		return nil
	}
	if r.failures++; r.failures >= attempts {
		r.notBefore = time.Now().Add(r.config.Pause)
	}
	return fmt.Errorf("starting it: %w", err)
}

func (r *Reader) load() (err error) {
	if r.process, err = workers.Start(r.config.Command); err != nil {
		r.process = nil
		return err
	}
	r.starts.Add(1)
	if _, err := r.await(kindHello, r.config.Loading); err != nil {
		return err
	}
	r.running.Store(true)
	return nil
}

// await returns the payload of the next frame, which has to be of a kind and arrive in time. Otherwise the process is
// ended.
func (r *Reader) await(kind byte, within time.Duration) ([]byte, error) {
	late := time.AfterFunc(within, r.process.Kill)
	defer late.Stop()
	defer context.AfterFunc(r.ctx, r.process.Kill)()
	payload, err := receive(r.process.Out, kind)
	if err != nil {
		return nil, r.end(err)
	}
	return payload, nil
}

// end kills the process, and adds the reason of its exit to an error.
func (r *Reader) end(err error) error {
	r.process.Kill()
	<-r.process.Done()
	err = errors.Join(err, r.process.Err())
	r.process = nil
	r.running.Store(false)
	return err
}

// rest stops an idle process.
func (r *Reader) rest() {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	if r.process != nil {
		_ = r.end(nil)
	}
}

// Close stops the process, also if it is reading, and waits for its end. It may be called more than once.
func (r *Reader) Close() error {
	r.close()
	r.resting.Stop()
	r.rest()
	return nil
}
