package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
)

// sockets serves one WebSocket at /socket.
func sockets(t testing.TB, limits web.Limits, handler web.SocketHandler, more ...func(*web.Config)) *site {
	cfg := web.Config{Limits: limits, Routes: []web.Route{
		web.Socket("/socket", handler, web.MaxBody(1000)),
		web.Get("/ok", ok, web.Public()),
	}}
	for _, change := range more {
		change(&cfg)
	}
	return start(t, cfg)
}

// echo returns every message, and ends at "end".
func echo(_ context.Context, conn *web.Conn) error {
	for {
		message, err := conn.Read()
		if err != nil {
			return err
		}
		if string(message) == "end" {
			return nil
		}
		if err := conn.WriteText(message); err != nil {
			return err
		}
	}
}

// authenticated answers "ready" to a key and continues as echo.
func authenticated(ctx context.Context, conn *web.Conn) error {
	key, err := conn.Read()
	if err != nil {
		return err
	}
	principal, err := conn.Authenticate(strings.TrimSpace(string(key)))
	if err != nil {
		return err
	}
	if err := conn.WriteText([]byte("ready " + principal.Account)); err != nil {
		return err
	}
	return echo(ctx, conn)
}

// sendRaw sends a request as it is, on a new connection.
func (s *site) sendRaw(t testing.TB, request string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	return conn
}

// dial opens a socket with pairs of headers.
func (s *site) dial(t testing.TB, headers ...string) *websocket.Conn {
	t.Helper()
	header := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	dialer := websocket.Dialer{HandshakeTimeout: patience}
	ws, response, err := dialer.Dial("ws://"+s.addr+"/socket", header)
	require.NoError(t, err)
	require.Equal(t, 101, response.StatusCode)
	require.Regexp(t, requestID, response.Header.Get("request-id"))
	t.Cleanup(func() { ws.Close() })
	return ws
}

// patience bounds waits that would otherwise last forever.
const patience = time.Minute

func say(t testing.TB, ws *websocket.Conn, message string) {
	t.Helper()
	require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(message)))
}

func hear(t testing.TB, ws *websocket.Conn) string {
	t.Helper()
	require.NoError(t, ws.SetReadDeadline(time.Now().Add(patience)))
	_, message, err := ws.ReadMessage()
	require.NoError(t, err)
	return string(message)
}

// requireClosed reads until the close frame and checks it.
func requireClosed(t testing.TB, ws *websocket.Conn, code int, reason string) {
	t.Helper()
	require.NoError(t, ws.SetReadDeadline(time.Now().Add(patience)))
	for {
		_, message, err := ws.ReadMessage()
		if err == nil {
			t.Logf("before the close frame: %d bytes", len(message))
			continue
		}
		var closed *websocket.CloseError
		require.ErrorAs(t, err, &closed)
		require.Equal(t, code, closed.Code, "%s", closed.Text)
		require.Contains(t, closed.Text, reason)
		return
	}
}

func TestASocketIsAConversation(t *testing.T) {
	var told atomic.Pointer[web.Observation]
	s := sockets(t, web.Limits{}, echo, func(cfg *web.Config) {
		cfg.Observe = func(o web.Observation) { told.Store(&o) }
	})
	ws := s.dial(t, "Origin", "https://elsewhere.example", "Cookie", "svc-session=x")
	for _, message := range []string{"hello", "", strings.Repeat("é", 500)} {
		say(t, ws, message)
		require.Equal(t, message, hear(t, ws))
	}
	say(t, ws, "end")
	requireClosed(t, ws, 1000, "")
	require.Eventually(t, func() bool { return told.Load() != nil }, patience, time.Millisecond)
	require.Equal(t, "/socket", told.Load().Route)
	require.Equal(t, 101, told.Load().Status)
	require.Equal(t, int64(1005), told.Load().Bytes)
	require.False(t, told.Load().Aborted)
	require.Contains(t, s.logs.String(), `"close_code":1000`)
}

func TestAMessageMayBeFragmented(t *testing.T) {
	s := sockets(t, web.Limits{}, echo)
	ws := s.dial(t)
	writer, err := ws.NextWriter(websocket.TextMessage)
	require.NoError(t, err)
	for range 3 {
		_, err = io.WriteString(writer, strings.Repeat("x", 300)) // more than half the buffer: a frame each
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
	require.Equal(t, strings.Repeat("x", 900), hear(t, ws))
}

func TestASocketRefusesTwoDifferentKeys(t *testing.T) {
	s := sockets(t, web.Limits{}, authenticated)
	keys := http.Header{"X-Api-Key": {goodKey, "other"}}
	ws, _, err := (&websocket.Dialer{HandshakeTimeout: patience}).Dial("ws://"+s.addr+"/socket", keys)
	require.NoError(t, err)
	defer ws.Close()
	say(t, ws, " ") // no key, so the header's counts
	requireClosed(t, ws, 1008, "The header x-api-key was sent twice, with different values")
}

func TestBadHandshakesAreRefused(t *testing.T) {
	s := sockets(t, web.Limits{}, echo)
	a := s.ask("GET", "/socket", "")
	require.Equal(t, 426, a.StatusCode)
	require.Equal(t, "websocket", a.Header.Get("Upgrade"))
	require.Equal(t, 426, s.ask("HEAD", "/socket", "").StatusCode)
	require.Equal(t, 405, s.ask("POST", "/socket", "{}").StatusCode)
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket"}
	a = s.ask("GET", "/socket", "", append(upgrade, "Sec-WebSocket-Version", "7", "Sec-WebSocket-Key", "x")...)
	require.Equal(t, 400, a.StatusCode)
	require.Equal(t, "13", a.Header.Get("Sec-WebSocket-Version"))
	require.Contains(t, a.body, "unsupported version")
	require.Equal(t, 400, s.ask("GET", "/socket", "", append(upgrade, "Sec-WebSocket-Version", "13")...).StatusCode)
}

func TestMessagesThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		kind    int
		message string
		code    int
		reason  string
	}{
		"too large":      {websocket.TextMessage, strings.Repeat("x", 1001), 1009, "too large"},
		"much too large": {websocket.TextMessage, strings.Repeat("x", 5<<20), 1009, "too large"},
		"binary":         {websocket.BinaryMessage, "x", 1003, "not binary"},
		"no UTF-8":       {websocket.TextMessage, "caf\xc3", 1007, "valid UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sockets(t, web.Limits{}, echo)
			ws := s.dial(t)
			require.NoError(t, ws.WriteMessage(c.kind, []byte(c.message)))
			requireClosed(t, ws, c.code, c.reason)
		})
	}
}

func TestTheHandlersResultClosesTheSocket(t *testing.T) {
	for name, c := range map[string]struct {
		end    func() error
		last   string
		code   int
		reason string
	}{
		"in order": {func() error { return nil }, "", 1000, ""},
		"with a code": {func() error {
			return &web.CloseError{Code: 4000, Last: []byte("bye"), Err: &web.Error{Status: 400, Message: "no"}}
		}, "bye", 4000, "no"},
		"a refusal": {func() error { return &web.Error{Status: 402, Message: "pay"} }, "", 1008, "pay"},
		"too many":  {func() error { return web.TooManyRequests("later", time.Second) }, "", 1013, "later"},
		"an error":  {func() error { return errors.New("secret of bob") }, "", 1011, "Internal Server Error"},
		"a panic":   {func() error { panic("secret of bob") }, "", 1011, "Internal Server Error"},
		"a long refusal": {func() error { return &web.Error{Status: 400, Message: strings.Repeat("é", 300)} }, "", 1008,
			strings.Repeat("é", 61)},
	} {
		t.Run(name, func(t *testing.T) {
			s := sockets(t, web.Limits{}, func(context.Context, *web.Conn) error { return c.end() })
			ws := s.dial(t)
			if c.last != "" {
				require.Equal(t, c.last, hear(t, ws))
			}
			requireClosed(t, ws, c.code, c.reason)
			require.Equal(t, c.code == 1011, strings.Contains(s.logs.String(), "socket failed"))
			if name == "a panic" {
				require.NotContains(t, s.logs.String(), "secret of bob")
			}
		})
	}
}

func TestASocketAuthenticatesWithAKey(t *testing.T) {
	s := sockets(t, web.Limits{}, authenticated)
	for name, c := range map[string]struct {
		header, message string
		code            int
		reason          string
	}{
		"in the message":                     {"", goodKey, 0, ""},
		"in the header":                      {goodKey, "", 0, ""},
		"the message goes before the header": {"wrong", goodKey, 0, ""},
		"none":                               {"", "", 1008, "An API key is needed"},
		"a wrong one":                        {"", "wrong", 1008, "Invalid API key"},
		"while keys cannot be looked up":     {"", "key-while-down", 1013, "event store"},
	} {
		t.Run(name, func(t *testing.T) {
			ws := s.dial(t, "x-api-key", c.header, "Cookie", "svc-session="+goodKey)
			say(t, ws, c.message+" ") // a cookie alone does not authenticate
			if c.code != 0 {
				requireClosed(t, ws, c.code, c.reason)
				return
			}
			require.Equal(t, "ready acc-1", hear(t, ws))
		})
	}
	require.NotContains(t, s.logs.String(), goodKey)
}

func TestTheSocketsOfAnAccountAreBounded(t *testing.T) {
	s := sockets(t, web.Limits{AccountSockets: 2}, authenticated)
	var open []*websocket.Conn
	for range 2 {
		ws := s.dial(t)
		say(t, ws, goodKey)
		require.Equal(t, "ready acc-1", hear(t, ws))
		open = append(open, ws)
	}
	ws := s.dial(t)
	say(t, ws, goodKey)
	requireClosed(t, ws, 1013, "too many open WebSockets")
	say(t, open[0], "end")
	requireClosed(t, open[0], 1000, "")
	require.Eventually(t, func() bool { // the place is free again
		ws := s.dial(t)
		say(t, ws, goodKey)
		_, message, err := ws.ReadMessage()
		return err == nil && string(message) == "ready acc-1"
	}, patience, 10*time.Millisecond)
}

func TestAnIdleSocketIsClosed(t *testing.T) {
	const short = 100 * time.Millisecond
	t.Run("before authentication", func(t *testing.T) {
		s := sockets(t, web.Limits{ReadTimeout: short}, authenticated)
		requireClosed(t, s.dial(t), 1008, "too long")
	})
	t.Run("after that", func(t *testing.T) {
		s := sockets(t, web.Limits{SocketIdle: short}, authenticated)
		ws := s.dial(t)
		say(t, ws, goodKey)
		requireClosed(t, ws, 1008, "Nothing was sent for too long")
	})
	t.Run("pings keep the connection, not the session", func(t *testing.T) {
		s := sockets(t, web.Limits{SocketIdle: 1200 * time.Millisecond, SocketPing: 500 * time.Millisecond}, authenticated)
		ws := s.dial(t)
		say(t, ws, goodKey)
		requireClosed(t, ws, 1008, "Nothing was sent for too long")
	})
}

func TestASocketThatIsUsedIsNotIdle(t *testing.T) {
	const idle = 1500 * time.Millisecond
	s := sockets(t, web.Limits{SocketIdle: idle, ReadTimeout: idle}, authenticated)
	ws := s.dial(t)
	say(t, ws, goodKey)
	require.Equal(t, "ready acc-1", hear(t, ws))
	for begun := time.Now(); time.Since(begun) < 2*idle; {
		say(t, ws, "x")
		require.Equal(t, "x", hear(t, ws))
	}
}

func TestTheLengthOfASocketIsBounded(t *testing.T) {
	s := sockets(t, web.Limits{SocketLength: 100 * time.Millisecond}, func(ctx context.Context, conn *web.Conn) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
	requireClosed(t, s.dial(t), 1008, "lasted too long")
}

// A silent client has to answer pings; otherwise the connection is closed.
func TestPings(t *testing.T) {
	const often = time.Second // the client has two of them to answer
	ended := make(chan error, 1)
	s := sockets(t, web.Limits{SocketPing: often}, func(ctx context.Context, conn *web.Conn) error {
		_, err := conn.Read()
		ended <- err
		return err
	})
	lively := s.dial(t)
	var pings atomic.Int32
	answer := lively.PingHandler()
	lively.SetPingHandler(func(data string) error { pings.Add(1); return answer(data) })
	go func() { _, _, _ = lively.ReadMessage() }() // answers pings until the test closes the connection
	require.Eventually(t, func() bool { return pings.Load() > 2 }, patience, time.Millisecond)
	select {
	case err := <-ended:
		t.Fatalf("a client that answers was disconnected: %v", err)
	default:
	}
	say(t, lively, "bye")
	require.NoError(t, <-ended)

	s.dial(t) // never reads, so never answers
	require.ErrorContains(t, <-ended, "client has gone")
}

func TestAClientsPingIsAnswered(t *testing.T) {
	s := sockets(t, web.Limits{}, echo)
	ws := s.dial(t)
	pong := make(chan string, 1)
	ws.SetPongHandler(func(data string) error { pong <- data; return nil })
	require.NoError(t, ws.WriteControl(websocket.PingMessage, []byte("are you there"), time.Now().Add(patience)))
	say(t, ws, "x")
	require.Equal(t, "x", hear(t, ws))
	require.Equal(t, "are you there", <-pong)
}

func TestAnEOFInTheHandlerIsNotADisconnection(t *testing.T) {
	s := sockets(t, web.Limits{}, func(context.Context, *web.Conn) error { return fmt.Errorf("encoding: %w", io.EOF) })
	ws := s.dial(t)
	_, _, err := ws.ReadMessage()
	require.True(t, websocket.IsCloseError(err, web.CloseInternal), "%v", err)
	require.NoError(t, s.Shutdown(t.Context()))
	require.Contains(t, s.logs.String(), "socket failed")
}

func TestTheEndOfTheClientEndsTheHandler(t *testing.T) {
	for name, c := range map[string]struct {
		leave func(*websocket.Conn)
		want  string
	}{
		"with a close frame": {func(ws *websocket.Conn) {
			_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""), time.Now().Add(patience))
		}, web.ErrClosed.Error()},
		"without one": {func(ws *websocket.Conn) { ws.Close() }, "client has gone"},
		"with a reset": {func(ws *websocket.Conn) {
			_ = ws.NetConn().(*net.TCPConn).SetLinger(0)
			ws.Close()
		}, "client has gone"},
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			s := sockets(t, web.Limits{}, func(_ context.Context, conn *web.Conn) error {
				_, err := conn.Read()
				ended <- err
				return err
			})
			c.leave(s.dial(t))
			require.ErrorContains(t, <-ended, c.want)
			require.NoError(t, s.Shutdown(t.Context()), "the socket is closed")
			require.NotContains(t, s.logs.String(), "socket failed")
		})
	}
}

func TestAnEarlyDisconnectionLeavesNothingBehind(t *testing.T) {
	s := sockets(t, web.Limits{}, echo)
	for range 50 {
		conn := s.sendRaw(t, "GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
		require.NoError(t, conn.(*net.TCPConn).SetLinger(0))
		conn.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, s.Shutdown(ctx))
}

// revocations implements web.Revocations for tests.
type revocations struct {
	mu      sync.Mutex
	watched map[string]func()
	stopped int
	already bool // revoked before a watch
}

// end revokes a key.
func (r *revocations) end(key string) {
	r.mu.Lock()
	revoked := r.watched[key]
	r.mu.Unlock()
	revoked()
}

// isLeftAlone reports whether there was a watch and there is none now.
func (r *revocations) isLeftAlone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped > 0 && len(r.watched) == 0
}

func (r *revocations) Watch(p web.Principal, revoked func()) func() {
	if r.already {
		revoked()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watched[p.Key] = revoked
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watched, p.Key)
		r.stopped++
	}
}

func TestARevokedKeyEndsItsSockets(t *testing.T) {
	r := &revocations{watched: map[string]func(){}}
	s := sockets(t, web.Limits{}, func(ctx context.Context, conn *web.Conn) error {
		err := authenticated(ctx, conn)
		return errors.Join(err, context.Cause(ctx))
	}, func(cfg *web.Config) { cfg.Revocations = r })
	ws := s.dial(t)
	say(t, ws, goodKey)
	require.Equal(t, "ready acc-1", hear(t, ws))
	r.end("key…")
	requireClosed(t, ws, 1008, "revoked")
	require.Eventually(t, r.isLeftAlone, patience, time.Millisecond)
}

func TestDrainNotifiesTheSockets(t *testing.T) {
	entered := make(chan struct{})
	s := sockets(t, web.Limits{}, func(ctx context.Context, conn *web.Conn) error {
		close(entered)
		select {
		case <-conn.Draining():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := conn.WriteText([]byte("last words")); err != nil {
			return err
		}
		return web.ErrGoingAway
	})
	ws := s.dial(t)
	<-entered
	s.StartDraining()
	require.Equal(t, "last words", hear(t, ws))
	requireClosed(t, ws, 1001, "shutting down")
	_, response, err := websocket.DefaultDialer.Dial("ws://"+s.addr+"/socket", nil)
	require.Error(t, err)
	require.Equal(t, 503, response.StatusCode)
}

func TestShutdownCutsRunningSockets(t *testing.T) {
	ended := make(chan error, 1)
	s := sockets(t, web.Limits{}, func(ctx context.Context, _ *web.Conn) error {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return context.Cause(ctx)
	})
	ws := s.dial(t)
	short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Shutdown(short), context.DeadlineExceeded)
	require.ErrorContains(t, <-ended, "shutting down")
	_, _, err := ws.ReadMessage()
	require.Error(t, err)
}

// thirsty opens a socket that is not read and has small buffers.
func (s *site) thirsty(t *testing.T) *websocket.Conn {
	t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF,
				16<<10)
		})
	}}
	ws, _, err := (&websocket.Dialer{NetDialContext: dialer.DialContext}).Dial("ws://"+s.addr+"/socket", nil)
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	return ws
}

func TestASlowReaderBlocksTheHandler(t *testing.T) {
	const messages, size = 1000, 32 << 10
	var written atomic.Int64
	s := sockets(t, web.Limits{}, func(_ context.Context, conn *web.Conn) error {
		for range messages {
			if err := conn.WriteBinary(make([]byte, size)); err != nil {
				return err
			}
			written.Add(1)
		}
		return nil
	})
	ws := s.thirsty(t)
	stuck := int64(-1)
	require.Eventually(t, func() bool { now := written.Load(); still := now == stuck; stuck = now; return still },
		patience, 200*time.Millisecond)
	require.Less(t, stuck, int64(messages/2), "the handler is not blocked")
	for range messages {
		require.Len(t, hear(t, ws), size)
	}
	requireClosed(t, ws, 1000, "")
}

func TestAStalledReaderEndsWithItsSession(t *testing.T) {
	ended := make(chan error, 1)
	s := sockets(t, web.Limits{SocketLength: 200 * time.Millisecond}, func(_ context.Context, conn *web.Conn) error {
		for {
			if err := conn.WriteBinary(make([]byte, 32<<10)); err != nil {
				ended <- err
				return err
			}
		}
	})
	s.thirsty(t)
	require.ErrorContains(t, <-ended, "lasted too long")
	require.NoError(t, s.Shutdown(t.Context()))
}

func TestStopReadingEndsARead(t *testing.T) {
	s := sockets(t, web.Limits{}, func(_ context.Context, conn *web.Conn) error {
		var reading sync.WaitGroup
		var first, later error
		reading.Go(func() { _, first = conn.Read() })
		conn.StopReading()
		reading.Wait()
		_, later = conn.Read()
		return conn.WriteText(fmt.Append(nil, first != nil && later != nil))
	})
	ws := s.dial(t)
	require.Equal(t, "true", hear(t, ws))
	requireClosed(t, ws, 1000, "")
}
