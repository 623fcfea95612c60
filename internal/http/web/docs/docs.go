// Package docs serves the description of a route table: /openapi.json for programs, and /docs for people. The page is
// an embedded Swagger UI, which needs no other host.
package docs

import (
	"embed"
	_ "embed"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/openapi"
	"github.com/recital-tts/recital/internal/http/web/static"
)

//go:embed description.md
var description string

// Public returns the description of the public API.
func Public(address string) openapi.Info {
	return openapi.Info{Title: "Recital", Version: "1.1", Description: description, Server: address}
}

// Admin returns the description of the operators' API.
func Admin() openapi.Info {
	return openapi.Info{Title: "Recital: operators", Version: "1.1", Description: "What recitalctl asks.",
		OperatorSessions: true}
}

// site holds the pages and files that the routes serve.
type site struct {
	document static.File
	sockets  static.File // empty if the table has no WebSockets
	files    map[string]static.File
	policy   string
}

// Routes returns the rows that describe a table and themselves. The description is generated once, here.
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
	s.sockets = static.Pack("application/json", sockets)
	rows := s.rows()
	if !slices.ContainsFunc(table, func(r web.Route) bool { return r.Method == http.MethodGet && r.Path == "/" }) {
		rows = append(rows, homeRow())
	}
	document, err := openapi.Write(info, slices.Concat(table, rows))
	if err != nil {
		return nil, fmt.Errorf("describing the interface: %w", err)
	}
	s.document = static.Pack("application/json", document)
	return rows, nil
}

func (s *site) rows() []web.Route {
	public, tag := web.Public(), web.Tag("Documentation")
	sends, maySend := web.Sends("etag", "cache-control"), web.MaySend("content-encoding")
	unchanged := web.ReturnsNothing(304, web.Means("What the client has is still right"), sends)
	rows := []web.Route{
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
	if s.sockets.Size() > 0 {
		rows = append(rows, web.Get("/asyncapi.json", s.describeSockets, public, tag,
			web.Summary("The description of the WebSockets"),
			web.Description("An AsyncAPI 3.0 document in JSON."), web.Returns[map[string]any](sends, maySend), unchanged))
	}
	return rows
}

// homeRow returns the row for people who open the address of the service in a browser, unless the table has its own.
func homeRow() web.Route {
	return web.Get("/", home, web.Public(), web.Tag("Documentation"), web.Summary("Leads to the description"),
		web.Description("Redirects people to `/docs`."), web.ReturnsNothing(http.StatusFound, web.Sends("location")))
}

func home(*web.Call, struct{}) (web.Reply, error) {
	return web.Redirect(http.StatusFound, "/docs"), nil
}

// revalidated makes browsers revalidate a file each time, so that a new release is not mixed with parts of the old one.
const revalidated = "no-cache"

func (s *site) describe(call *web.Call, in static.Conditions) (web.Reply, error) {
	return s.document.Reply(call, in, revalidated)
}

func (s *site) describeSockets(call *web.Call, in static.Conditions) (web.Reply, error) {
	return s.sockets.Reply(call, in, revalidated)
}

func (s *site) page(call *web.Call, in static.Conditions) (web.Reply, error) {
	call.SetHeader("Content-Security-Policy", s.policy)
	call.SetHeader("Referrer-Policy", "no-referrer")
	return s.files["index.html"].Reply(call, in, revalidated)
}

type assetRequest struct {
	static.Conditions
	Name string `path:"name" doc:"The name of the file." example:"start.js"`
}

func (s *site) asset(call *web.Call, in assetRequest) (web.Reply, error) {
	found, ok := s.files[in.Name]
	if !ok {
		return web.Reply{}, &web.Error{Status: 404, Message: "Not Found", Detail: true}
	}
	return found.Reply(call, in.Conditions, revalidated)
}

// policy returns the Content-Security-Policy: the page may load only its own parts and call only this service. Audio is
// loaded from blobs, and small pictures of the style sheet from data URLs.
func policy(address string) string {
	connect := "'self'"
	if origin := originOf(address); origin != "" {
		connect += " " + origin
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src blob:; " +
		"connect-src " + connect +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// parts has the page, with Swagger UI from the package swagger-ui-dist 5.35.0, compressed.
//
//go:embed page swagger-ui/*.gz swagger-ui/*.png
var parts embed.FS

// embedded returns the files of the page by their names.
func embedded() (map[string]static.File, error) {
	files := map[string]static.File{}
	for _, folder := range []string{"page", "swagger-ui"} {
		entries, err := parts.ReadDir(folder)
		if err != nil {
			return nil, fmt.Errorf("listing the files of the page: %w", err)
		}
		for _, entry := range entries {
			name := strings.TrimSuffix(entry.Name(), ".gz")
			if files[name], err = load(path.Join(folder, entry.Name())); err != nil {
				return nil, fmt.Errorf("reading the page's %s: %w", name, err)
			}
		}
	}
	return files, nil
}

func load(place string) (static.File, error) {
	content, err := parts.ReadFile(place)
	if err != nil {
		return static.File{}, err
	}
	plain, compressed := strings.CutSuffix(place, ".gz")
	if !compressed {
		return static.Pack(static.MediaType(place), content), nil
	}
	return static.Packed(static.MediaType(plain), content), nil
}

// originOf returns the scheme and host of an address, or "" if it has none.
func originOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host
}
