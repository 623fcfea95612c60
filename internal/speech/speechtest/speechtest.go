// Package speechtest provides tests with real engines and encoders that they share: starting these would take most of
// the time of a test.
package speechtest

import (
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/speech/audio/codec"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// Processes are two engines and an encoder for the tests of a package that run one after the other.
type Processes struct {
	Engines *worker.Pool
	Codecs  *codec.Pool

	program bintest.Program
}

// Main is workertest.Main for tests that share the processes, which it ends.
func Main(m *testing.M, p *Processes, leaks ...goleak.Option) {
	workertest.Main(closing{m, p}, &p.program, nil, leaks...)
}

type closing struct {
	*testing.M
	processes *Processes
}

func (c closing) Run() int {
	code := c.M.Run()
	if err := c.processes.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Start starts the processes unless they run.
func (p *Processes) Start(t testing.TB) {
	t.Helper()
	if p.Engines != nil {
		return
	}
	engines, err := worker.Open(worker.Config{Command: workertest.Command(p.program), Size: 2,
		Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	p.Engines = engines
	p.Codecs, err = codec.Open(codec.Config{Command: workertest.Mode(p.program, "codec"), Size: 1})
	require.NoError(t, err)
}

// StartOwn starts processes for this test only, which kills them.
func (p *Processes) StartOwn(t testing.TB) {
	t.Helper()
	require.NoError(t, p.close())
	p.Start(t)
	t.Cleanup(func() { require.NoError(t, p.close()) })
}

func (p *Processes) close() error {
	engines, codecs := p.Engines, p.Codecs
	p.Engines, p.Codecs = nil, nil
	if codecs != nil {
		codecs.Close()
	}
	if engines == nil {
		return nil
	}
	return engines.Close()
}
