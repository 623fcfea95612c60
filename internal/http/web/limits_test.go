package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
)

type rawIn struct {
	Body []byte `raw:"body"`
}

func size(_ *web.Call, in rawIn) (web.Reply, error) { return web.JSON(len(in.Body)), nil }

func sized(t *testing.T, limits web.Limits) *site {
	return start(t, web.Config{Limits: limits, Routes: []web.Route{
		web.Post("/default", size, web.Public()), web.Post("/small", size, web.Public(), web.MaxBody(100)),
		web.Post("/large/{id}", size, web.Public(), web.MaxBody(1<<20)), web.Get("/ok", ok, web.Public()),
	}})
}

func TestRoutesHaveTheirOwnBodyLimits(t *testing.T) {
	s := sized(t, web.Limits{})
	for name, c := range map[string]struct {
		path         string
		size, status int
	}{
		"default, just fits":      {"/default", 64 << 10, 200},
		"default, too large":      {"/default", 64<<10 + 1, 413},
		"small, just fits":        {"/small", 100, 200},
		"small, too large":        {"/small", 101, 413},
		"large, just fits":        {"/large/x", 1 << 20, 200},
		"large, too large":        {"/large/x", 1<<20 + 1, 413},
		"no route, default limit": {"/nowhere", 64 << 10, 404},
		"no route, too large":     {"/nowhere", 64<<10 + 1, 413},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, chunked %v", name, chunked), func(t *testing.T) {
				var body io.Reader = bytes.NewReader(make([]byte, c.size))
				if chunked {
					body = struct{ io.Reader }{body}
				}
				response, err := s.client.Post(s.url+c.path, "application/octet-stream", body)
				require.NoError(t, err)
				defer response.Body.Close()
				require.Equal(t, c.status, response.StatusCode)
				text, err := io.ReadAll(response.Body)
				require.NoError(t, err)
				if c.status == 413 {
					require.JSONEq(t, `{"error":"The request's body is too large"}`, string(text))
					require.Regexp(t, requestID, response.Header.Get("request-id"))
				}
			})
		}
	}
}

// TestTooLargeIsSeenByClientsThatSendFirst uses a client that, like many, reads only after it has sent 10 MB.
func TestTooLargeIsSeenByClientsThatSendFirst(t *testing.T) {
	s := sized(t, web.Limits{})
	const size = 10 << 20
	for name, head := range map[string]string{
		"with a length": fmt.Sprintf("Content-Length: %d\r\n\r\n", size),
		"chunked":       fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", size),
	} {
		t.Run(name, func(t *testing.T) {
			response, body := s.raw(t, "POST /default HTTP/1.1\r\nHost: x\r\nlmnt-version: 1.1\r\n"+head+strings.Repeat("x",
				size))
			require.Equal(t, 413, response.StatusCode)
			require.Contains(t, body, "too large")
		})
	}
}

func TestExpectContinueWithATooLargeBody(t *testing.T) {
	s := sized(t, web.Limits{})
	request, err := http.NewRequest("POST", s.url+"/small", bytes.NewReader(make([]byte, 1000)))
	require.NoError(t, err)
	request.Header.Set("Expect", "100-continue")
	response, err := s.client.Do(request)
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, 413, response.StatusCode)
}

func TestCompressedBodiesAreRefused(t *testing.T) {
	s := sized(t, web.Limits{})
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, err := w.Write(make([]byte, 1<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Less(t, bomb.Len(), 64<<10)
	for _, encoding := range []string{"gzip", "br", "deflate", "gzip, gzip", "zstd"} {
		a := s.ask("POST", "/default", bomb.String(), "Content-Encoding", encoding)
		require.Equal(t, 415, a.StatusCode, encoding)
		require.JSONEq(t, `{"error":"Compressed request bodies are not supported"}`, a.body)
	}
	require.Equal(t, "4", s.ask("POST", "/default", "text", "Content-Encoding", "identity").body)
}

func TestHeadersAreBounded(t *testing.T) {
	s := sized(t, web.Limits{})
	require.Equal(t, 200, s.ask("GET", "/ok?text="+strings.Repeat("%E3%81%82", 5000), "").StatusCode,
		"5,000 Japanese characters fit a GET")
	a := s.ask("GET", "/ok", "", "x-much", strings.Repeat("x", 70<<10))
	require.Equal(t, 431, a.StatusCode)
	require.JSONEq(t, `{"error":"The request's headers are too large"}`, a.body)
}

func TestUnreadableRequests(t *testing.T) {
	s := sized(t, web.Limits{})
	for _, text := range []string{
		"nonsense\r\n\r\n", "GET /ok HTTP/1.1\r\nHost: a\r\n: empty\r\n\r\n",
		"POST /default HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
	} {
		response, body := s.raw(t, text)
		require.Equal(t, 400, response.StatusCode, text)
		require.JSONEq(t, `{"error":"The request could not be read"}`, body)
		require.Regexp(t, requestID, response.Header.Get("request-id"))
	}
}

// TestSlowRequestsAreCut drips a request. The server limits the time of the whole request, even if bytes keep arriving.
func TestSlowRequestsAreCut(t *testing.T) {
	for name, head := range map[string]string{
		"headers": "GET /ok HTTP/1.1\r\nHost: x\r\nx-drip: ",
		"body":    "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := sized(t, web.Limits{ReadTimeout: 150 * time.Millisecond})
			conn := s.sendRaw(t, head)
			var drip sync.WaitGroup
			ended := make(chan struct{})
			drip.Go(func() {
				for {
					select {
					case <-ended:
						return
					case <-time.After(20 * time.Millisecond):
						if _, err := conn.Write([]byte("x")); err != nil {
							return
						}
					}
				}
			})
			response, _ := readResponse(t, conn)
			close(ended)
			drip.Wait()
			require.Equal(t, 408, response.StatusCode)
		})
	}
}

func TestSilentConnectionsAreClosed(t *testing.T) {
	s := sized(t, web.Limits{ReadTimeout: 50 * time.Millisecond})
	conn, err := net.Dial("tcp", s.addr)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	all, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Empty(t, all, "there was no request to answer")
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	s := sized(t, web.Limits{IdleTimeout: 50 * time.Millisecond})
	conn := s.sendRaw(t, "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	all, err := io.ReadAll(conn)
	require.NoError(t, err, "the server closes the connection in order")
	require.Contains(t, string(all), "200 OK")
}

func TestHandlersHaveADeadline(t *testing.T) {
	wait := func(c *web.Call, _ none) (web.Reply, error) {
		deadline, ok := c.Deadline()
		if !ok || time.Until(deadline) > time.Second {
			return web.Reply{}, errors.New("no deadline")
		}
		<-c.Done()
		return web.Reply{}, fmt.Errorf("loading: %w", c.Err())
	}
	s := start(t, web.Config{Routes: []web.Route{web.Get("/slow", wait, web.Public(), web.Timeout(30*time.Millisecond))}})
	a := s.ask("GET", "/slow", "")
	require.Equal(t, 504, a.StatusCode)
	require.Equal(t, "1", a.Header.Get("Retry-After"))
}

func TestACallEndsWhenItsClientDisconnects(t *testing.T) {
	entered, ended := make(chan struct{}), make(chan error, 1)
	seen := make(chan web.Observation, 1)
	s := start(t, web.Config{
		Observe: func(o web.Observation) { seen <- o },
		Routes: []web.Route{web.Get("/slow", func(c *web.Call, _ none) (web.Reply, error) {
			close(entered)
			<-c.Done()
			ended <- context.Cause(c)
			return web.Reply{}, c.Err()
		}, web.Public(), web.Timeout(time.Minute))},
	})
	conn := s.sendRaw(t, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
	<-entered
	conn.Close()
	require.ErrorContains(t, <-ended, "client has gone")
	require.Equal(t, 499, (<-seen).Status)
}

func TestObservationsAndLogLinesNameOnlyTheRoute(t *testing.T) {
	type in struct {
		ID   string `path:"id"`
		Text string `query:"text"`
	}
	var mu sync.Mutex
	var seen []web.Observation
	s := start(t, web.Config{
		Observe: func(o web.Observation) { mu.Lock(); defer mu.Unlock(); o.Duration = 0; seen = append(seen, o) },
		Routes: []web.Route{web.Get("/clip/{id}", func(*web.Call, in) (web.Reply, error) {
			return web.JSON("four").WithStatus(201), nil
		}, web.Public())},
	})
	s.ask("GET", "/clip/secret-clip?text=secret-text", "")
	s.ask("GET", "/secret-path", "")
	s.ask("BREW", "/clip/secret-clip", "")
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []web.Observation{
		{Route: "/clip/{id}", Method: "GET", Status: 201, Bytes: 6},
		{Route: "", Method: "GET", Status: 404, Bytes: 64},
		{Route: "", Method: "other", Status: 405, Bytes: 91},
	}, seen)
	require.NotContains(t, s.logs.String(), "secret")
	require.Contains(t, s.logs.String(), `"route":"/clip/{id}","status":201,"bytes":6`)
}
