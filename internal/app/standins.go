package app

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/process/supervise"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/providers/signin"
	"github.com/recital-tts/recital/internal/standins"
)

// standIns is the child process that runs the providers for development.
type standIns struct {
	command  workers.Command
	started  standins.Started
	requests *http.Client // to the payment sandbox
	clock    *devClock    // nil without a payment sandbox

	mu      sync.Mutex
	config  standins.Config
	process *workers.Process
}

// openStandIns starts, in mode dev, the stand-ins for providers that are not configured. Production images lack the
// program, and recitald runs without it, for the drill of a restore in mode dev.
func (a *App) openStandIns(ctx context.Context) error {
	config, err := a.standInsConfig()
	if err != nil || config == (standins.Config{}) {
		return err
	}
	worker, err := a.cfg.speechWorker()
	if err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(worker), "standins")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		a.log.Warn("there is no program standins beside speechworker, so that no payment provider, identity provider or "+
			"hosting platform takes the place of those that are not configured; make build makes it", "path", path)
		return nil
	}
	s := &standIns{
		command: workers.Command{Path: path, Logger: a.log, Alone: true}, config: config,
		requests: &http.Client{Transport: &http.Transport{}},
	}
	process, started, err := standins.Start(s.command, config)
	if err != nil {
		return err
	}
	s.process, s.started = process, started
	a.standIns = s
	a.keepStandIns(process)
	if config.Payments == nil {
		return nil
	}
	if s.clock, err = openDevClock(a.folder.Path(clockFile), a.keepClock); err != nil {
		return err
	}
	a.time = s.clock.planTime()
	_, err = s.advance(ctx, 0) // one of the clocks may be behind, after a crash
	return err
}

func (a *App) keepClock(content []byte) error { return a.folder.Replace(clockFile, content) }

func (a *App) standInsConfig() (config standins.Config, err error) {
	if a.cfg.Mode == modeProd {
		return config, nil
	}
	if a.cfg.StripeURL == "" && !a.cfg.hasProvider() {
		access := a.cfg.provider(a.secrets.sandbox)
		config.Payments = &standins.Payments{
			File: a.folder.Path("payment-sandbox.jsonl"), Address: a.cfg.standInAddr(1), Key: access.key,
			WebhookSecret: access.secrets[0],
		}
	}
	home, err := url.Parse(a.cfg.PublicURL)
	if err != nil {
		return config, err
	}
	if issuers := a.cfg.developedProviders(); len(issuers) > 0 {
		config.SignIn = &standins.SignIn{
			Address: a.cfg.standInAddr(0), Issuers: issuers, Home: home.Host, ClientSecret: rand.Text(),
		}
	}
	if a.cfg.HostingClient == "" {
		config.Hosting = &standins.Hosting{Address: a.cfg.standInAddr(2), ClientID: "recital", ClientSecret: rand.Text()}
	}
	return config, nil
}

// standInAddr returns the address of the n-th stand-in. They have consecutive ports, or free ones.
func (c Config) standInAddr(n int) string {
	host, port, _ := net.SplitHostPort(c.StandInsAddr)
	if first, err := strconv.Atoi(port); err == nil && first > 0 {
		port = strconv.Itoa(first + n)
	}
	return net.JoinHostPort(host, port)
}

func (c Config) checkStandIns() error {
	if _, _, err := net.SplitHostPort(c.StandInsAddr); err != nil || !signin.IsLoopback(c.StandInsAddr) {
		return errors.New("the providers for development serve on loopback only, HOST:PORT")
	}
	return nil
}

// keepStandIns restarts the stand-ins whenever they end, until recitald closes.
func (a *App) keepStandIns(process *workers.Process) {
	ctx, stop := context.WithCancel(context.Background())
	child := supervise.Child[*workers.Process]{
		Name: "standins", Start: a.standIns.restart, Serve: serveStandIns, Logger: a.log,
		Policy: supervise.Policy{FirstDelay: 100 * time.Millisecond, LongestDelay: 5 * time.Second, Steady: 10 * time.Second},
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		child.Keep(ctx, process)
	}()
	a.onClose("the stand-ins", func() error {
		stop()
		<-ended
		a.standIns.requests.CloseIdleConnections()
		return nil
	})
}

// restart starts the stand-ins again, at the same addresses.
func (s *standIns) restart(context.Context) (*workers.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	process, started, err := standins.Start(s.command, s.config.At(s.started))
	if err != nil {
		return nil, err
	}
	if started != s.started {
		process.Kill()
		<-process.Done()
		return nil, errors.New("another program has taken an address of the stand-ins")
	}
	s.process = process
	return process, nil
}

// standInsExit is the time for the stand-ins to exit after the end of their input.
const standInsExit = 5 * time.Second

func serveStandIns(ctx context.Context, process *workers.Process) (useful bool, err error) {
	select {
	case <-process.Done():
		return false, process.Err()
	case <-ctx.Done():
	}
	process.CloseInput()
	select {
	case <-process.Done():
	case <-time.After(standInsExit):
		process.Kill()
		<-process.Done()
	}
	return true, nil
}

// setWebhookURL sets the address for the payment sandbox's webhooks, now and after a restart.
func (s *standIns) setWebhookURL(url string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config.Payments == nil {
		return nil
	}
	s.config.Payments.WebhookURL = url
	return standins.Send(s.process.In, s.config)
}

// sandboxURL returns the base URL of the payment sandbox, or "" if there is none.
func (s *standIns) sandboxURL() string {
	if s == nil {
		return ""
	}
	return s.started.Payments
}

// hostingURL returns the URL of the hosting platform for development, or "" if there is none.
func (s *standIns) hostingURL() string {
	if s == nil {
		return ""
	}
	return s.started.Hosting
}

// status returns the status of the payment sandbox.
func (s *standIns) status(ctx context.Context) (status standins.Status, err error) {
	return status, s.control(ctx, http.MethodGet, "status", nil, &status)
}

// order sends an order to the payment sandbox, and returns its status afterwards.
func (s *standIns) order(ctx context.Context, name string, body []byte) (status standins.Status, err error) {
	return status, s.control(ctx, http.MethodPost, name, body, &status)
}

// control sends a request to the control of the payment sandbox. If it is refused, the error is a domain.Error.
func (s *standIns) control(ctx context.Context, method, path string, body []byte, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, s.started.Payments+"/sandbox/"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.config.Payments.Key)
	response, err := s.requests.Do(request)
	if err != nil {
		return fmt.Errorf("asking the payment sandbox: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("asking the payment sandbox: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		var refused struct{ Error struct{ Message string } }
		if err := json.Unmarshal(answer, &refused); err != nil {
			return fmt.Errorf("reading an answer of the payment sandbox: %w", err)
		}
		return domain.Refuse(domain.Invalid, strings.TrimSuffix(refused.Error.Message, "."))
	}
	return json.Unmarshal(answer, into)
}

// sandboxRoutes returns the routes for controlling the payment provider for development.
func sandboxRoutes(mode string, standIns *standIns) []web.Route {
	if mode == modeProd {
		return nil
	}
	tag, role, status, refuses := web.Tag("Payment sandbox"), web.Role("operator"), web.Returns[standins.Status](),
		web.Refuses(400, 409)
	routes := []web.Route{
		web.Get("/admin/sandbox", standIns.show("status"), role, tag,
			web.Summary("What the payment sandbox is doing"), status, refuses),
		web.Get("/admin/sandbox/customers", standIns.show("customers"), role, tag,
			web.Summary("Its customers, and where they pay"), web.Returns[[]standins.Customer](), refuses),
		web.Post("/admin/sandbox/advance", standIns.advanceBy, role, tag,
			web.Summary("Advance its clock and that of plans, and do what is due until then"), web.AppendsNothing(), status,
			refuses),
	}
	for _, order := range []struct{ name, summary string }{
		{"fail-next-payment", "Have the next payment of a customer declined"},
		{"confirm", "Pay a payment intent, or register a card, as its owner does"},
		{"authenticate", "End the confirmation that a card has asked its owner for"},
		{"refund", "Refund an invoice"},
		{"dispute", "Have an invoice disputed"},
		{"close-dispute", "End a dispute"},
		{"deliver", "Send the webhook of an event again"},
		{"faults", "Have requests to the API go wrong"},
		{"webhooks", "Have webhooks come late, twice, in another order or not at all"},
	} {
		routes = append(routes, web.Post("/admin/sandbox/"+order.name, standIns.carryOut(order.name), role, tag,
			web.Summary(order.summary), web.RawBody("application/json"), web.AppendsNothing(), status, refuses))
	}
	return routes
}

func errNoSandbox() error {
	return domain.Refuse(domain.Rejected,
		"There is no payment sandbox here, because RECITAL_STRIPE_KEY or RECITAL_STRIPE_URL is set")
}

func (s *standIns) show(name string) func(*web.Call, struct{}) (web.Reply, error) {
	return func(call *web.Call, _ struct{}) (web.Reply, error) { return s.passOn(call, http.MethodGet, name, nil) }
}

type sandboxOrder struct {
	Body []byte `raw:"body" required:"true"`
}

func (s *standIns) carryOut(name string) func(*web.Call, sandboxOrder) (web.Reply, error) {
	return func(call *web.Call, in sandboxOrder) (web.Reply, error) {
		return s.passOn(call, http.MethodPost, name, in.Body)
	}
}

// passOn answers an operator's request with the sandbox's answer, if there is a sandbox.
func (s *standIns) passOn(ctx context.Context, method, name string, body []byte) (web.Reply, error) {
	if s.sandboxURL() == "" {
		return web.Reply{}, errNoSandbox()
	}
	var answer json.RawMessage
	err := s.control(ctx, method, name, body, &answer)
	return web.JSON(answer), err
}
