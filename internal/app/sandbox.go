package app

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/standins/sandbox"
)

// sandboxRoutes are what operators drive the payment provider for development with.
func (p *parts) sandboxRoutes() []web.Route {
	if p.cfg.Mode == modeProd {
		return nil
	}
	control := sandboxControl{p.sandbox}
	tag, role, status, refuses := web.Tag("Payment sandbox"), web.Role("operator"), web.Returns[sandbox.Status](), web.Refuses(400, 409)
	routes := []web.Route{
		web.Get("/admin/sandbox", control.status, role, tag, web.Summary("What the payment sandbox is doing"), status, refuses),
		web.Get("/admin/sandbox/customers", control.customers, role, tag, web.Summary("Its customers, and where they pay"), web.Returns[[]sandbox.Overview](), refuses),
	}
	for _, order := range []struct{ name, summary string }{
		{"advance", "Advance the clock, and do what is due until then"},
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
		routes = append(routes, web.Post("/admin/sandbox/"+order.name, control.carryOut(order.name), role, tag,
			web.Summary(order.summary), web.RawBody("application/json"), web.AppendsNothing(), status, refuses))
	}
	return routes
}

// sandboxControl passes what operators want on to the sandbox, if there is one.
type sandboxControl struct{ sandbox *sandbox.Sandbox }

func errNoSandbox() error {
	return domain.Refuse(domain.Rejected, "There is no payment sandbox here, because RECITAL_STRIPE_KEY or RECITAL_STRIPE_URL is set")
}

func (c sandboxControl) status(call *web.Call, _ struct{}) (web.Reply, error) {
	return c.pass(call, http.MethodGet, "/status", nil)
}

func (c sandboxControl) customers(*web.Call, struct{}) (web.Reply, error) {
	if c.sandbox == nil {
		return web.Reply{}, errNoSandbox()
	}
	customers, err := c.sandbox.Customers()
	return web.JSON(customers), err
}

type sandboxOrder struct {
	Body []byte `raw:"body" required:"true"`
}

func (c sandboxControl) carryOut(name string) func(*web.Call, sandboxOrder) (web.Reply, error) {
	return func(call *web.Call, in sandboxOrder) (web.Reply, error) {
		return c.pass(call, http.MethodPost, "/"+name, in.Body)
	}
}

func (c sandboxControl) pass(call *web.Call, method, path string, body []byte) (web.Reply, error) {
	if c.sandbox == nil {
		return web.Reply{}, errNoSandbox()
	}
	request, err := http.NewRequestWithContext(call, method, path, bytes.NewReader(body))
	if err != nil {
		return web.Reply{}, err
	}
	answer := memory{header: http.Header{}, status: http.StatusOK}
	c.sandbox.Control().ServeHTTP(&answer, request)
	if answer.status == http.StatusOK {
		var status sandbox.Status
		err := json.Unmarshal(answer.body.Bytes(), &status)
		return web.JSON(status), err
	}
	var refused struct{ Error struct{ Message string } }
	if err := json.Unmarshal(answer.body.Bytes(), &refused); err != nil {
		return web.Reply{}, err
	}
	return web.Reply{}, domain.Refuse(domain.Invalid, strings.TrimSuffix(refused.Error.Message, "."))
}

// memory is a http.ResponseWriter that keeps what is written.
type memory struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (m *memory) Header() http.Header { return m.header }

// WriteHeader implements http.ResponseWriter.
func (m *memory) WriteHeader(status int) { m.status = status }

// Write implements http.ResponseWriter.
func (m *memory) Write(p []byte) (int, error) { return m.body.Write(p) }
