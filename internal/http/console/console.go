// Package console serves the console: a page on which people look after their account and make speech, and another one
// for operators and auditors. Both are built from the folder console (make console), and are clients of the public
// interface and of the admin interface with the cookie of a session.
package console

import (
	"bytes"
	"embed"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/static"
)

// dist is what make console has built.
//
//go:embed dist
var dist embed.FS

const (
	// policy lets the page load its own parts and talk to this service only. Audio is played from memory, too, and no
	// text can become a script, because nothing may make a trusted type of it.
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
		"media-src 'self' blob:; require-trusted-types-for 'script'; trusted-types 'none'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	// cardPolicy lets the page of cards load Stripe.js, too, whose form is a frame of Stripe's. Stripe.js makes no trusted
	// types, so they are not required there. (https://docs.stripe.com/security/guide#content-security-policy)
	cardPolicy = "default-src 'none'; script-src 'self' https://js.stripe.com https://*.js.stripe.com; " +
		"style-src 'self'; " +
		"connect-src 'self' https://api.stripe.com; img-src 'self' data: https://*.stripe.com; " +
		"frame-src https://js.stripe.com https://*.js.stripe.com https://hooks.stripe.com; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	revalidated = "no-cache"
	// forever is for files whose address contains the hash of their content.
	forever = "public, max-age=31536000, immutable"
)

type site struct {
	page   static.File
	card   static.File
	assets map[string]static.File
}

// Routes returns the rows for the public route table.
func Routes() ([]web.Route, error) {
	s, err := load("index.html", "main.js", "main.css", "card.js", "worklet.js")
	if err == nil {
		s.card, err = s.html("card.html")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the console: %w", err)
	}
	return append(s.rows("A page for the owners of accounts. It uses these routes with the cookie of a session."),
		web.Get("/console/card", s.showCard, web.Public(), tag, web.Summary("The page on which the console takes cards"),
			web.Description("Its content security policy alone admits the payment provider."), html, unchanged),
		web.Get("/", home, web.Public(), tag, web.Summary("Leads to the console or to the description"),
			web.Description("Redirects browsers with the cookie of a session to `/console`, others to `/docs`."),
			web.ReturnsNothing(302, web.Sends("location", "cache-control")))), nil
}

// AdminRoutes returns the rows for the admin route table.
func AdminRoutes() ([]web.Route, error) {
	s, err := load("operators.html", "operators.js", "operators.css")
	if err != nil {
		return nil, fmt.Errorf("reading the operators' console: %w", err)
	}
	const about = "A page for operators and auditors. It uses these routes with the cookie of an operator's session."
	return append(s.rows(about),
		web.Get("/", adminHome, web.Public(), tag, web.Summary("Leads to the console"),
			web.ReturnsNothing(302, web.Sends("location", "cache-control")))), nil
}

// Parts of the routes of pages and assets.
var (
	tag            = web.Tag("Console")
	sends, maySend = web.Sends("etag", "cache-control"), web.MaySend("content-encoding")
	unchanged      = web.ReturnsNothing(304, web.Means("What the client has is still right"), sends)
	html           = web.ReturnsMedia([]string{"text/html"}, sends, maySend, web.Sends("content-security-policy"))
)

// rows returns the routes of the console. The description names its users.
func (s *site) rows(description string) []web.Route {
	public := web.Public()
	return []web.Route{
		web.Get("/console", s.show, public, tag, web.Summary("The console"), web.Description(description),
			html, unchanged),
		web.Get("/console/assets/{name}", s.asset, public, tag, web.Summary("A part of the console"),
			web.Description("The scripts and the style of `/console`. Their names contain a hash of their content."),
			web.ReturnsMedia([]string{"text/javascript", "text/css"}, sends, maySend), unchanged, web.Refuses(404)),
	}
}

// load reads an embedded page and the assets that it, and pages beside it, load.
func load(page string, assets ...string) (s *site, err error) {
	s = &site{assets: map[string]static.File{}}
	for _, name := range assets {
		content, err := dist.ReadFile("dist/" + name)
		if err != nil {
			return nil, err
		}
		s.assets[name] = static.Pack(static.MediaType(name), content)
	}
	s.page, err = s.html(page)
	return s, err
}

// html returns a page with the addresses of its assets.
func (s *site) html(name string) (static.File, error) {
	page, err := dist.ReadFile("dist/" + name)
	if err != nil {
		return static.File{}, err
	}
	for asset, file := range s.assets {
		page = bytes.ReplaceAll(page, []byte("{"+asset+"}"), []byte(hashed(asset, file)))
	}
	return static.Pack(static.MediaType(name), page), nil
}

// hashed returns the name of an asset with the hash of its content.
func hashed(name string, file static.File) string {
	extension := path.Ext(name)
	return strings.TrimSuffix(name, extension) + "-" + file.Sum()[:12] + extension
}

// home is for people who open the address of the service in a browser. The addresses are relative, because a proxy may
// serve the service below a path.
func home(call *web.Call, _ struct{}) (web.Reply, error) {
	call.SetHeader("Cache-Control", "no-store")
	if call.SessionCookie() != "" {
		return web.Redirect(http.StatusFound, "console"), nil
	}
	return web.Redirect(http.StatusFound, "docs"), nil
}

// adminHome is for people who open the admin address in a browser. The page signs them in.
func adminHome(call *web.Call, _ struct{}) (web.Reply, error) {
	call.SetHeader("Cache-Control", "no-store")
	return web.Redirect(http.StatusFound, "console"), nil
}

func (s *site) show(call *web.Call, in static.Conditions) (web.Reply, error) {
	return send(call, in, s.page, policy)
}

func (s *site) showCard(call *web.Call, in static.Conditions) (web.Reply, error) {
	return send(call, in, s.card, cardPolicy)
}

func send(call *web.Call, in static.Conditions, page static.File, policy string) (web.Reply, error) {
	call.SetHeader("Content-Security-Policy", policy)
	call.SetHeader("Referrer-Policy", "no-referrer")
	return page.Reply(call, in, revalidated)
}

type assetRequest struct {
	static.Conditions
	Name string `path:"name" doc:"The name of the file." example:"main.js"`
}

var hashPattern = regexp.MustCompile(`-[0-9a-f]{12}\.`)

// asset serves a file of this release also under the hash of another one: while a release is rolled out, the page may
// come from one instance and its parts from another.
func (s *site) asset(call *web.Call, in assetRequest) (web.Reply, error) {
	name := hashPattern.ReplaceAllString(in.Name, ".")
	file, ok := s.assets[name]
	if !ok {
		return web.Reply{}, &web.Error{Status: http.StatusNotFound, Message: "Not Found", Detail: true}
	}
	if in.Name != hashed(name, file) {
		return file.Reply(call, in.Conditions, revalidated)
	}
	return file.Reply(call, in.Conditions, forever)
}
