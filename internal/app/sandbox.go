package app

import (
	"net/http"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/standins"
)

// sandboxRoutes are what operators drive the payment provider for development with.
func (p *parts) sandboxRoutes() []web.Route {
	if p.cfg.Mode == modeProd {
		return nil
	}
	control := sandboxControl{p.standIns}
	tag, role, status, refuses := web.Tag("Payment sandbox"), web.Role("operator"), web.Returns[standins.Status](), web.Refuses(400, 409)
	routes := []web.Route{
		web.Get("/admin/sandbox", control.status, role, tag, web.Summary("What the payment sandbox is doing"), status, refuses),
		web.Get("/admin/sandbox/customers", control.customers, role, tag, web.Summary("Its customers, and where they pay"), web.Returns[[]standins.Customer](), refuses),
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

// sandboxControl passes what operators order on to the sandbox, if there is one.
type sandboxControl struct{ standIns *standIns }

func errNoSandbox() error {
	return domain.Refuse(domain.Rejected, "There is no payment sandbox here, because RECITAL_STRIPE_KEY or RECITAL_STRIPE_URL is set")
}

func (c sandboxControl) status(call *web.Call, _ struct{}) (web.Reply, error) {
	if c.standIns.sandboxURL() == "" {
		return web.Reply{}, errNoSandbox()
	}
	status, err := c.standIns.status(call)
	return web.JSON(status), err
}

func (c sandboxControl) customers(call *web.Call, _ struct{}) (web.Reply, error) {
	if c.standIns.sandboxURL() == "" {
		return web.Reply{}, errNoSandbox()
	}
	var customers []standins.Customer
	err := c.standIns.control(call, http.MethodGet, "customers", nil, &customers)
	return web.JSON(customers), err
}

type sandboxOrder struct {
	Body []byte `raw:"body" required:"true"`
}

func (c sandboxControl) carryOut(name string) func(*web.Call, sandboxOrder) (web.Reply, error) {
	return func(call *web.Call, in sandboxOrder) (web.Reply, error) {
		if c.standIns.sandboxURL() == "" {
			return web.Reply{}, errNoSandbox()
		}
		status, err := c.standIns.order(call, name, in.Body)
		return web.JSON(status), err
	}
}
