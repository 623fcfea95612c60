package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web"
)

// TestMain checks for leaked goroutines. Two of fasthttp are ignored: the clock for Date headers, which runs until the
// end of the process, and the cleaner of a stopped worker pool, which sleeps for up to ten seconds before it ends.
func TestMain(m *testing.M) {
	if addr := os.Getenv("HOLD_ADDR"); addr != "" {
		clients, err := strconv.Atoi(os.Getenv("HOLD_CLIENTS"))
		if err = errors.Join(err, holdClients(addr, os.Getenv("HOLD_REQUEST"), clients)); err != nil {
			fmt.Fprintln(os.Stderr, "holding clients:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// goodKey is the key that the tests' authenticator accepts.
const goodKey = "key-of-acc-1"

type keys struct{}

func (keys) APIKey(_ context.Context, key string) (web.Principal, error) {
	switch key {
	case goodKey:
		return web.Principal{Account: "acc-1", Key: "key…"}, nil
	case "key-while-down":
		return web.Principal{}, domain.Refuse(domain.Unavailable, "The event store does not answer")
	}
	return web.Principal{}, domain.Refuse(domain.Unauthenticated, "no such key in table keys")
}

// logs collects log lines.
type logs struct {
	mu  sync.Mutex
	out strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}

// site is a running server.
type site struct {
	*web.Server
	t      testing.TB
	addr   string
	url    string
	logs   *logs
	client *http.Client
	served chan error
}

func start(t testing.TB, cfg web.Config) *site {
	t.Helper()
	s := &site{t: t, logs: &logs{}, served: make(chan error, 1)}
	cfg.Logger = slog.New(slog.NewJSONHandler(s.logs, nil))
	if cfg.Authenticator == nil {
		cfg.Authenticator = keys{}
	}
	var err error
	s.Server, err = web.NewServer(cfg)
	require.NoError(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.addr, s.url = ln.Addr().String(), "http://"+ln.Addr().String()
	transport := &http.Transport{}
	s.client = &http.Client{
		Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	go func() { s.served <- s.Serve(ln) }()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = s.Shutdown(ctx)
		require.NoError(t, <-s.served)
	})
	return s
}

// answered is a completely read response.
type answered struct {
	*http.Response
	body string
}

func (a answered) json(t testing.TB) map[string]any {
	t.Helper()
	var value map[string]any
	require.NoError(t, json.Unmarshal([]byte(a.body), &value), a.body)
	return value
}

// ask sends a request with pairs of headers.
func (s *site) ask(method, path, body string, headers ...string) answered {
	s.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequest(method, s.url+path, reader)
	require.NoError(s.t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.client.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return answered{Response: response, body: string(text)}
}

type none struct{}

// ok is a handler without inputs.
func ok(*web.Call, none) (web.Reply, error) { return web.JSON(map[string]bool{"ok": true}), nil }

func TestFirstSteps(t *testing.T) {
	s := start(t, web.Config{Routes: []web.Route{web.Get("/ok", ok, web.Public()), web.Get("/account", ok)}})
	a := s.ask("GET", "/ok", "")
	require.Equal(t, 200, a.StatusCode)
	require.JSONEq(t, `{"ok":true}`, a.body)
	require.Equal(t, 401, s.ask("GET", "/account", "").StatusCode)
	require.Equal(t, 200, s.ask("GET", "/account", "", "x-api-key", goodKey).StatusCode)
	t.Log(s.logs.String())
}
