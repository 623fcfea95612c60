package docs_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/docs"
	"github.com/recital-tts/recital/internal/http/web/webtest"
)

func TestMain(m *testing.M) { webtest.Main(m) }

type state struct {
	Fine bool `json:"fine"`
}

func fine(*web.Call, struct{}) (web.Reply, error) { return web.JSON(state{true}), nil }

// serve runs a server with one route, which webtest describes.
func serve(t *testing.T) string {
	t.Helper()
	return webtest.Serve(t, web.Config{Routes: []web.Route{web.Get("/fine", fine, web.Public(), web.Returns[state]())}})
}

func get(t *testing.T, method, address string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	request, err := http.NewRequest(method, address, nil)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, body
}

var paths = map[string]string{
	"/openapi.json": "application/json", "/docs": "text/html; charset=utf-8",
	"/docs/assets/start.js":             "text/javascript; charset=utf-8",
	"/docs/assets/swagger-ui-bundle.js": "text/javascript; charset=utf-8",
	"/docs/assets/swagger-ui.css":       "text/css; charset=utf-8",
	"/docs/assets/favicon-32x32.png":    "image/png",
}

func TestTheAddressRedirectsToThePage(t *testing.T) {
	response, body := get(t, http.MethodGet, serve(t)+"/")
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "/docs", response.Request.URL.Path)
	require.Contains(t, string(body), "<html")
}

func TestTheDescriptionListsTheRoutesAndItself(t *testing.T) {
	_, body := get(t, http.MethodGet, serve(t)+"/openapi.json")
	var document struct {
		OpenAPI string
		Info    struct{ Title, Version, Description string }
		Paths   map[string]any
	}
	require.NoError(t, json.Unmarshal(body, &document))
	require.Equal(t, "3.1.0", document.OpenAPI)
	require.Equal(t, "1.1", document.Info.Version)
	require.Contains(t, document.Info.Description, "**Characters** are Unicode code points")
	for _, path := range []string{"/fine", "/openapi.json", "/docs", "/docs/assets/{name}"} {
		require.Contains(t, document.Paths, path)
	}
}

func TestFilesHaveAnAcceptedEncoding(t *testing.T) {
	address := serve(t)
	for path, mediaType := range paths {
		plain, want := get(t, http.MethodGet, address+path, "Accept-Encoding", "identity")
		require.Equal(t, http.StatusOK, plain.StatusCode, path)
		require.Equal(t, mediaType, plain.Header.Get("Content-Type"))
		require.Empty(t, plain.Header.Get("Content-Encoding"))
		require.EqualValues(t, len(want), plain.ContentLength, "the length is announced")
		require.Equal(t, "nosniff", plain.Header.Get("X-Content-Type-Options"))
		for header, zipped := range map[string]bool{
			"gzip": true, "br, gzip;q=0.5": true, "*": true, "GZIP ; q=1": true, "br": false, "gzip;q=0": false,
			"gzip;q=0.000": false, "": false,
		} {
			response, got := get(t, http.MethodGet, address+path, "Accept-Encoding", header)
			require.Equal(t, zipped, response.Header.Get("Content-Encoding") == "gzip", "%s with %q", path, header)
			require.Equal(t, "Accept-Encoding", response.Header.Get("Vary"))
			if zipped {
				reader, err := gzip.NewReader(bytes.NewReader(got))
				require.NoError(t, err)
				got, err = io.ReadAll(reader)
				require.NoError(t, err)
			}
			require.True(t, bytes.Equal(want, got), path)
		}
	}
}

func TestCachedFilesAreNotSentAgain(t *testing.T) {
	address := serve(t)
	for path := range paths {
		response, _ := get(t, http.MethodGet, address+path)
		tag := response.Header.Get("ETag")
		require.Regexp(t, `^W/"[0-9a-f]{32}"$`, tag)
		require.Equal(t, "no-cache", response.Header.Get("Cache-Control"))
		for _, has := range []string{tag, `"other", ` + tag, strings.TrimPrefix(tag, "W/"), "*"} {
			response, body := get(t, http.MethodGet, address+path, "If-None-Match", has)
			require.Equal(t, http.StatusNotModified, response.StatusCode, path)
			require.Equal(t, tag, response.Header.Get("ETag"))
			require.Empty(t, body)
		}
		response, _ = get(t, http.MethodGet, address+path, "If-None-Match", `"other"`)
		require.Equal(t, http.StatusOK, response.StatusCode)
	}
}

func TestScriptsOfOtherOriginsMayReadTheDescription(t *testing.T) {
	response, _ := get(t, http.MethodGet, serve(t)+"/openapi.json", "Origin", "https://elsewhere.example")
	require.Equal(t, "*", response.Header.Get("Access-Control-Allow-Origin"))
}

func TestThePageLoadsOnlyItsOwnParts(t *testing.T) {
	address := serve(t)
	response, page := get(t, http.MethodGet, address+"/docs")
	policy := response.Header.Get("Content-Security-Policy")
	for _, rule := range []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'",
	} {
		require.Contains(t, policy, rule)
	}
	require.NotContains(t, policy, "unsafe")
	require.NotRegexp(t, `<script[^>]*>[^<]`, string(page), "no script within the page")
	for _, link := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(string(page), -1) {
		require.NotRegexp(t, `^(?:[a-z]+:|/)`, link[1], "the page works below any path of a proxy")
		found, _ := get(t, http.MethodGet, address+"/"+link[1])
		require.Equal(t, http.StatusOK, found.StatusCode, link[1])
	}
}

func TestOtherFilesAreNotServed(t *testing.T) {
	address := serve(t)
	for _, name := range []string{"nothing.js", "docs.go", "..%2Fdocs.go", "LICENSE", "swagger-ui.css.gz"} {
		response, _ := get(t, http.MethodGet, address+"/docs/assets/"+name)
		require.Equal(t, http.StatusNotFound, response.StatusCode, name)
	}
}

// The page of a service with a public address may be opened at another address.
func TestThePageMayAskThePublicAddress(t *testing.T) {
	address := webtest.ServeAs(t, docs.Public("https://recital.example/base/"), web.Config{})
	response, _ := get(t, http.MethodGet, address+"/docs")
	require.Contains(t, response.Header.Get("Content-Security-Policy"), "connect-src 'self' https://recital.example;")
	_, body := get(t, http.MethodGet, address+"/openapi.json")
	require.Contains(t, string(body), `"https://recital.example/base"`)
}

func TestATableThatCannotBeDescribed(t *testing.T) {
	_, err := docs.Routes(docs.Public(""), []web.Route{web.Get("/silent", fine)})
	require.ErrorContains(t, err, "GET /silent: no reply is declared")
}
