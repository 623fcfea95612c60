// Package operations serves the operational routes: health, readiness, echo, and the management of projections.
package operations

import (
	"context"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/http/web"
)

// maxEcho is the maximum size of an echoed or generated body, in bytes. The tag of echoRequest and the route's limit
// are equal.
const maxEcho = 10 << 20

// API reports on this instance.
type API struct {
	// Missing names the missing parts in plain words, or none if requests can be served.
	Missing func() []string
	Service Service
}

// Service tells whether balancers should use this instance.
type Service interface {
	Leaving() bool
	// Leave takes the instance out of service and returns immediately. It may be called again.
	Leave()
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	tag := web.Tag("Operations")
	return []web.Route{
		web.Get("/health_check", a.health, web.Public(), web.WhileDraining(), tag,
			web.Summary("Whether the process responds"),
			web.Description("For supervisors: responds while the process runs, even while it drains."),
			web.Returns[status]()),
		web.Get("/ready_check", a.ready, web.Public(), web.WhileDraining(), tag,
			web.Summary("Whether requests can be served"),
			web.Description("For load balancers: 200 when the instance serves requests, 503 otherwise, with the "+
				"names of the parts that are not ready."),
			web.Returns[status](), web.Returns[status](web.Status(503), web.Means("Requests cannot be served now"),
				web.Sends("retry-after"))),
		web.Post("/drain", a.drain, web.Role("operator"), web.OrLoopback(), web.WhileDraining(), web.AppendsNothing(), tag,
			web.Acts(web.Act{Kind: audit.ActDrain, Anyway: true, Within: time.Hour}),
			web.Summary("Take this instance out of service"),
			web.Description("It is not ready from then on, serves requests until balancers have noticed, and then accepts no "+
				"more connections; requests in progress end. Callers on its own machine, without a proxy, need no token."),
			web.Returns[status]()),
		web.Post("/echo", a.echo, web.Public(), web.AppendsNothing(), web.MaxBody(maxEcho), tag,
			web.Summary("Test round trip, upload or download"),
			web.Description("Without `length` the reply is the request's body, which tests the round trip. A small "+
				"`length` only tests the upload of the body, and a `length` without a body the download of that many zero bytes."),
			web.ReturnsMedia([]string{"*/*"}, web.Means("The request's body, or zero bytes"))),
	}
}

type status struct {
	Status  string   `json:"status" doc:"The state of the instance: ok, ready, unavailable or draining."`
	Missing []string `json:"missing,omitempty" doc:"The names of the parts that are not ready."`
}

func (a *API) health(*web.Call, struct{}) (web.Reply, error) {
	return web.JSON(status{Status: "ok"}), nil
}

func (a *API) ready(*web.Call, struct{}) (web.Reply, error) {
	now := status{Status: "ready"}
	if a.Service.Leaving() {
		now.Status = "draining"
	} else if now.Missing = a.Missing(); len(now.Missing) > 0 {
		now.Status = "unavailable"
	}
	if now.Status == "ready" {
		return web.JSON(now), nil
	}
	return web.JSON(now).WithStatus(http.StatusServiceUnavailable).WithHeader("Retry-After", "1"), nil
}

func (a *API) drain(*web.Call, struct{}) (web.Reply, error) {
	a.Service.Leave()
	return web.JSON(status{Status: "draining"}), nil
}

type echoRequest struct {
	Length  int    `query:"length" default:"-1" le:"10485760" doc:"the number of zero bytes in the reply; below 0 the reply is the body"`
	Payload []byte `raw:"body"`
}

func (a *API) echo(call *web.Call, in echoRequest) (web.Reply, error) {
	if in.Length < 0 {
		return echoed(call.Header("Content-Type"), in.Payload), nil
	}
	return web.Stream("application/octet-stream", func(_ context.Context, w io.Writer) error {
		_, err := io.CopyN(w, zeros{}, int64(in.Length))
		return err
	}), nil
}

// echoed returns a payload as JSON or plain text if it was sent as such, and otherwise as a file that browsers do not
// open, because it could be a foreign page on the service's origin.
func echoed(contentType string, payload []byte) web.Reply {
	media, _, err := mime.ParseMediaType(contentType)
	if err == nil && (media == "application/json" || media == "text/plain") {
		return web.Bytes(contentType, payload)
	}
	return web.Bytes("application/octet-stream", payload).WithHeader("Content-Disposition", "attachment")
}

// zeros is an endless sequence of zero bytes.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
