package web_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
)

const (
	askOK    = "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n"
	askCheck = "GET /check HTTP/1.1\r\nHost: x\r\n\r\n"
)

// crowd is a server with a route with calls that block until letGo is closed.
type crowd struct {
	*site
	running chan struct{} // receives a value for each started call
	letGo   chan struct{}
}

func crowded(t *testing.T, limits web.Limits) *crowd {
	c := &crowd{running: make(chan struct{}, 10_000), letGo: make(chan struct{})}
	c.site = start(t, web.Config{Limits: limits, Routes: []web.Route{
		web.Get("/ok", ok, web.Public()),
		web.Get("/check", ok, web.Public(), web.WhileDraining()),
		web.Post("/large", size, web.Public(), web.MaxBody(1<<20)),
		web.Get("/busy", func(call *web.Call, _ none) (web.Reply, error) {
			c.running <- struct{}{}
			select {
			case <-c.letGo:
				return web.JSON("done"), nil
			case <-call.Done():
				return web.Reply{}, call.Err()
			}
		}, web.Public(), web.Timeout(time.Hour)),
	}})
	return c
}

// from opens a connection from one of this machine's addresses.
func (s *site) from(address string) *peer {
	s.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	conn, err := dialer.Dial("tcp", s.addr)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { conn.Close() })
	return &peer{Conn: conn, t: s.t, reader: newReader(conn)}
}

// peer is one connection of a client.
type peer struct {
	net.Conn
	t      testing.TB
	reader *bufio.Reader
}

func (p *peer) send(text string) {
	p.t.Helper()
	_, err := io.WriteString(p, text)
	require.NoError(p.t, err)
}

// ask sends a request and returns its reply, nil if the connection was closed instead.
func (p *peer) ask(text string) *http.Response {
	p.t.Helper()
	if _, err := io.WriteString(p, text); err != nil {
		return nil
	}
	return p.reply()
}

func (p *peer) reply() *http.Response {
	p.t.Helper()
	require.NoError(p.t, p.SetReadDeadline(time.Now().Add(time.Minute)))
	response, err := http.ReadResponse(p.reader, nil)
	if err != nil {
		require.NotErrorIs(p.t, err, os.ErrDeadlineExceeded, "there was no reply")
		return nil
	}
	body, err := io.ReadAll(response.Body)
	require.NoError(p.t, err)
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response
}

func (p *peer) requireOK(text string) {
	p.t.Helper()
	response := p.ask(text)
	require.NotNil(p.t, response, "the connection was closed")
	require.Equal(p.t, 200, response.StatusCode)
}

// occupy makes blocking calls.
func (c *crowd) occupy(address string, connections int) (peers []*peer) {
	c.t.Helper()
	for range connections {
		peers = append(peers, c.occupyOne(address))
	}
	return peers
}

// occupyOne retries a refused call: a connection may not count as idle immediately after its reply.
func (c *crowd) occupyOne(address string) *peer {
	c.t.Helper()
	for {
		p := c.from(address)
		p.send("GET /busy HTTP/1.1\r\nHost: x\r\n\r\n")
		refused := make(chan error, 1)
		go func() {
			_, err := p.reader.Peek(1)
			refused <- err
		}()
		select {
		case <-c.running:
			require.NoError(c.t, p.SetReadDeadline(time.Now()))
			<-refused
			return p
		case <-refused:
			_ = p.Close()
		}
	}
}

func TestABusyServerRefusesOnlyNewConnections(t *testing.T) {
	c := crowded(t, web.Limits{Connections: 4, AddressConnections: 4})
	busy := c.occupy("127.0.0.1", 4)

	// given running calls on all connections, then a new connection is refused with a reason
	for _, request := range []string{askOK, "POST /large HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"} {
		response, body := c.raw(t, request)
		require.Equal(t, 503, response.StatusCode)
		require.Equal(t, "1", response.Header.Get("Retry-After"))
		require.True(t, response.Close)
		require.JSONEq(t, `{"error":"Too many connections"}`, body)
	}

	lost := c.from("127.0.0.1").ask("GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NotNil(t, lost)
	require.True(t, lost.Close)

	// and health checks are answered, even with many silent connections
	for range 200 {
		c.from("127.0.0.2")
	}
	c.from("127.0.0.2").requireOK(askCheck)
	c.from("127.0.0.3").requireOK(askCheck)

	// and running calls are completed
	close(c.letGo)
	for _, p := range busy {
		response := p.reply()
		require.NotNil(t, response)
		require.Equal(t, 200, response.StatusCode)
		require.False(t, response.Close, "the connection is kept")
		p.requireOK(askCheck)
	}
}

func TestTheLongestIdleConnectionIsClosed(t *testing.T) {
	c := crowded(t, web.Limits{Connections: 3, AddressConnections: 3})
	idlest, idle := c.from("127.0.0.1"), c.from("127.0.0.1") // accepted in this order
	idle.requireOK(askOK)
	busy := c.occupy("127.0.0.1", 1)[0]

	c.from("127.0.0.1").requireOK(askOK)
	require.Nil(t, idlest.ask(askOK))
	idle.requireOK(askOK)
	close(c.letGo)
	require.NotNil(t, busy.reply())
}

func TestAnAddressWithItsShareLosesItsOwnConnections(t *testing.T) {
	c := crowded(t, web.Limits{Connections: 6, AddressConnections: 2})
	other := c.from("127.0.0.9")
	other.requireOK(askOK)
	idle := c.from("127.0.0.1")
	idle.requireOK(askOK)
	busy := c.occupy("127.0.0.1", 1)[0]

	// when the address opens a third connection, then its own idle one is closed
	c.occupy("127.0.0.1", 1)
	require.Nil(t, idle.ask(askOK))

	// and when none of its own is idle, it is refused, and other addresses are not
	response := c.from("127.0.0.1").ask(askOK)
	require.NotNil(t, response)
	require.Equal(t, 503, response.StatusCode)
	other.requireOK(askOK)
	c.from("127.0.0.10").requireOK(askOK)
	close(c.letGo)
	require.NotNil(t, busy.reply())
}

// TestSilentConnectionsDoNotBlockOthers opens too many connections and sends nothing, or only the start of a request.
func TestSilentConnectionsDoNotBlockOthers(t *testing.T) {
	for name, beginning := range map[string]string{"silent": "", "a beginning": "GET /ok HT"} {
		t.Run(name, func(t *testing.T) {
			c := crowded(t, web.Limits{Connections: 200, ReadTimeout: time.Hour})
			busy := c.occupy("127.0.0.1", 10)
			established := c.from("127.0.0.1")
			established.requireOK(askOK)
			for i := range 1000 {
				p := c.from(fmt.Sprintf("127.0.1.%d", 1+i%2))
				_, _ = io.WriteString(p, beginning) // fails if the connection was already closed
			}
			if beginning == "" {
				c.from("127.0.0.1").requireOK(askOK)
				c.from("127.0.1.1").requireOK(askOK)
			}
			require.Eventually(t, func() bool {
				response := c.from("127.0.0.1").ask(askOK)
				return response != nil && response.StatusCode == 200
			}, time.Minute, 50*time.Millisecond)
			c.from("127.0.0.2").requireOK(askCheck)
			close(c.letGo)
			for _, p := range busy {
				require.NotNil(t, p.reply(), "an established connection was closed")
			}
		})
	}
}
