package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/fasthttp/websocket"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web/bind"
	"github.com/recital-tts/recital/internal/http/web/netconn"
)

// SocketHandler serves one WebSocket. ctx ends when the client has disconnected, when a limit is reached, when the
// credential is revoked and when the server is shut down. Its cause is the reason, for Explain. The handler must then
// return soon, before the connection is cut. Its error determines the close code: nil is 1000, a *CloseError has its
// own code, and other errors have the code of CloseCode. conn must not be used after the handler has returned.
type SocketHandler func(ctx context.Context, conn *Conn) error

// Socket returns a row for a WebSocket (RFC 6455). The handshake ignores credentials, and any origin may connect.
// Conn.Authenticate checks a key from the first message or the header, or the cookie of a page of the service or of an
// allowed origin. MaxBody is the maximum size of a message.
func Socket(path string, handler SocketHandler, options ...Option) Route {
	route := row(http.MethodGet, path, needsUpgrade, append([]Option{Public()}, options...))
	route.socket = handler
	return route
}

// Message is a kind of message of a WebSocket, for its documentation.
type Message struct {
	Name    string
	Summary string
	Of      reflect.Type // of its JSON; nil for binary messages (audio)
	// For a message that is bound like a route's input.
	Input    bool
	Variant  bind.Variant
	Meanings map[string]string
}

// JSONMessage describes a message that is a T in JSON.
func JSONMessage[T any](name, summary string) Message {
	return Message{Name: name, Summary: summary, Of: reflect.TypeFor[T]()}
}

// InputMessage describes a message that is bound like a body. The meanings are as for routes.
func InputMessage[In any](name, summary string, variant bind.Variant, meanings map[string]string) Message {
	return Message{
		Name: name, Summary: summary, Of: reflect.TypeFor[In](), Input: true, Variant: variant, Meanings: meanings,
	}
}

// ReceivesMessages declares the messages from the clients of a WebSocket, in order.
func ReceivesMessages(messages ...Message) Option { return func(r *Route) { r.Received = messages } }

// SendsMessages declares the messages from the server of a WebSocket.
func SendsMessages(messages ...Message) Option { return func(r *Route) { r.Sent = messages } }

func needsUpgrade(call *Call, _ struct{}) (Reply, error) {
	call.SetHeader("Upgrade", "websocket")
	return Reply{}, &Error{Status: http.StatusUpgradeRequired, Message: "This route speaks WebSocket only"}
}

// IsSocket reports whether the route is a WebSocket.
func (r *Route) IsSocket() bool { return r.socket != nil }

// Close codes of RFC 6455, section 7.4, and of the IANA registry.
const (
	CloseNormal      = websocket.CloseNormalClosure           // 1000
	CloseGoingAway   = websocket.CloseGoingAway               // 1001
	CloseProtocol    = websocket.CloseProtocolError           // 1002
	CloseUnsupported = websocket.CloseUnsupportedData         // 1003
	CloseInvalidText = websocket.CloseInvalidFramePayloadData // 1007
	ClosePolicy      = websocket.ClosePolicyViolation         // 1008
	CloseTooBig      = websocket.CloseMessageTooBig           // 1009
	CloseInternal    = websocket.CloseInternalServerErr       // 1011
	CloseTryLater    = websocket.CloseTryAgainLater           // 1013
)

// CloseError determines how a socket is closed.
type CloseError struct {
	Code int
	Last []byte // a text message before the close frame; nil for none
	Err  error  // the reason, in the close frame as a message of Explain
}

func (e *CloseError) Error() string { return fmt.Sprintf("closing with %d: %v", e.Code, e.Err) }

// Unwrap returns the reason.
func (e *CloseError) Unwrap() error { return e.Err }

// ErrClosed means that the client has closed the socket. Unlike io.EOF, it cannot mean the end of anything else.
var ErrClosed = errors.New("the client has closed the socket")

// Reasons why sockets end, for their clients.
var (
	errIdle        = &Error{Status: http.StatusRequestTimeout, Message: "Nothing was sent for too long"}
	errTooLong     = &Error{Status: http.StatusRequestTimeout, Message: "The session has lasted too long"}
	errRevoked     = &Error{Status: http.StatusUnauthorized, Message: "The API key was revoked"}
	errSessionOver = &Error{Status: http.StatusUnauthorized, Message: "The session has ended"}
	errInvalidText = &Error{Status: http.StatusBadRequest, Message: "Messages must be valid UTF-8"}
	errBinary      = &Error{Status: http.StatusUnsupportedMediaType, Message: "Messages must be text, not binary"}
	errMessageSize = &Error{Status: http.StatusRequestEntityTooLarge, Message: "The message is too large"}
)

var (
	errDeaf = errors.New("nothing more is read from the socket")
	longAgo = time.Unix(1, 0)
)

const (
	// closeGrace is the maximum time from the end of a socket to its close frame; then the connection is cut.
	closeGrace = 2 * time.Second
	// controlTimeout bounds the time that a ping or a close frame waits for the end of a message.
	controlTimeout = time.Second
)

// Conn is a WebSocket for a handler. One goroutine may read and another write.
type Conn struct {
	Caller // of the handshake; its Principal is set by Authenticate

	server  *Server
	visit   *visit
	ws      *websocket.Conn
	raw     *netconn.Conn
	maxSize int64
	written int64

	pinging sync.WaitGroup
	mu      sync.Mutex // guards the fields below, and the start of timers' functions that use ws
	ended   bool
	deaf    bool          // reading has ended
	pause   time.Duration // of the idle timer
	idle    *time.Timer
	ping    *time.Timer
	length  *time.Timer

	release []func() // the claims of Authenticate
}

// Header returns a copy of a header of the handshake.
func (c *Conn) Header(name string) string { return c.visit.Header(name) }

// Draining is closed when the server drains. The handler should complete its accepted work and return ErrGoingAway.
func (c *Conn) Draining() <-chan struct{} { return c.server.draining.Done() }

// ErrGoingAway closes a socket because the server drains.
var ErrGoingAway error = &CloseError{Code: CloseGoingAway, Err: errShutdown}

// Read waits for the next text message, and answers pings meanwhile. Its errors are final: the client has closed the
// socket (ErrClosed), or the socket must end.
func (c *Conn) Read() ([]byte, error) {
	if err := c.awaitMore(); err != nil {
		return nil, err
	}
	kind, reader, err := c.ws.NextReader()
	if err != nil {
		return nil, c.readError(err)
	}
	message, err := io.ReadAll(io.LimitReader(reader, c.maxSize+1))
	switch {
	case err != nil:
		return nil, c.readError(err)
	case int64(len(message)) > c.maxSize:
		return nil, errMessageSize
	case kind != websocket.TextMessage:
		return nil, errBinary
	case !utf8.Valid(message):
		return nil, errInvalidText
	}
	c.active()
	return message, nil
}

// awaitMore extends the read deadline, unless the socket has ended. Any frame counts, including pongs.
func (c *Conn) awaitMore() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.visit.life.Err() != nil {
		return context.Cause(c.visit.life)
	}
	if c.deaf {
		return errDeaf
	}
	return c.ws.SetReadDeadline(time.Now().Add(2 * c.server.cfg.Limits.SocketPing))
}

// StopReading ends the current Read and all later ones.
func (c *Conn) StopReading() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaf = true
	_ = c.ws.SetReadDeadline(longAgo) // if it fails, reading fails, too
}

func (c *Conn) readError(err error) error {
	var closed *websocket.CloseError
	switch cause := context.Cause(c.visit.life); {
	case errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure:
		return ErrClosed
	case cause != nil:
		return cause
	}
	return fmt.Errorf("reading from the socket: %w: %w", errClientGone, err)
}

// WriteText sends a text message.
func (c *Conn) WriteText(message []byte) error { return c.write(websocket.TextMessage, message) }

// WriteBinary sends a binary message.
func (c *Conn) WriteBinary(message []byte) error { return c.write(websocket.BinaryMessage, message) }

// write returns when the connection has accepted the message, which a slow client delays, or when the socket's context
// ends.
func (c *Conn) write(kind int, message []byte) error {
	if c.visit.life.Err() != nil {
		return fmt.Errorf("writing to the socket: %w", context.Cause(c.visit.life))
	}
	if err := c.ws.WriteMessage(kind, message); err != nil {
		if cause := context.Cause(c.visit.life); cause != nil {
			return fmt.Errorf("writing to the socket: %w", cause)
		}
		return fmt.Errorf("writing to the socket: %w: %w", errClientGone, err)
	}
	c.written += int64(len(message))
	c.active()
	return nil
}

// active records that a message was received or sent.
func (c *Conn) active() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.idle.Reset(c.pause)
	}
}

// Authenticate looks up the caller, by a key from a message or, if that is empty, by the handshake's x-api-key header
// or session cookie. The socket then counts toward its account's limit, and ends when the credential is revoked.
// Errors: as for requests, and a 429 if the account has too many sockets. It is called once, by the handler's own
// goroutine.
func (c *Conn) Authenticate(key string) (Principal, error) {
	var err error
	if key == "" {
		key, err = c.visit.single(headerAPIKey)
	}
	if err != nil {
		return Principal{}, err
	}
	principal, err := c.lookUp(key)
	if err != nil {
		return Principal{}, err
	}
	if !c.server.sockets.enter(principal.Account, c.server.cfg.Limits.AccountSockets) {
		return Principal{}, TooManyRequests("The account has too many open WebSockets", time.Second)
	}
	c.release = append(c.release, func() { c.server.sockets.leave(principal.Account) })
	if revocations := c.server.cfg.Revocations; revocations != nil {
		c.release = append(c.release, revocations.Watch(principal, func() { c.visit.life.cancel(principal.ended()) }))
	}
	c.Principal, c.visit.Principal = principal, principal
	c.mu.Lock()
	c.pause = c.server.cfg.Limits.SocketIdle
	c.mu.Unlock()
	c.active()
	return principal, nil
}

// lookUp returns the owner of a key or, if that is empty, of the handshake's session.
func (c *Conn) lookUp(key string) (Principal, error) {
	s, call := c.server, c.visit.Call
	if key != "" {
		return s.lookUpKey(call, s.cfg.Authenticator, key)
	}
	cookie, err := call.cookieOf(sessionCookie)
	switch {
	case err != nil:
		return Principal{}, err
	case cookie == "" || s.cfg.Sessions == nil:
		return Principal{}, domain.Refuse(domain.Unauthenticated, "An API key is needed, as X-API-Key in the first message")
	case !s.sameOrigin(call):
		return Principal{}, errNoProof
	}
	return s.lookUpSession(call, cookie, SessionUse{KeepsOld: true})
}

// socketCount counts open sockets by account.
type socketCount struct {
	mu   sync.Mutex
	open map[string]int
}

func (s *socketCount) count() (all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, open := range s.open {
		all += open
	}
	return all
}

func (s *socketCount) enter(account string, limit int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[account] >= limit {
		return false
	}
	if s.open == nil {
		s.open = map[string]int{}
	}
	s.open[account]++
	return true
}

func (s *socketCount) leave(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[account]--; s.open[account] == 0 {
		delete(s.open, account)
	}
}
