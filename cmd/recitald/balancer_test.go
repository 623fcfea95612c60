package main_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/bintest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// balancer is HAProxy with the configuration of the deployment, in front of instances on this machine.
type balancer struct {
	t              *testing.T
	address, stats string
}

func startBalancer(t *testing.T, first, second string) *balancer {
	t.Helper()
	b := &balancer{t: t, address: "http://" + freeAddress(t), stats: "http://" + freeAddress(t)}
	config := read(t, "../../deploy/compose/haproxy.cfg")
	for from, to := range map[string]string{
		"bind :8080":          "bind " + strings.TrimPrefix(b.address, "http://"),
		"bind 127.0.0.1:8404": "bind " + strings.TrimPrefix(b.stats, "http://") + "\n    stats enable\n    stats uri /stats",
		"recitald-1:8080":     first,
		"recitald-2:8080":     second,
		" resolvers docker init-addr last,libc,none": "",
	} {
		require.Contains(t, config, from)
		config = strings.ReplaceAll(config, from, to)
	}
	path := filepath.Join(t.TempDir(), "haproxy.cfg")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	command := exec.Command("haproxy", "-db", "-f", path)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	output, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	command.Stdout, command.Stderr = output, output
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		_ = output.Close()
		if t.Failed() {
			t.Log(read(t, output.Name()))
		}
	})
	return b
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// awaitUp waits until the balancer uses the given number of instances.
func (b *balancer) awaitUp(instances int) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		response, err := http.Get(b.stats + "/stats;csv")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		table, err := io.ReadAll(response.Body)
		return err == nil && len(serverUp.FindAll(table, -1)) == instances
	}, patience, pause)
}

var serverUp = regexp.MustCompile(`(?m)^recitald,recitald-\d+,.*,UP,`)

// Clients of the balancer do not notice a rolling restart.
func TestInstancesAreRestartedInTurnWithoutAFailedRequest(t *testing.T) {
	longtest.Only(t)
	bintest.Tool(t, "haproxy")
	// given two instances behind a balancer
	on := outsideServices(t)
	addresses := []string{freeAddress(t), freeAddress(t)}
	running := make([]*server, 2)
	begin := func(i int, data string) {
		running[i] = on.launchIn(t, data, "--http-addr="+addresses[i])
		running[i].awaitRunning()
	}
	for i := range running {
		begin(i, newFolder(t))
	}
	b := startBalancer(t, addresses[0], addresses[1])
	b.awaitUp(2)
	c := running[0].openAccount("indie")
	c = c.at(&server{t: t, address: b.address})

	// and clients that read, synthesise, and take seconds for a stream
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var clients sync.WaitGroup
	var requests, streams atomic.Int64
	for range 4 {
		clients.Go(func() {
			for ctx.Err() == nil {
				_, err := send(c.request(http.MethodGet, "/v1/account", nil))
				assert.NoError(t, err)
				_, err = c.speak(50)
				assert.NoError(t, err)
				requests.Add(2)
				time.Sleep(pause) // without it they would starve the restarting instance
			}
		})
	}
	for range 2 {
		clients.Go(func() {
			for ctx.Err() == nil {
				assert.NoError(t, c.streamSlowly(5*time.Second))
				streams.Add(1)
			}
		})
	}

	// when they are restarted in turn
	for i, s := range running {
		before := requests.Load()
		streamed := streams.Load()
		s.eventually(func() bool { return requests.Load() >= before+20 && streams.Load() > streamed })
		require.NoError(t, syscall.Kill(s.command.Process.Pid, syscall.SIGTERM))
		s.awaitEnd()
		require.NoError(t, s.err, read(t, s.log))
		begin(i, s.data)
		b.awaitUp(2)
	}
	stop()
	clients.Wait()
	t.Logf("%d requests and %d streams, none failed", requests.Load(), streams.Load())
}

// An outage of Postgres makes all instances unready at once. The balancer still routes speech to them, and other
// requests are refused with a reason and Retry-After.
func TestTheBalancerServesWhatUnreadyInstancesCan(t *testing.T) {
	longtest.Only(t)
	bintest.Tool(t, "haproxy")
	// given two instances behind a balancer
	pg := outsideServices(t).detachable(t)
	pg.attach()
	addresses := []string{freeAddress(t), freeAddress(t)}
	first := pg.services.launchIn(t, newFolder(t), "--http-addr="+addresses[0])
	second := pg.services.launchIn(t, newFolder(t), "--http-addr="+addresses[1])
	first.awaitRunning()
	second.awaitRunning()
	b := startBalancer(t, addresses[0], addresses[1])
	b.awaitUp(2)
	c := first.openAccount("indie").at(&server{t: t, address: b.address})

	// when Postgres goes away
	pg.detach()
	first.eventually(func() bool {
		pg.hangUp() // again and again: one may have been on its way
		return first.lacks("Postgres")() && second.lacks("Postgres")()
	})
	b.awaitUp(0)

	// then speech continues, and reads get a Retry-After
	_, err := c.speak(100)
	require.NoError(t, err)
	refused := do(t, c.request(http.MethodGet, "/v1/account", nil))
	require.Equal(t, 503, refused.status, refused.text())
	require.NotEmpty(t, refused.header.Get("Retry-After"))

	// when it is back, then both instances serve everything
	pg.attach()
	b.awaitUp(2)
	first.eventually(func() bool { return c.usage(t) >= 100 })
}

// streamSlowly reads a whole stream, over the given time.
func (c customer) streamSlowly(lasting time.Duration) error {
	response, err := http.DefaultClient.Do(c.request(http.MethodPost, bytesRoute,
		order{"text": prose(2000), "voice": "leah", "format": "pcm_s16le"}.encode()))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("a stream is answered with %s", response.Status)
	}
	const pieces = 50
	buffer := make([]byte, 16<<10)
	for range pieces {
		if _, err := io.ReadFull(response.Body, buffer); err != nil {
			return fmt.Errorf("a stream was cut: %w", err)
		}
		time.Sleep(lasting / pieces)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
