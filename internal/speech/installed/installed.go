// Package installed runs the engines of voices that operators have installed, each voice in processes of its own.
package installed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/voicepack"
	"github.com/recital-tts/recital/internal/speech/worker"
)

// Config configures Engines.
type Config struct {
	Runtime      string // the library of ONNX Runtime, an absolute path; while there is none, no voice runs
	Speechworker string // the binary, beside which the neuralworker lies
	SampleRate   int    // of all engines, in Hz
	// Memory bounds what the processes of all voices may take, in bytes, as voicepack.Voice.Memory estimates it.
	Memory int64
	// Patience is how long a new stream waits for one that ends; default 5 s.
	Patience time.Duration
	Logger   *slog.Logger
}

// Engines implements speech.InstalledEngines. It is safe for concurrent use.
type Engines struct {
	config Config

	opening sync.Mutex // of whoever opens a voice
	mu      sync.RWMutex
	engines map[string]*engine // by the voice's id
	ended   worker.Stats       // what the voices that ended had counted

	waiting                                  atomic.Int64
	refused, substituted, passedOn, streamed atomic.Uint64
}

// New returns an Engines that runs nothing yet.
func New(config Config) *Engines {
	if config.Patience == 0 {
		config.Patience = 5 * time.Second
	}
	return &Engines{config: config, engines: map[string]*engine{}}
}

// HasRuntime reports whether the library of ONNX Runtime is there. It may come while recitald works.
func (e *Engines) HasRuntime() bool {
	_, err := os.Stat(e.config.Runtime)
	return err == nil
}

// Engine implements speech.InstalledEngines.
func (e *Engines) Engine(of speech.Installed) (speech.Engine, bool) {
	running, found := e.find(of.ID)
	if !found || of.Moved != nil && of.Moved.Package != running.voice.Package {
		return nil, false
	}
	return running, true
}

func (e *Engines) find(id string) (*engine, bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	running, found := e.engines[id]
	return running, found
}

// Open runs a voice, unless it runs. It takes as long as the voice needs to be loaded. A voice for which not enough
// memory is left is refused.
func (e *Engines) Open(v voicepack.Voice) error {
	e.opening.Lock()
	defer e.opening.Unlock()
	if running, found := e.find(v.ID); found {
		if running.voice.Folder == v.Folder {
			return nil
		}
		if err := e.Close(v.ID); err != nil {
			return err
		}
	}
	each, processes, err := e.room(v)
	if err != nil {
		return err
	}
	pool, err := e.pool(v, processes)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.engines[v.ID] = &engine{
		of: e, pool: pool, voice: v, patience: e.config.Patience, memory: each * int64(processes),
		places:   newPlaces(voicepack.Streams(v.Cost, processes)),
		admitted: map[*speech.Listener]*admission{},
	}
	return nil
}

// mostProcesses bounds the processes of a voice, of which each holds its model.
const mostProcesses = 4

// room returns how many processes of a voice find room in the memory, and what each takes in bytes.
func (e *Engines) room(v voicepack.Voice) (each int64, processes int, err error) {
	if !e.HasRuntime() {
		return 0, 0, voicepack.ErrNoRuntime
	}
	if each, err = v.Memory(); err != nil {
		return 0, 0, err
	}
	left := e.config.Memory
	e.mu.RLock()
	for _, running := range e.engines {
		left -= running.memory
	}
	e.mu.RUnlock()
	if left < each {
		return 0, 0, fmt.Errorf("it needs %d MiB of memory, and %d MiB of RECITAL_NEURAL_MEMORY are left", each>>20,
			max(left, 0)>>20)
	}
	return each, int(min(left/each, int64(runtime.NumCPU()), mostProcesses)), nil
}

func (e *Engines) pool(v voicepack.Voice, size int) (*worker.Pool, error) {
	if !e.HasRuntime() {
		return nil, voicepack.ErrNoRuntime
	}
	pool, err := worker.Open(worker.Config{
		Size: size, HelloTimeout: loadTimeout, JobTimeout: jobTimeout, AbandonTimeout: abandonTimeout,
		GivesUp: true, Logger: e.config.Logger, Command: e.command(v),
	})
	if err != nil {
		return nil, fmt.Errorf("running an installed voice: %w", err)
	}
	if rate := pool.SampleRate(); rate != e.config.SampleRate {
		return nil, errors.Join(
			fmt.Errorf("the voice speaks at %d Hz, and %d Hz is supported", rate, e.config.SampleRate), pool.Close())
	}
	return pool, nil
}

// command returns the command that starts a process of a voice.
func (e *Engines) command(v voicepack.Voice) workers.Command {
	return workers.Command{
		Path: filepath.Join(filepath.Dir(e.config.Speechworker), "neuralworker"),
		Args: []string{
			"--runtime", e.config.Runtime, "--phonemes", e.config.Speechworker, "--voice", v.ID,
			"--languages", strings.Join(v.Languages, ","), v.Folder,
		},
		Logger: e.config.Logger, Alone: true,
	}
}

// loadTimeout bounds the time in which a voice is loaded: a second or two, on a machine that has time.
const loadTimeout = time.Minute

// jobTimeout bounds the time for a segment, whose audio lasts up to half a minute.
const jobTimeout = time.Minute

// abandonTimeout bounds the time in which a process ends a segment that nobody listens to any more, which it is told.
// Another process would take as long to load the voice.
const abandonTimeout = 2 * time.Second

// Close ends a voice, and what it is saying.
func (e *Engines) Close(id string) error {
	e.mu.Lock()
	running, found := e.engines[id]
	delete(e.engines, id)
	e.mu.Unlock()
	if !found {
		return nil
	}
	err := running.pool.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = counted(e.ended, running.pool.Stats())
	return err
}

// CloseAll ends all voices.
func (e *Engines) CloseAll() (err error) {
	for id := range e.Running() {
		err = errors.Join(err, e.Close(id))
	}
	return err
}

// Running returns how many streams each running voice carries at the same time, by its id.
func (e *Engines) Running() map[string]int {
	e.mu.RLock()
	defer e.mu.RUnlock()
	streams := map[string]int{}
	for id, running := range e.engines {
		streams[id] = running.places.total
	}
	return streams
}

// engine is the engine of a voice.
type engine struct {
	of       *Engines
	pool     *worker.Pool
	voice    voicepack.Voice
	memory   int64 // bytes that its processes take
	patience time.Duration
	places   *places

	mu       sync.Mutex
	admitted map[*speech.Listener]*admission
}

// admission is the place of a listener, once it is decided.
type admission struct {
	decided chan struct{}
	err     error
}

// SampleRate implements speech.Engine.
func (e *engine) SampleRate() int { return e.pool.SampleRate() }

// Speak implements speech.Engine. A stream has a place from its first job to its end, so that those in progress are not
// slowed down by new ones.
func (e *engine) Speak(ctx context.Context, job speech.Job) (speech.Utterance, error) {
	if listener := speech.ListenerOf(ctx); listener != nil {
		if err := e.admit(ctx, listener, job.First); err != nil {
			return nil, err
		}
	}
	job.Voice.Variant, job.Voice.Timbre = e.voice.ID, nil
	return e.pool.Speak(ctx, job)
}

// Admit implements speech.InstalledEngines.
func (e *Engines) Admit(ctx context.Context, id string) bool {
	running, found := e.find(id)
	listener := speech.ListenerOf(ctx)
	if !found || listener == nil || !running.places.try(listener.Account) {
		e.passedOn.Add(1)
		return false
	}
	e.streamed.Add(1)
	a := &admission{decided: make(chan struct{})}
	close(a.decided)
	running.mu.Lock()
	running.admitted[listener] = a
	running.mu.Unlock()
	context.AfterFunc(ctx, func() { running.forget(listener) })
	return true
}

// admit waits for a place; that of a text of which something was spoken already, as long as it takes.
func (e *engine) admit(ctx context.Context, listener *speech.Listener, first bool) error {
	e.mu.Lock()
	a, known := e.admitted[listener]
	if !known {
		a = &admission{decided: make(chan struct{})}
		e.admitted[listener] = a
	}
	e.mu.Unlock()
	if known {
		select {
		case <-a.decided:
			return a.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	e.of.waiting.Add(1)
	a.err = e.wait(ctx, listener.Account, first)
	e.of.waiting.Add(-1)
	context.AfterFunc(ctx, func() { e.forget(listener) })
	close(a.decided)
	return a.err
}

// wait takes a place.
func (e *engine) wait(ctx context.Context, account string, first bool) error {
	patience := e.patience
	if !first {
		patience = 0
	}
	err := e.places.wait(ctx, account, first, patience)
	switch {
	case err == nil:
		e.of.streamed.Add(1)
	case errors.Is(err, speech.ErrEngineBusy):
		e.of.refused.Add(1)
	}
	return err
}

// forget gives the place of a listener back.
func (e *engine) forget(listener *speech.Listener) {
	e.mu.Lock()
	a := e.admitted[listener]
	delete(e.admitted, listener)
	e.mu.Unlock()
	if a != nil && a.err == nil {
		e.places.give(listener.Account)
	}
}
