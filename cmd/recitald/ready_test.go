package main_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/process/procfs/procfstest"
	"github.com/recital-tts/recital/internal/testing/bintest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// missing returns the missing parts in the reply of /ready_check, none if the instance is ready.
func (s *server) missing() []string {
	s.t.Helper()
	answer := fetch(s.t, http.MethodGet, s.address+"/ready_check")
	var state struct {
		Missing []string `json:"missing"`
	}
	answer.decode(s.t, &state)
	require.Equal(s.t, answer.status == http.StatusOK, len(state.Missing) == 0, answer.text())
	return state.Missing
}

func (s *server) lacks(name string) func() bool {
	return func() bool { return slices.Contains(s.missing(), name) }
}

// through returns the services with an event store that can be cut off.
func (on services) through(t *testing.T) (services, *toxiproxy.Proxy) {
	t.Helper()
	address, _, _ := strings.Cut(strings.TrimPrefix(on.events, "esdb://"), "?")
	proxy := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), "store",
		"127.0.0.1:0", address)
	require.NoError(t, proxy.Start())
	t.Cleanup(proxy.Stop)
	on.events = "esdb://" + proxy.Listen + "?tls=false"
	return on, proxy
}

func TestWhileTheEventStoreIsAway(t *testing.T) {
	t.Parallel()
	// given an account that is in use
	on, store := outsideServices(t).through(t)
	s := on.launch(t)
	s.awaitRunning()
	s.eventually(s.isReady)
	c := s.openAccount("indie")
	_, err := c.speak(100)
	require.NoError(t, err)
	require.EqualValues(t, 100, c.usage(t))

	// when the event store goes away, then the instance is not ready and names it
	store.Stop()
	s.eventually(s.lacks("event store"))

	// and reads from Postgres are served, while appends are refused
	require.EqualValues(t, 100, c.usage(t))
	refused := c.post(t, detailedRoute, order{"text": "Hello.", "voice": "leah"})
	require.Equal(t, 503, refused.status, refused.text())
	require.NotEmpty(t, refused.header.Get("Retry-After"))

	// and when it is back, the instance is ready
	require.NoError(t, store.Start())
	s.eventually(s.isReady)
	s.eventually(func() bool { _, err := c.speak(10); return err == nil })
}

func TestAFrozenInstanceAcceptsNoRevokedKey(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	on := outsideServices(t)
	first, second := on.launchTwo(t)
	second.eventually(second.isReady)
	for range 3 {
		c := first.openAccount("indie")
		require.Zero(t, c.at(second).usage(t))

		// when an instance is frozen for longer than it may trust its state, and a key is revoked meanwhile
		procfstest.Stop(t, second.command.Process.Pid)
		over := time.After(200 * time.Millisecond) // twice as long
		requireOK(t, do(t, c.request(http.MethodDelete, "/v1/account/api_key/"+account.MaskAPIKey(c.key), nil)))
		<-over
		require.NoError(t, syscall.Kill(second.command.Process.Pid, syscall.SIGCONT))

		// then the key is refused from the first request on
		for range 5 {
			answer := do(t, c.at(second).request(http.MethodGet, "/v1/account", nil))
			require.Equal(t, 401, answer.status, answer.text())
		}
	}
}

// The backends of Postgres are stopped, so that queries hang.
func TestWhilePostgresHangs(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := start(t, dataFolder(t))
	c := s.operator()
	s.eventually(func() bool { return len(s.missing()) == 0 })
	backends := childrenOf(s.postmaster().pid)
	require.NotEmpty(t, backends)
	for _, b := range backends {
		procfstest.Stop(t, b.pid)
	}
	// A read has its own deadline, long before the 30 s of other requests. The status depends on whether a connection was
	// free.
	asked := time.Now()
	answer := once(t, c.request(http.MethodGet, "/v1/account", nil))
	require.Less(t, time.Since(asked), 20*time.Second)
	if answer.status != http.StatusOK {
		require.Contains(t, []int{503, 504}, answer.status, answer.text())
		require.NotEmpty(t, answer.header.Get("Retry-After"))
	}
	// The backends stay stopped, and are replaced.
	s.eventually(func() bool {
		return !slices.ContainsFunc(backends, process.lives) && len(s.missing()) == 0 && c.usageKnown(t)
	})
}

func (c customer) usageKnown(t *testing.T) bool {
	return do(t, c.request(http.MethodGet, "/v1/account", nil)).status == http.StatusOK
}

func TestAFullDiskIsReported(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given an event node on a small disk
	data := dataFolder(t)
	disk := filepath.Join(data, "eventnode")
	require.NoError(t, os.MkdirAll(disk, 0o700))
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=512m"); err != nil {
		bintest.Missing(t, "mounting a small disk: "+err.Error())
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	s := start(t, data)
	c := s.operator()
	_, err := c.speak(10)
	require.NoError(t, err)
	s.eventually(func() bool { return len(s.missing()) == 0 })

	// when it is full, then appends fail, and the instance is not ready, with the reason
	filler := filepath.Join(disk, "filler")
	var stat syscall.Statfs_t
	require.NoError(t, syscall.Statfs(disk, &stat))
	file, err := os.Create(filler)
	require.NoError(t, err)
	_, err = file.Write(make([]byte, int64(stat.Bavail)*stat.Bsize-1<<20))
	require.NoError(t, err)
	require.NoError(t, file.Close())
	s.eventually(func() bool {
		hello := order{"text": "Hello.", "voice": "leah"}
		return once(t, c.request(http.MethodPost, detailedRoute, hello.encode())).status == 503
	})
	s.eventually(s.lacks("appends to the event store"))
	require.True(t, c.usageKnown(t), "reads are served")

	// and when there is space, it is ready without any request that appends
	require.NoError(t, os.Remove(filler))
	s.eventually(func() bool { return len(s.missing()) == 0 })
	require.Regexp(t, `recital_alerts_total\{reason="no_appends",source="log"\} [1-9]`, s.metrics())
	s.eventually(func() bool {
		return strings.Contains(s.metrics(), `recital_alert_open{reason="no_appends",source="log"} 0`)
	})
	_, err = c.speak(10)
	require.NoError(t, err)
}

func TestDrain(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given an instance with a stream in progress
	s := start(t, dataFolder(t), "--drain-delay=3s")
	s.eventually(func() bool { return len(s.missing()) == 0 })
	c := s.operator()
	held := hold(t, c, long())

	// when it is drained, then it is immediately not ready, but still serves
	require.Equal(t, 200, fetch(t, http.MethodPost, s.address+"/drain").status)
	require.JSONEq(t, `{"status":"draining"}`, fetch(t, http.MethodGet, s.address+"/ready_check").text())
	_, err := c.speak(10)
	require.NoError(t, err)

	// then it accepts no connections, and finishes the stream
	s.eventually(func() bool {
		response, err := http.Get(s.address + "/health_check")
		if err == nil {
			_ = response.Body.Close()
		}
		return err != nil
	})
	whole := held.rest()
	require.NoError(t, whole.err)
	require.False(t, s.hasEnded())
	require.NotEmpty(t, s.metrics(), "the admin address is served")

	// and it ends when it is stopped
	s.interrupt()
	require.NoError(t, s.err)
}
