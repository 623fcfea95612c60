package console_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/console"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
)

func TestMain(m *testing.M) { webtest.Main(m) }

func serve(t *testing.T) string {
	t.Helper()
	return servePage(t, console.Routes)
}

func servePage(t *testing.T, page func() ([]web.Route, error)) string {
	t.Helper()
	routes, err := page()
	require.NoError(t, err)
	return webtest.Serve(t, web.Config{Routes: routes})
}

// pages are the consoles of account holders, and of operators and auditors.
var pages = map[string]func() ([]web.Route, error){"public": console.Routes, "admin": console.AdminRoutes}

// linked returns the addresses that the page loads, as written in the page.
func linked(t *testing.T, page string) []string {
	t.Helper()
	var links []string
	for _, link := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(link[1], "data:") && link[1] != "docs" {
			links = append(links, link[1])
		}
	}
	require.Len(t, links, 2)
	return links
}

func TestThePagesAreSmallAndTheirPartsAreCached(t *testing.T) {
	for name, page := range pages {
		t.Run(name, func(t *testing.T) { requireSmall(t, servePage(t, page)) })
	}
}

func requireSmall(t *testing.T, address string) {
	t.Helper()
	response, page := webtest.Send(t, http.MethodGet, address+"/console", "", "Accept-Encoding", "identity")
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "no-cache", response.Header.Get("Cache-Control"))
	require.Equal(t, "no-referrer", response.Header.Get("Referrer-Policy"))
	require.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"))
	sent := len(zipped(t, []byte(page)))
	for _, link := range linked(t, page) {
		require.NotRegexp(t, `^(?:[a-z]+:|/)`, link, "the page works below any path of a proxy")
		part, content := webtest.Send(t, http.MethodGet, address+"/"+link, "", "Accept-Encoding", "gzip")
		require.Equal(t, http.StatusOK, part.StatusCode, link)
		require.Equal(t, "public, max-age=31536000, immutable", part.Header.Get("Cache-Control"))
		require.Equal(t, "gzip", part.Header.Get("Content-Encoding"))
		sent += len(content)
	}
	require.LessOrEqual(t, sent, 80_000, "bytes of the first view, compressed")
}

func zipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	_, err := writer.Write(content)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	return out.Bytes()
}

func TestThePoliciesOfThePagesAreStrict(t *testing.T) {
	for name, page := range pages {
		t.Run(name, func(t *testing.T) { requireStrict(t, servePage(t, page)) })
	}
}

func requireStrict(t *testing.T, address string) {
	t.Helper()
	response, page := webtest.Send(t, http.MethodGet, address+"/console", "")
	policy := response.Header.Get("Content-Security-Policy")
	for _, rule := range []string{
		"default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self';", "frame-ancestors 'none'",
		"base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
	} {
		require.Contains(t, policy, rule)
	}
	require.NotContains(t, policy, "unsafe")
	require.NotRegexp(t, `<script[^>]*>[^<]|<style|\sstyle=|\son[a-z]+=`, page)
}

// Only the card page admits the payment provider. Its links are relative, so that it works below any path.
func TestOnlyThePageOfCardsAdmitsThePaymentProvider(t *testing.T) {
	address := serve(t)
	response, page := webtest.Send(t, http.MethodGet, address+"/console/card", "")
	require.Equal(t, http.StatusOK, response.StatusCode)
	policy := response.Header.Get("Content-Security-Policy")
	for _, rule := range []string{
		"default-src 'none'", "script-src 'self' https://js.stripe.com", "connect-src 'self' https://api.stripe.com;",
		"frame-src https://js.stripe.com", "style-src 'self';", "frame-ancestors 'none'", "form-action 'none'",
	} {
		require.Contains(t, policy, rule)
	}
	require.NotContains(t, policy, "unsafe")
	require.NotRegexp(t, `<script[^>]*>[^<]|<style|\sstyle=|\son[a-z]+=|https://`, page)
	for _, link := range linked(t, page) {
		part, _ := webtest.Send(t, http.MethodGet, address+"/console/"+link, "")
		require.Equal(t, http.StatusOK, part.StatusCode, link)
	}
	response, _ = webtest.Send(t, http.MethodGet, address+"/console", "")
	require.NotContains(t, response.Header.Get("Content-Security-Policy"), "stripe")
}

// During an upgrade, the page may come from one instance and its parts from another.
func TestRequestsForPartsOfAnotherReleaseGetCurrentOnesUncached(t *testing.T) {
	address := serve(t)
	for name, status := range map[string]int{
		"main-0123456789ab.js": 200, "main.css": 200, "worklet.js": 200, "other-0123456789ab.js": 404, "index.html": 404,
		"console.go": 404, "..%2Fconsole.go": 404, "operators.js": 404,
	} {
		response, _ := webtest.Send(t, http.MethodGet, address+"/console/assets/"+name, "")
		require.Equal(t, status, response.StatusCode, name)
		if status == http.StatusOK {
			require.Equal(t, "no-cache", response.Header.Get("Cache-Control"))
		}
	}
}

func TestTheAddressRedirectsToTheConsole(t *testing.T) {
	address := serve(t)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, c := range []struct{ address, cookie, location string }{
		{address, "", "docs"}, {address, "svc-session=id.secret", "console"},
		{servePage(t, console.AdminRoutes), "", "console"},
	} {
		request, err := http.NewRequest(http.MethodGet, c.address+"/", nil)
		require.NoError(t, err)
		request.Header.Set("Cookie", c.cookie)
		response, err := client.Do(request)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, response.Body)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusFound, response.StatusCode)
		require.Equal(t, c.location, response.Header.Get("Location"), "relative, because the service may be below a path")
	}
}

// The embedded files are those that make console builds.
func TestTheEmbeddedFilesAreBuiltFromTheSources(t *testing.T) {
	if testing.Short() {
		t.Skip("needs npm's registry")
	}
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	folder := t.TempDir()
	sources := filepath.Join(folder, "console")
	require.NoError(t, os.Mkdir(sources, 0o700))
	require.NoError(t, os.CopyFS(filepath.Join(sources, "src"), os.DirFS(filepath.Join(root, "console", "src"))))
	for _, name := range []string{"package.json", "package-lock.json", "tsconfig.json"} {
		content, err := os.ReadFile(filepath.Join(root, "console", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(sources, name), content, 0o600))
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = sources
	if output, err := install.CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED, because npm's packages cannot be installed: the console may differ from its sources\n%s", output)
	}
	built := filepath.Join(folder, "dist")
	build := exec.CommandContext(t.Context(), filepath.Join(root, "console", "build.sh"), sources, built)
	build.Dir = root
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	for _, name := range []string{"main.js", "main.css", "card.js", "worklet.js", "operators.js", "operators.css"} {
		want, err := os.ReadFile(filepath.Join(built, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join("dist", name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%s is not built from its sources: run make console", name)
	}
}
