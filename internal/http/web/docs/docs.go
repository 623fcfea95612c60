// Package docs serves the description of a route table: /openapi.json for programs, and /docs for people. The latter
// is Swagger UI, which is embedded, so that no other host is needed.
package docs

import (
	_ "embed"
	"fmt"
	"net/http"
	"slices"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/openapi"
)

//go:embed description.md
var description string

// Public describes the public interface.
func Public(address string) openapi.Info {
	return openapi.Info{Title: "Recital", Version: "1.1", Description: description, Server: address}
}

// Admin describes the operators' interface.
func Admin() openapi.Info {
	return openapi.Info{Title: "Recital: operators", Version: "1.1", Description: "What recitalctl asks."}
}

// site is what the routes serve.
type site struct {
	document file
	sockets  file // empty where the table has no WebSockets
	files    map[string]file
	policy   string
}

// Routes are the rows that describe a table, themselves included. The description is made here, once.
func Routes(info openapi.Info, table []web.Route) ([]web.Route, error) {
	files, err := embedded()
	if err != nil {
		return nil, err
	}
	s := &site{files: files, policy: policy(info.Server)}
	sockets, err := openapi.WriteSockets(info, table)
	if err != nil {
		return nil, fmt.Errorf("describing the interface: %w", err)
	}
	if s.sockets, err = pack("application/json", sockets); err != nil {
		return nil, err
	}
	rows := s.rows()
	document, err := openapi.Write(info, slices.Concat(table, rows))
	if err != nil {
		return nil, fmt.Errorf("describing the interface: %w", err)
	}
	if s.document, err = pack("application/json", document); err != nil {
		return nil, err
	}
	return rows, nil
}

func (s *site) rows() []web.Route {
	public, tag := web.Public(), web.Tag("Documentation")
	sends, maySend := web.Sends("etag", "cache-control"), web.MaySend("content-encoding")
	unchanged := web.ReturnsNothing(304, web.Means("What the client has is still right"), sends)
	rows := []web.Route{
		web.Get("/", home, public, tag, web.Summary("Leads to the description"),
			web.Description("Redirects people to `/docs`."), web.ReturnsNothing(302, web.Sends("location"))),
		web.Get("/openapi.json", s.describe, public, tag, web.Summary("This description"),
			web.Description("An OpenAPI 3.1 document in JSON."),
			web.Returns[map[string]any](sends, maySend), unchanged),
		web.Get("/docs", s.page, public, tag, web.Summary("This description as a page"),
			web.Description("A page from which each operation can be tried."),
			web.ReturnsMedia([]string{"text/html"}, sends, maySend, web.Sends("content-security-policy")), unchanged),
		web.Get("/docs/assets/{name}", s.asset, public, tag, web.Summary("A part of that page"),
			web.Description("Scripts and styles of `/docs`."),
			web.ReturnsMedia([]string{"text/javascript", "text/css", "image/png"}, sends, maySend), unchanged, web.Refuses(404)),
	}
	if s.sockets.size > 0 {
		rows = append(rows, web.Get("/asyncapi.json", s.describeSockets, public, tag, web.Summary("The description of the WebSockets"),
			web.Description("An AsyncAPI 3.0 document in JSON."), web.Returns[map[string]any](sends, maySend), unchanged))
	}
	return rows
}

// home is for people who open the address of the service in a browser.
func home(*web.Call, struct{}) (web.Reply, error) {
	return web.Redirect(http.StatusFound, "/docs"), nil
}

// conditions are what the client takes and has.
type conditions struct {
	Encodings   string `header:"accept-encoding" doc:"gzip is used"`
	IfNoneMatch string `header:"if-none-match" doc:"The etag of what the client has: if it is still right, the reply is a 304."`
}

func (s *site) describe(call *web.Call, in conditions) (web.Reply, error) {
	return s.document.reply(call, in)
}

func (s *site) describeSockets(call *web.Call, in conditions) (web.Reply, error) {
	return s.sockets.reply(call, in)
}

func (s *site) page(call *web.Call, in conditions) (web.Reply, error) {
	call.SetHeader("Content-Security-Policy", s.policy)
	call.SetHeader("Referrer-Policy", "no-referrer")
	return s.files["index.html"].reply(call, in)
}

type assetRequest struct {
	conditions
	Name string `path:"name" doc:"The name of the file." example:"start.js"`
}

func (s *site) asset(call *web.Call, in assetRequest) (web.Reply, error) {
	found, ok := s.files[in.Name]
	if !ok {
		return web.Reply{}, &web.Error{Status: 404, Message: "Not Found", Detail: true}
	}
	return found.reply(call, in.conditions)
}

// policy lets the page load its own parts only, and talk to this service only. Audio comes as blobs, small pictures of
// the style sheet as data.
func policy(address string) string {
	connect := "'self'"
	if origin := originOf(address); origin != "" {
		connect += " " + origin
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src blob:; connect-src " + connect +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
