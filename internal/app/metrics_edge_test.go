package app_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// dialed is a connection to the public address.
type dialed struct {
	t      *testing.T
	conn   net.Conn
	reader *bufio.Reader
}

func connect(t *testing.T, address string) dialed {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return dialed{t, conn, bufio.NewReader(conn)}
}

// send sends a request and returns the status of the reply.
func (d dialed) send(request string) int {
	d.t.Helper()
	_, err := io.WriteString(d.conn, request)
	require.NoError(d.t, err)
	response, err := http.ReadResponse(d.reader, nil)
	require.NoError(d.t, err)
	if response.StatusCode >= 200 {
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(d.t, err)
	}
	return response.StatusCode
}

func TestRefusalsAtTheEdgeAreCounted(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Connections, cfg.AddressConns = 2, 2
	cfg.BodyBudget, cfg.AddressBodies = 64<<20, 32<<20
	a := open(t, cfg)
	shows := func(figure string, value int) {
		t.Helper()
		line := fmt.Sprintf(`%s{server="public"} %d`, figure, value)
		require.Eventually(t, func() bool { // a connection is counted as closed after its client has noticed
			return slices.Contains(figures(t, a, secret(t, cfg, "operator-token")), line)
		}, patience, pause, line)
	}
	shows("recital_http_connections", 0)
	shows("recital_http_connections_evicted_total", 0)
	shows("recital_http_bodies_refused_total", 0)

	// when there are too many connections, then the longest idle one is closed
	const check = "GET /health_check HTTP/1.1\r\nHost: x\r\n\r\n"
	connect(t, a.PublicAddr()).send(check)
	connect(t, a.PublicAddr()).send(check)
	third := connect(t, a.PublicAddr())
	require.Equal(t, http.StatusOK, third.send(check))
	shows("recital_http_connections", 2)
	shows("recital_http_connections_evicted_total", 1)
	shows("recital_http_connections_refused_total", 0)

	// and when an address announces more than its share of the memory for bodies, then that is refused
	const body = "POST /v1/ai/speech/kanna?text=a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: " +
		"20971520\r\n\r\n"
	require.Equal(t, http.StatusContinue, third.send(body))
	require.Equal(t, http.StatusTooManyRequests, connect(t, a.PublicAddr()).send(body))
	shows("recital_http_bodies_refused_total", 1)
}
