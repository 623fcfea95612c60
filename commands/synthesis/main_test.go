package synthesis_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/internal/speech/audio/codec"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// speechworker is the real binary, built once by TestMain.
var speechworker bintest.Program

// theProcesses are shared by the tests, which run one after the other: starting them would take most of their time.
var theProcesses = &processes{}

func TestMain(m *testing.M) { workertest.Main(closing{m}, &speechworker, nil) }

// closing ends the shared processes after the tests.
type closing struct{ *testing.M }

func (c closing) Run() int {
	code := c.M.Run()
	if err := theProcesses.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// processes are real engines and encoders.
type processes struct {
	engines *worker.Pool
	codecs  *codec.Pool
}

// open starts the processes unless they run.
func (p *processes) open() (err error) {
	if p.engines == nil {
		p.engines, err = worker.Open(worker.Config{Command: workertest.Command(speechworker), Size: 2,
			Logger: slog.New(slog.DiscardHandler)})
	}
	if err == nil && p.codecs == nil {
		p.codecs, err = codec.Open(codec.Config{Command: workertest.Mode(speechworker, "codec"), Size: 1})
	}
	return err
}

func (p *processes) close() error {
	if p.codecs != nil {
		p.codecs.Close()
	}
	engines := p.engines
	p.engines, p.codecs = nil, nil
	if engines == nil {
		return nil
	}
	return engines.Close()
}

// heard returns the audio of a recording.
func heard(t testing.TB, recording synthesis.Recording) string {
	t.Helper()
	var all bytes.Buffer
	n, err := recording.Audio.WriteTo(&all)
	require.NoError(t, err)
	require.Equal(t, recording.Audio.Size(), n)
	return all.String()
}
