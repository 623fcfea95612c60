// Package operations serves the operational routes: health, readiness, echo, and the management of projections.
package operations

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/recital-tts/recital/internal/web"
)

// maxEcho is the largest body that is echoed or made, in bytes. The tag of echoRequest and the route's limit agree.
const maxEcho = 10 << 20

// ErrDraining is why an instance is not ready that finishes what it has begun.
var ErrDraining = errors.New("draining")

// API answers about this instance.
type API struct {
	Ready func() error // nil when requests can be served; otherwise why not, which only ErrDraining is shown of
}

// Routes are the rows for the public route table.
func (a *API) Routes() []web.Route {
	tag := web.Tag("Operations")
	return []web.Route{
		web.Get("/health_check", a.health, web.Public(), web.WhileDraining(), tag, web.Summary("Whether the process answers"),
			web.Returns[status]()),
		web.Get("/ready_check", a.ready, web.Public(), web.WhileDraining(), tag, web.Summary("Whether requests can be served"),
			web.Returns[status](), web.Returns[status](web.Status(503), web.Means("Requests cannot be served now"), web.Sends("retry-after"))),
		web.Post("/echo", a.echo, web.Public(), web.MaxBody(maxEcho), tag, web.Summary("Test round trip, upload or download"),
			web.ReturnsMedia([]string{"*/*"}, web.Means("The body that was sent, or zero bytes"))),
	}
}

type status struct {
	Status string `json:"status"`
}

func (a *API) health(*web.Call, struct{}) (web.Reply, error) {
	return web.JSON(status{"ok"}), nil
}

func (a *API) ready(call *web.Call, _ struct{}) (web.Reply, error) {
	err := a.Ready()
	if err == nil {
		return web.JSON(status{"ready"}), nil
	}
	why := status{"unavailable"}
	if errors.Is(err, ErrDraining) {
		why = status{"draining"}
	}
	return web.JSON(why).WithStatus(http.StatusServiceUnavailable).WithHeader("Retry-After", "1"), nil
}

type echoRequest struct {
	Length  int    `query:"length" default:"-1" le:"10485760" doc:"how many zero bytes to answer; below 0 the body is answered"`
	Payload []byte `raw:"body"`
}

func (a *API) echo(call *web.Call, in echoRequest) (web.Reply, error) {
	if in.Length < 0 {
		contentType := call.Header("Content-Type")
		if contentType == "" {
			contentType = "application/octet-stream"
		}
		return web.Bytes(contentType, in.Payload), nil
	}
	return web.Stream("application/octet-stream", func(_ context.Context, w io.Writer) error {
		return writeZeros(w, in.Length)
	}), nil
}

// writeZeros does it in pieces, so that many large downloads cost little memory.
func writeZeros(w io.Writer, length int) error {
	zeros := make([]byte, min(length, 64<<10))
	for length > 0 {
		n, err := w.Write(zeros[:min(length, len(zeros))])
		if err != nil {
			return err
		}
		length -= n
	}
	return nil
}
