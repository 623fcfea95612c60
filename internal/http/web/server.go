// Package web is the HTTP server. Routes are rows of a table; a row determines binding and validation, defaults,
// authentication, limits and deadlines. All errors become replies in one place, in the dialects of clients. The package
// runs on Fiber and fasthttp, and hides their peculiarities from handlers.
package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/recital-tts/recital/internal/access/operators"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/http/web/netconn"
	"github.com/recital-tts/recital/internal/http/web/quota"
	"github.com/recital-tts/recital/internal/process/pause"
	"github.com/recital-tts/recital/internal/process/tracing"
)

// Config configures a Server. Routes and Logger are required.
type Config struct {
	Name          string // in log lines: "public" or "admin"
	Routes        []Route
	Authenticator Authenticator
	Readers       Authenticator // for routes that only read views; nil means Authenticator
	Sessions      Sessions      // of browsers; with nil, cookies are not accepted
	Positions     Positions
	Rates         Rates       // of requests that append; nil means no limits
	Revocations   Revocations // ends WebSockets and streams; nil if credentials cannot be revoked
	Tokens        []operators.Token
	// Sessions of operators' and auditors' browsers; with nil, their cookies are not accepted.
	OperatorSessions OperatorSessions
	Logger           *slog.Logger
	Observe          func(Observation)
	Traces           *tracing.Tracer // nil for none
	Limits           Limits
	Record           RecordAct // required if routes have Acts
	NoCORS           bool      // scripts of other origins may not read the answers

	Uploads *spool.Spool // of routes with Uploads

	Origins []string // of pages that may use the session of a browser, in the form https://HOST
	Origin  string   // of the service's own pages; "" means the requested host, over HTTP
	// The service is on a loopback address, where browsers speak HTTP: cookies are sent without TLS.
	PlainCookies  bool
	Proxies       []netip.Prefix // trusted to set X-Forwarded-For
	CountryHeader string         // in which proxies send the client's country; "" for none
}

// Positions waits until the read models have reached a position of the log.
type Positions interface {
	// Wait waits for the given read models, or for all if none is given. Errors: ErrBadPosition for a text that is not a
	// position or lies past the log's head; ErrStandsStill if a read model has stopped.
	Wait(ctx context.Context, position string, models []readmodel.Model) error
	// Current waits until the read models have reached the log's head as it is now. Errors: ErrStandsStill.
	Current(ctx context.Context, models []readmodel.Model) error
}

// Observation is one finished request, for metrics.
type Observation struct {
	Route    string // the row's path, or "" without a match
	Method   string // one of the known methods, or "other"
	Status   int    // 499 if the client disconnected first
	Duration time.Duration
	Bytes    int64
	Aborted  bool // a stream was cut
}

// Limits are the limits of clients. Zero fields take the defaults in the comments.
type Limits struct {
	// Concurrently open: 16,384. Beyond that, idle ones are evicted, or else new ones get 503, except for health checks.
	Connections        int
	AddressConnections int // the same of one address: three quarters of Connections
	Bodies             int // bytes of request bodies in memory, as announced: 256 MiB
	AddressBodies      int // of one address: a quarter of Bodies
	Uploads            int // bytes of uploads on disk, as announced: 2 GiB
	AddressUploads     int // of one address: half of Uploads
	// Minimum rate in bytes per second at which a client must send a body and accept a finished answer: 8 KiB.
	Rate int

	Header       int           // bytes of request line and headers: 64 KiB, for GET speech with 5,000 characters
	ReadTimeout  time.Duration // for the head of a request, and again for its body, which then must come at Rate: 15 s
	BodyTimeout  time.Duration // for a whole body: 30 min
	WriteTimeout time.Duration // for each 64 KiB of an answer: 30 s
	IdleTimeout  time.Duration // between two requests: 75 s
	Stream       time.Duration // for a whole stream: 10 min
	PositionWait time.Duration // for x-recital-min-position: 2 s

	AccountSockets int // concurrent WebSockets of one account: 100
	// Of a WebSocket without a message in either direction: 5 min; ReadTimeout before its first.
	SocketIdle   time.Duration
	SocketPing   time.Duration // between two pings to a WebSocket's client, which may miss one: 20 s
	SocketLength time.Duration // for a whole WebSocket: 1 h
}

func (l *Limits) fill() {
	defaultTo(&l.Header, 64<<10)
	defaultTo(&l.Connections, 16<<10)
	defaultTo(&l.AddressConnections, max(1, l.Connections*3/4))
	defaultTo(&l.Bodies, 256<<20)
	defaultTo(&l.AddressBodies, l.Bodies/4)
	defaultTo(&l.Uploads, 2<<30)
	defaultTo(&l.AddressUploads, l.Uploads/2)
	defaultTo(&l.Rate, 8<<10)
	defaultTo(&l.ReadTimeout, 15*time.Second)
	defaultTo(&l.BodyTimeout, 30*time.Minute)
	defaultTo(&l.WriteTimeout, 30*time.Second)
	defaultTo(&l.IdleTimeout, 75*time.Second)
	defaultTo(&l.Stream, 10*time.Minute)
	defaultTo(&l.PositionWait, 2*time.Second)
	defaultTo(&l.AccountSockets, 100)
	defaultTo(&l.SocketIdle, 5*time.Minute)
	defaultTo(&l.SocketPing, 20*time.Second)
	defaultTo(&l.SocketLength, time.Hour)
}

func defaultTo[T int | time.Duration](limit *T, value T) {
	if *limit == 0 {
		*limit = value
	}
}

// Server serves one table of routes on one listener.
type Server struct {
	cfg      Config
	log      *slog.Logger
	table    table
	exposed  string // headers that scripts of other origins may read
	app      *fiber.App
	fiber    fasthttp.RequestHandler
	listener atomic.Pointer[netconn.Listener]
	leaving  atomic.Bool
	bodies   *quota.Budget
	uploads  *quota.Budget

	sockets       socketCount
	socketBuffers sync.Pool // for writing

	draining, stopped context.Context // end when draining begins, and when the server stops
	drain, stop       context.CancelFunc
}

// NewServer checks and compiles the routes.
func NewServer(cfg Config) (*Server, error) {
	cfg.Limits.fill()
	if cfg.Logger == nil {
		return nil, errors.New("building the server: no logger")
	}
	s := &Server{cfg: cfg, log: cfg.Logger, table: table{}}
	s.draining, s.drain = context.WithCancel(context.Background())
	s.stopped, s.stop = context.WithCancel(context.Background())
	s.bodies = quota.New(int64(cfg.Limits.Bodies), int64(cfg.Limits.AddressBodies))
	s.uploads = quota.New(int64(cfg.Limits.Uploads), int64(cfg.Limits.AddressUploads))
	if cfg.Name != "" {
		s.log = s.log.With("server", cfg.Name)
	}
	err := s.compile()
	if err == nil {
		s.exposed, err = exposedHeaders(cfg.Routes)
	}
	if err != nil {
		return nil, fmt.Errorf("building the server: %w", err)
	}
	s.mount()
	return s, nil
}

// compile fills the table with the endpoints of the routes.
func (s *Server) compile() error {
	var wrong []error
	for i := range s.cfg.Routes {
		e, err := compileRoute(&s.cfg.Routes[i])
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		if err := s.table.add(e); err != nil {
			wrong = append(wrong, fmt.Errorf("%s %s: %w", e.Method, e.Path, err))
		}
		wrong = append(wrong, s.checkAccess(e), s.checkBodies(e), s.checkUploads(e))
	}
	return errors.Join(wrong...)
}

func compileRoute(r *Route) (*endpoint, error) {
	parsed, err := parsePattern(r.Path)
	if err != nil {
		return nil, err
	}
	plan, err := r.Variant.Compile(r.In)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
	}
	for _, f := range plan.Fields() {
		if f.Source == "path" && !slices.Contains(parsed.params(), f.Name) {
			return nil, fmt.Errorf("%s %s: the input %q is not in the path", r.Method, r.Path, f.Name)
		}
	}
	if r.MaxBody < 0 || r.Timeout <= 0 {
		return nil, fmt.Errorf("%s %s: the limits must be above zero", r.Method, r.Path)
	}
	return &endpoint{Route: r, pattern: parsed, params: parsed.params(), plan: plan}, nil
}

// checkAccess returns an error for a route that cannot be used.
func (s *Server) checkAccess(e *endpoint) error {
	for _, role := range e.Roles {
		if !slices.ContainsFunc(s.cfg.Tokens, func(t operators.Token) bool { return t.Role == role }) {
			return fmt.Errorf("%s %s: no token of the role %q", e.Method, e.Path, role)
		}
	}
	if len(e.Roles) == 0 && e.Access != AccessPublic && s.cfg.Authenticator == nil {
		return fmt.Errorf("%s %s: no authenticator", e.Method, e.Path)
	}
	if e.Act != nil && !e.Act.Own && s.cfg.Record == nil {
		return fmt.Errorf("%s %s: the acts of operators are not recorded", e.Method, e.Path)
	}
	return nil
}

// checkBodies returns an error for a route with a maximum body that could never be sent.
func (s *Server) checkBodies(e *endpoint) error {
	limits, largest := s.cfg.Limits, bodyMemory(bodyLimit(e))
	if largest > min(limits.partFor(largest), int64(limits.AddressBodies)) {
		return fmt.Errorf("%s %s: a body may need %d bytes, which exceeds the share of an address", e.Method, e.Path,
			largest)
	}
	return nil
}

// checkUploads returns an error for a route with a maximum upload that could never be sent, or on which unknown callers
// could fill the disk.
func (s *Server) checkUploads(e *endpoint) error {
	limits := s.cfg.Limits
	switch {
	case e.Uploads == 0:
		return nil
	case e.Access != AccessAuthenticated:
		return fmt.Errorf("%s %s: uploads require authenticated callers", e.Method, e.Path)
	case s.cfg.Uploads == nil:
		return fmt.Errorf("%s %s: no spool for uploads", e.Method, e.Path)
	case e.Uploads > int64(min(limits.Uploads, limits.AddressUploads)):
		return fmt.Errorf("%s %s: an upload may have %d bytes, which exceeds the share of an address", e.Method,
			e.Path, e.Uploads)
	}
	return nil
}

// mount makes the Fiber application and its server.
func (s *Server) mount() {
	limits := s.cfg.Limits
	s.app = fiber.New(fiber.Config{
		AppName:                      s.cfg.Name,
		DisableStartupMessage:        true,
		DisablePreParseMultipartForm: true, // else uploads are spooled to disk, past the body limit
		DisableDefaultContentType:    true,
		BodyLimit:                    defaultMaxBody,
		ReadBufferSize:               limits.Header,
		ReadTimeout:                  limits.ReadTimeout,
		IdleTimeout:                  limits.IdleTimeout,
		// Idle connections and WebSockets keep no read buffer, which has the size of the largest header.
		ReduceMemoryUsage: true,
		Concurrency:       math.MaxInt32, // the listener limits connections
		ErrorHandler:      s.unreadable,
		RequestMethods:    methods,
		CaseSensitive:     true,
		StrictRouting:     true,
	})
	s.app.Use(s.observed, recovered, s.traced, s.crossOrigin)
	s.table.register(s.app, s.chain)
	s.app.Use(s.unmatchedRoute)
	s.fiber = s.app.Handler()
	http := s.app.Server()
	http.Handler = s.serveHTTP
	http.HeaderReceived = s.headerReceived
	http.ExpectHandler = s.beforeBody
	http.SecureErrorLogMessage = true
	http.ConnState = func(c net.Conn, state fasthttp.ConnState) {
		conn := c.(*netconn.Conn)
		switch state {
		case fasthttp.StateActive:
			conn.SetReceiving()
		case fasthttp.StateIdle:
			conn.SetWaiting()
		}
	}
}

// Serve answers requests until Shutdown. It closes ln.
func (s *Server) Serve(ln net.Listener) error {
	limits := s.cfg.Limits
	listener := netconn.Listen(ln, netconn.Limits{
		Connections: limits.Connections, AddressConnections: limits.AddressConnections,
		Shared: s.trusts, Grace: limits.ReadTimeout, Longest: limits.BodyTimeout, WriteTimeout: limits.WriteTimeout,
		Rate: limits.Rate,
	})
	if !s.listener.CompareAndSwap(nil, listener) {
		return errors.New("serving: the server has a listener already")
	}
	var watcher sync.WaitGroup
	watcher.Go(func() { s.watchClients(listener) })
	defer watcher.Wait()
	defer s.stop()
	if s.stopped.Err() != nil { // Shutdown came first
		return ln.Close()
	}
	if err := s.app.Server().Serve(listener); err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

// watchPause is the interval at which the clients of running calls are checked.
const watchPause = 100 * time.Millisecond

func (s *Server) watchClients(listener *netconn.Listener) {
	for pause.For(s.stopped, watchPause) == nil {
		listener.Each((*netconn.Conn).CheckGone)
	}
}

const (
	drainPause = 10 * time.Millisecond
	// cutGrace is the time for handlers to notice that their call has ended.
	cutGrace = 2 * time.Second
)

// Leave moves clients to other instances: requests are served as before, and each reply closes its connection.
func (s *Server) Leave() { s.leaving.Store(true) }

// Shutdown stops accepting, drains, and waits until all connections are closed. A draining server refuses new requests
// with 503, except on routes with WhileDraining, and closes Conn.Draining. When ctx ends, Shutdown cuts the remaining
// connections, so that their clients see an error, and returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.drain()
	defer s.stop()
	listener := s.listener.Load()
	if listener == nil {
		return nil
	}
	listener.Close()
	empty := func() bool {
		listener.CloseIdle()
		return listener.Open() == 0
	}
	err := waitUntil(ctx, empty)
	if err != nil {
		err = fmt.Errorf("shutting down: %d connections had to be cut: %w", listener.Open(), err)
		s.cut(listener)
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutGrace)
		defer cancel()
		_ = waitUntil(late, empty) // a handler that ignores its context cannot be waited for
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutGrace)
	defer cancel()
	if closing := s.app.Server().ShutdownWithContext(last); closing != nil && err == nil {
		s.log.Warn("connections were left behind at shutdown", "error", closing)
	}
	return err
}

// cut ends all calls and resets their connections.
func (s *Server) cut(listener *netconn.Listener) {
	listener.Each(func(c *netconn.Conn) { c.End(errShutdown) })
	listener.CutAll()
}

func waitUntil(ctx context.Context, done func() bool) error {
	for !done() {
		if err := pause.For(ctx, drainPause); err != nil {
			return err
		}
	}
	return nil
}

// Stats are the figures of a server's connections and bodies.
type Stats struct {
	Connections   int    // open
	Evicted       uint64 // connections that were closed to make room for others
	Refused       uint64 // connections that were closed unanswered because of the limits
	RefusedBodies uint64 // requests refused for lack of memory or disk for their bodies
	Bodies        int64  // bytes of bodies in memory, as announced
	Sockets       int    // open WebSockets of authenticated accounts
}

// Stats returns the current figures.
func (s *Server) Stats() Stats {
	stats := Stats{
		RefusedBodies: s.bodies.Refused() + s.uploads.Refused(), Bodies: s.bodies.Held(), Sockets: s.sockets.count(),
	}
	if l := s.listener.Load(); l != nil {
		stats.Connections, stats.Evicted, stats.Refused = l.Open(), l.Evicted(), l.Refused()
	}
	return stats
}
