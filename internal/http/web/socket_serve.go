package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"
)

// socketBuffer is the size of a socket's read buffer, and of the pooled write buffers. Larger messages pass in pieces.
// It is the cost of an idle socket in addition to its goroutines.
const socketBuffer = 1 << 10

// upgrade answers the handshake. converse begins once the answer is sent.
func (s *Server) upgrade(v *visit) error {
	if v.http.IsHead() || !websocket.FastHTTPIsWebSocketUpgrade(v.http) {
		_, err := needsUpgrade(v.Call, struct{}{})
		return err
	}
	status := http.StatusBadRequest
	upgrader := websocket.FastHTTPUpgrader{
		ReadBufferSize: socketBuffer, WriteBufferSize: socketBuffer, WriteBufferPool: &s.socketBuffers,
		Subprotocols: []string{},
		CheckOrigin:  func(*fasthttp.RequestCtx) bool { return true },
		Error:        func(_ *fasthttp.RequestCtx, code int, _ error) { status = code },
	}
	var inTime func() bool
	err := upgrader.Upgrade(v.http, func(ws *websocket.Conn) {
		if inTime() {
			s.converse(v, ws)
		}
	})
	if err != nil {
		v.SetHeader("Sec-WebSocket-Version", "13")
		return &Error{
			Status: status, Message: "The WebSocket handshake failed: " + strings.TrimPrefix(err.Error(), "websocket: "),
		}
	}
	inTime = s.takeOver(v)
	return nil
}

// takeOver makes the function that hijacks the connection responsible for the end of a visit. That function is not
// called if the client disconnects before; inTime returns false if it is called too late.
func (s *Server) takeOver(v *visit) (inTime func() bool) {
	v.takenOver = true
	return context.AfterFunc(v.life, func() { s.close(v, 0, errClientGone) })
}

// converse serves a socket from its first message to its close frame.
func (s *Server) converse(v *visit, ws *websocket.Conn) {
	c := &Conn{Caller: v.Caller, server: s, visit: v, ws: ws, raw: connOf(v.http), maxSize: int64(v.Route.MaxBody)}
	c.raw.SetReader()
	c.start()
	err := c.run(v.Route.socket)
	if errors.Is(err, ErrClosed) {
		err = nil
	}
	ans := answerTo(err)
	if err != nil && ans.internal {
		s.logError(v, "socket failed", err)
	}
	c.close(err)
	for _, release := range c.release {
		release()
	}
	if !errors.Is(err, errClientGone) && !ans.internal {
		err = nil
	}
	s.close(v, c.written, err)
}

// run calls the handler.
func (c *Conn) run(handler SocketHandler) (err error) {
	defer recoverTo(&err)
	return handler(c.visit.life, c)
}

// start starts the timers. Until the caller is authenticated, the time limit of a request applies.
func (c *Conn) start() {
	limits, life := c.server.cfg.Limits, c.visit.life
	life.extend(limits.SocketLength + time.Minute) // the timer below fires first, and has a better reason
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pause = limits.ReadTimeout
	c.idle = time.AfterFunc(c.pause, func() { life.cancel(errIdle) })
	c.length = time.AfterFunc(limits.SocketLength, func() { life.cancel(errTooLong) })
	c.ping = time.AfterFunc(limits.SocketPing, c.sendPing)
	stop := context.AfterFunc(life, c.interrupt)
	c.release = append(c.release, func() { stop() })
	c.ws.SetPongHandler(func(string) error { return c.awaitMore() })
	answer := c.ws.PingHandler()
	c.ws.SetPingHandler(func(data string) error {
		if err := answer(data); err != nil {
			return err
		}
		return c.awaitMore()
	})
}

// sendPing sends a ping. If the client does not answer, Read fails.
func (c *Conn) sendPing() {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return
	}
	c.pinging.Add(1)
	defer c.pinging.Done()
	c.ping.Reset(c.server.cfg.Limits.SocketPing)
	c.mu.Unlock()
	_ = c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(controlTimeout)) // Read returns the error
}

// interrupt wakes a reader when the socket has ended, and cuts the connection if the handler does not return.
func (c *Conn) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	_ = c.ws.SetReadDeadline(longAgo) // fails only where reading does
	c.visit.life.cutLater()
}

// close sends the last message and the close frame, unless the client has disconnected.
func (c *Conn) close(err error) {
	cut := time.AfterFunc(closeGrace, c.raw.Cut)
	defer cut.Stop()
	defer c.stop()
	if errors.Is(err, errClientGone) {
		c.raw.Cut()
		return
	}
	goodbye := closeError(err)
	c.visit.closeCode = goodbye.Code
	if len(goodbye.Last) > 0 {
		_ = c.ws.WriteMessage(websocket.TextMessage, goodbye.Last) // if it fails, the close frame fails, too
	}
	frame := websocket.FormatCloseMessage(goodbye.Code, reason(goodbye.Err))
	_ = c.ws.WriteControl(websocket.CloseMessage, frame, time.Now().Add(controlTimeout)) // the peer may have gone
	c.raw.LingerOnClose()
}

// stop ends the use of ws, because fasthttp reuses its connection.
func (c *Conn) stop() {
	c.mu.Lock()
	c.ended = true
	for _, timer := range []*time.Timer{c.idle, c.ping, c.length} {
		timer.Stop()
	}
	c.mu.Unlock()
	c.pinging.Wait()
}

// closeError returns the CloseError for an error of a handler.
func closeError(err error) *CloseError {
	if err == nil {
		return &CloseError{Code: CloseNormal}
	}
	if wanted, is := errors.AsType[*CloseError](err); is {
		return wanted
	}
	return &CloseError{Code: CloseCode(err), Err: err}
}

// maxReason is the maximum length of a close frame's reason in bytes (RFC 6455, section 5.5).
const maxReason = 123

func reason(err error) string {
	if err == nil {
		return ""
	}
	text := Explain(err).Message
	for len(text) > maxReason || !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}
