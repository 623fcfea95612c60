// Package docs serves the description of a route table: /openapi.json for programs, and /docs for people. The latter
// is Swagger UI, which is embedded, so that no other host is needed.
package docs

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/conditional"
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
	return openapi.Info{Title: "Recital: operators", Version: "1.1", Description: "What recitalctl asks.",
		OperatorSessions: true}
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
	s.sockets = pack("application/json", sockets)
	rows := s.rows()
	document, err := openapi.Write(info, slices.Concat(table, rows))
	if err != nil {
		return nil, fmt.Errorf("describing the interface: %w", err)
	}
	s.document = pack("application/json", document)
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
		rows = append(rows, web.Get("/asyncapi.json", s.describeSockets, public, tag,
			web.Summary("The description of the WebSockets"),
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
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src blob:; " +
		"connect-src " + connect +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// The parts of Swagger UI are those of the package swagger-ui-dist 5.35.0, compressed.
//
//go:embed page swagger-ui/*.gz swagger-ui/*.png
var parts embed.FS

// file is kept compressed, as nearly all clients want it, from its first reader on.
type file struct {
	mediaType string
	gzipped   func() []byte
	size      int64 // without compression, in bytes
	tag       string
}

// embedded are the files of the page by their names.
func embedded() (map[string]file, error) {
	files := map[string]file{}
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

func load(place string) (file, error) {
	content, err := parts.ReadFile(place)
	if err != nil {
		return file{}, err
	}
	plain, compressed := strings.CutSuffix(place, ".gz")
	mediaType := map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
		".png": "image/png",
	}[path.Ext(plain)]
	if !compressed {
		return pack(mediaType, content), nil
	}
	// A gzip file ends with the size of what it holds (RFC 1952, 2.3.1).
	size := int64(binary.LittleEndian.Uint32(content[len(content)-4:]))
	return file{mediaType: mediaType, gzipped: func() []byte { return content }, size: size, tag: tagOf(content)}, nil
}

// pack returns a file that is compressed when somebody reads it: a start does not wait for that.
func pack(mediaType string, content []byte) file {
	size, tag := int64(len(content)), tagOf(content)
	gzipped := sync.OnceValue(func() []byte {
		var out bytes.Buffer // to which writing never fails
		writer, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
		_, _ = writer.Write(content)
		_ = writer.Close()
		return out.Bytes()
	})
	return file{mediaType: mediaType, gzipped: gzipped, size: size, tag: tag}
}

// tagOf is a weak entity tag (RFC 9110, 8.8.3): one for both encodings.
func tagOf(content []byte) string {
	sum := sha256.Sum256(content)
	return `W/"` + hex.EncodeToString(sum[:16]) + `"`
}

// reply answers the file in the encoding that the client takes, or that it is unchanged. Browsers revalidate it each
// time: a new release must not meet parts of the old one.
func (f file) reply(call *web.Call, in conditions) (web.Reply, error) {
	call.Vary("Accept-Encoding")
	content := web.Content{
		Tag: f.tag, CacheControl: "no-cache", Size: f.size,
		Body: func(conditional.Part) (web.Reply, error) { return f.body(in), nil },
	}
	return content.Serve(call, conditional.Headers{IfNoneMatch: in.IfNoneMatch})
}

func (f file) body(in conditions) web.Reply {
	if takesGzip(in.Encodings) {
		return web.Bytes(f.mediaType, f.gzipped()).WithHeader("Content-Encoding", "gzip")
	}
	return web.Stream(f.mediaType, func(_ context.Context, w io.Writer) error {
		return f.unzip(w)
	}).WithLength(f.size)
}

// unzip writes the file as it is.
func (f file) unzip(w io.Writer) error {
	reader, err := gzip.NewReader(bytes.NewReader(f.gzipped()))
	if err != nil {
		return fmt.Errorf("unpacking a file: %w", err)
	}
	_, err = io.Copy(w, reader)
	return err
}

// takesGzip reads an Accept-Encoding header (RFC 9110, 12.5.3) as far as it matters here.
func takesGzip(header string) bool {
	for _, one := range strings.Split(header, ",") {
		coding, weight, _ := strings.Cut(strings.ReplaceAll(one, " ", ""), ";q=")
		if strings.EqualFold(coding, "gzip") || coding == "*" {
			return strings.Trim(weight, "0.") != "" || weight == ""
		}
	}
	return false
}

// originOf is the scheme and host of an address, "" when it has none.
func originOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host
}
