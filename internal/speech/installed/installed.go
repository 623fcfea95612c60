// Package installed runs the engines of voices that operators have installed, each model in processes of its own.
// Voices that have the same model share them.
package installed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
	Runtime      string // absolute path of ONNX Runtime's library; no voice runs while the file is missing
	Speechworker string // the binary; the neuralworker is in the same folder
	SampleRate   int    // of all engines, in Hz
	// Memory bounds the memory of all voices' processes, in bytes, as estimated by voicepack.Voice.Memory.
	Memory int64
	// Patience is the maximum wait of a new stream for one that ends; default 5 s.
	Patience time.Duration
	Logger   *slog.Logger
	// Japanese reads the sentences with which Japanese voices are measured; if nil, they stay as written.
	Japanese speech.JapaneseReader
}

// Engines implements speech.InstalledEngines. It is safe for concurrent use.
type Engines struct {
	config Config
	places *places

	opening sync.Mutex // of Open and Close
	mu      sync.RWMutex
	engines map[string]*engine // by the voice's id
	models  map[string]*model  // by their hashes
	ended   worker.Stats       // counts of models that have ended
	tenants map[*speech.Listener]*tenant

	waiting                                  atomic.Int64
	refused, substituted, passedOn, streamed atomic.Uint64
}

// New returns an Engines without running voices.
func New(config Config) *Engines {
	if config.Patience == 0 {
		config.Patience = 5 * time.Second
	}
	return &Engines{
		config: config, places: newPlaces(voicepack.Share * float64(runtime.NumCPU())),
		engines: map[string]*engine{}, models: map[string]*model{}, tenants: map[*speech.Listener]*tenant{},
	}
}

// HasRuntime reports whether ONNX Runtime's library exists. It may be installed while recitald runs.
func (e *Engines) HasRuntime() bool {
	_, err := os.Stat(e.config.Runtime)
	return err == nil
}

// Engine implements speech.InstalledEngines.
func (e *Engines) Engine(of speech.Installed) (speech.Engine, bool) {
	running, found := e.engine(of.ID)
	if !found || of.Moved != nil && of.Moved.Package != running.voice.Package {
		return nil, false
	}
	return running, true
}

func (e *Engines) engine(id string) (*engine, bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	running, found := e.engines[id]
	return running, found
}

// Open starts a voice that is not running. It waits until the voice's model is loaded, unless another voice has loaded
// it. It refuses a voice if too little memory is left.
func (e *Engines) Open(v voicepack.Voice) error {
	e.opening.Lock()
	defer e.opening.Unlock()
	if running, found := e.engine(v.ID); found {
		if running.voice.Folder == v.Folder {
			return nil
		}
		if err := e.end(v.ID); err != nil {
			return err
		}
	}
	m, err := e.modelOf(v)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.engines[v.ID] = &engine{of: e, model: m, voice: v}
	e.adapt(m)
	return nil
}

// model is a running model.
type model struct {
	hash      string
	pool      *worker.Pool
	processes int
	memory    int64 // of its processes, in bytes
	share     *share
}

// modelOf returns the model of a voice. It starts the model if it is not running.
func (e *Engines) modelOf(v voicepack.Voice) (*model, error) {
	hash, err := v.Model()
	if err != nil {
		return nil, err
	}
	if m, found := e.models[hash]; found {
		return m, nil
	}
	each, processes, err := e.room(v)
	if err != nil {
		return nil, err
	}
	pool, err := e.pool(v, processes)
	if err != nil {
		return nil, err
	}
	m := &model{hash: hash, pool: pool, processes: processes, memory: each * int64(processes), share: e.places.open()}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.models[hash] = m
	return m, nil
}

// adapt sets a model's number of streams to that of its most expensive voice. Processes that are restarted load the
// model from the folder of a remaining voice.
func (e *Engines) adapt(m *model) {
	cost := 0.0
	for _, running := range e.engines {
		if running.model == m {
			cost = max(cost, running.voice.Cost)
			m.pool.SetCommand(e.command(running.voice))
		}
	}
	e.places.resize(m.share, voicepack.Streams(cost, m.processes), cost)
}

// mostProcesses is the maximum number of processes of a model, each with a copy of it.
const mostProcesses = 4

// room returns the number of a voice's processes that fit into the memory, and the bytes of each.
func (e *Engines) room(v voicepack.Voice) (each int64, processes int, err error) {
	if !e.HasRuntime() {
		return 0, 0, voicepack.ErrNoRuntime
	}
	if each, err = v.Memory(); err != nil {
		return 0, 0, err
	}
	left := e.config.Memory
	for _, running := range e.models {
		left -= running.memory
	}
	if left < each {
		return 0, 0, fmt.Errorf("it needs %d MiB of memory, and %d MiB of RECITAL_NEURAL_MEMORY are left", each>>20,
			max(left, 0)>>20)
	}
	return each, int(min(left/each, int64(runtime.NumCPU()), mostProcesses)), nil
}

func (e *Engines) pool(v voicepack.Voice, size int) (*worker.Pool, error) {
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
	command := Command(e.config.Speechworker, e.config.Runtime, v.Folder)
	command.Logger = e.config.Logger
	return command
}

// Command returns the command that starts neuralworker, which is in speechworker's folder, with the voice in a folder.
// runtime is the path of ONNX Runtime.
func Command(speechworker, runtime, folder string) workers.Command {
	return workers.Command{
		Path:  filepath.Join(filepath.Dir(speechworker), "neuralworker"),
		Args:  []string{"--runtime", runtime, "--phonemes", speechworker, folder},
		Alone: true, Env: []string{trim},
	}
}

// trim has the C library return free memory to the system early. It keeps several megabytes of a loaded model
// otherwise.
const trim = "MALLOC_TRIM_THRESHOLD_=131072"

// loadTimeout bounds the time to load a voice, which takes a second or two on an idle machine.
const loadTimeout = time.Minute

// jobTimeout bounds the time for a sentence. Half a minute of audio takes many seconds on a busy machine.
const jobTimeout = 2 * time.Minute

// abandonTimeout bounds the time in which a process must end a cancelled segment. Another process would take as long to
// load the voice.
const abandonTimeout = 2 * time.Second

// Close ends a voice after the sentence that it is speaking.
func (e *Engines) Close(id string) error {
	e.opening.Lock()
	defer e.opening.Unlock()
	return e.end(id)
}

// end ends a voice, and its model if no other voice has it.
func (e *Engines) end(id string) error {
	e.mu.Lock()
	running, found := e.engines[id]
	delete(e.engines, id)
	isLast := found
	for _, other := range e.engines {
		isLast = isLast && other.model != running.model
	}
	if found && !isLast {
		running.ended.Store(true)
		e.adapt(running.model)
	}
	e.mu.Unlock()
	if !isLast {
		return nil
	}
	m := running.model
	err := m.pool.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.models, m.hash)
	e.places.close(m.share)
	e.ended = counted(e.ended, m.pool.Stats())
	return err
}

// CloseAll ends all voices.
func (e *Engines) CloseAll() (err error) {
	for id := range e.Running() {
		err = errors.Join(err, e.Close(id))
	}
	return err
}

// Running returns, by id, the number of streams that each running voice sustains while no other voice speaks.
func (e *Engines) Running() map[string]int {
	e.mu.RLock()
	defer e.mu.RUnlock()
	streams := map[string]int{}
	for id, running := range e.engines {
		streams[id] = e.places.total(running.model.share)
	}
	return streams
}

// engine is the engine of a voice.
type engine struct {
	of    *Engines
	model *model
	voice voicepack.Voice
	ended atomic.Bool
}

// SampleRate implements speech.Engine.
func (e *engine) SampleRate() int { return e.model.pool.SampleRate() }

// Speak implements speech.Engine. A stream has a place from its first job to its end, so that new streams do not slow
// down those in progress.
func (e *engine) Speak(ctx context.Context, job speech.Job) (speech.Utterance, error) {
	if e.ended.Load() {
		return nil, speech.ErrEngineClosed
	}
	if !slices.Contains(e.voice.Languages, job.Language) {
		return nil, fmt.Errorf("%w: the voice does not speak the language", speech.ErrRefused)
	}
	if listener := speech.ListenerOf(ctx); listener != nil {
		if err := e.of.admit(ctx, listener, e.model.share, job.First); err != nil {
			return nil, err
		}
	}
	job.Voice.Variant, job.Voice.Timbre = filepath.Base(e.voice.Folder), nil
	return e.model.pool.Speak(ctx, job)
}
