package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fasthttp/websocket"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/procfs/procfstest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// stop stops a process and its children, and waits until they are stopped.
func (p process) stop(t *testing.T) {
	t.Helper()
	procfstest.Stop(t, p.pid)
	for _, child := range childrenOf(p.pid) {
		_ = syscall.Kill(child.pid, syscall.SIGSTOP) // an error means that it has exited
	}
}

func TestACodecThatFailsInterruptsOnlyItsStreams(t *testing.T) {
	longtest.Only(t)
	for name, fail := range map[string]func(process, *testing.T){"killed": process.kill, "stalled": process.stop} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			codecCostsItsStreamsAlone(t, fail)
		})
	}
}

func TestASocketReportsTheDeathOfItsCodec(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given a session with more audio than the kernel buffers for its client
	s := start(t, dataFolder(t))
	k := s.openAccount("indie").talk(t, order{"format": "pcm_f32le"})
	k.say(prose(5000), 1)
	k.send(order{"type": "finish"})
	k.until("audio")

	// when the codec dies
	s.workers("codec")[0].kill(t)

	// then the client learns that the audio is incomplete
	require.NotEqual(t, websocket.CloseNormalClosure, k.end())
	require.Less(t, len([]rune(k.said())), 5000)
	s.requireSettledBooks()
}

func TestAStalledEngineDelaysOnlyItsJob(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given active clients on two engines
	s, customers, whole, load := underLoad(t, "--engines=2")

	// when one of them stalls
	engines := s.workers("engine")
	require.Len(t, engines, 2)
	engines[0].stop(t)

	// then the other one serves meanwhile
	before := load.clean()
	s.eventually(func() bool { return load.clean() >= before+enough })

	// and the stalled one is replaced, and no client gets an incomplete reply without noticing
	s.eventually(func() bool { return !engines[0].lives() && s.figure("recital_speech_engine_respawns") > 0 })
	before = load.clean()
	s.eventually(func() bool { return load.clean() >= before+enough && len(s.workers("engine")) == 2 })
	s.requireFewFailed(load, whole, customers...)
}

// The blizzard models have a separate engine. Without it the other models are served.
func TestAnInstanceServesWithoutItsSecondEngine(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given a second engine that cannot be restarted
	data := dataFolder(t)
	broken, wrapper := filepath.Join(data, "broken"), filepath.Join(data, "wrapper")
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = flite ] && [ -e '%s' ] && exit 1\nexec '%s' \"$@\"\n", broken,
		recitaldBinary.Beside("speechworker").Path())
	require.NoError(t, os.WriteFile(wrapper, []byte(script), 0o755))
	s := start(t, data, "--speechworker="+wrapper)
	c := s.openAccount("indie")
	blizzard := order{"text": threeSentences, "voice": "leah", "model": "blizzard"}
	require.Equal(t, 200, c.post(t, bytesRoute, blizzard).status)
	require.NoError(t, os.WriteFile(broken, nil, 0o600))

	// when it dies
	for _, engine := range s.workers("flite") {
		engine.kill(t)
	}
	dead := `recital_speech_engines_alive{engine="flite"} 0`
	s.eventually(func() bool { return strings.Contains(s.metrics(), dead+"\n") })

	// then the instance is ready and serves other models, and the metrics show the missing engine
	require.Equal(t, 200, fetch(t, http.MethodGet, s.address+"/ready_check").status)
	requireCounts(t, c)

	// and requests for the blizzard models are refused
	require.Equal(t, 503, c.post(t, detailedRoute, blizzard).status)

	// and when it can be restarted, they are served again
	require.NoError(t, os.Remove(broken))
	require.Equal(t, 200, c.post(t, bytesRoute, blizzard).status)
	require.NotContains(t, s.metrics(), dead)
}
