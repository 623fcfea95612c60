package worker

import (
	"errors"
	"log/slog"
	"runtime"
	"time"

	"github.com/recital-tts/recital/internal/process/supervise"
	"github.com/recital-tts/recital/internal/process/workers"
)

// Config configures a Pool. Zero values take the defaults.
type Config struct {
	Command workers.Command // starts one engine process: the speechworker binary in mode "engine"
	Size    int             // engine processes; default: the number of CPUs, at least 2

	// JobTimeout bounds the time from when a worker receives a segment; default 15 s. A worker that takes longer is
	// killed.
	JobTimeout time.Duration
	// MaxAudioBytes bounds the samples of one segment, which are held in memory until they are read; default 32 MiB,
	// 12 minutes at 22,050 Hz.
	MaxAudioBytes int

	Logger *slog.Logger // default: slog.Default()
}

// How long a process may take for what should take milliseconds, before it is killed.
const (
	helloTimeout   = 10 * time.Second       // from its start to its hello
	abandonTimeout = 250 * time.Millisecond // to finish an abandoned job
	exitTimeout    = time.Second            // to exit once its input is closed
)

// respawning is the policy for processes that exited without a job; one that died of its job is replaced at once.
var respawning = supervise.Policy{FirstDelay: 50 * time.Millisecond, LongestDelay: 5 * time.Second, Steady: 10 * time.Second}

func (c Config) withDefaults() (Config, error) {
	if c.Command.Path == "" {
		return c, errors.New("the path of the speechworker binary is not set")
	}
	if c.Size < 0 || c.JobTimeout < 0 || c.MaxAudioBytes < 0 {
		return c, errors.New("a limit of the speech worker pool is negative")
	}
	if c.Size == 0 {
		c.Size = max(runtime.NumCPU(), 2)
	}
	if c.JobTimeout == 0 {
		c.JobTimeout = 15 * time.Second
	}
	if c.MaxAudioBytes == 0 {
		c.MaxAudioBytes = 32 << 20
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Command.Logger == nil {
		c.Command.Logger = c.Logger
	}
	return c, nil
}
