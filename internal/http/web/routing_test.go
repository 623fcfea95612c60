package web_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
)

// table has paths of the interface that collide in a wrong order.
var table = []string{
	"GET /v1/ai/voice/{id}", "GET /v1/ai/voice/list", "GET /v1/ai/voice/{id}/preview", "POST /v1/ai/voice/precheck",
	"POST /v1/ai/voice/{id}/preview/invalidate", "GET /auth/oauth/{provider}", "GET /auth/oauth/validate",
	"GET /auth/oauth/login",
	"GET /speech/beta/{rest:path}", "GET /speech/beta/voices", "POST /speech/beta/{rest:path}",
	"POST /speech/beta/synthesize",
	"GET /v1/account", "GET /v1/account/clip/{id}", "DELETE /v1/account/clip/{id}", "POST /v1/ai/speech",
	"POST /v1/ai/speech/bytes", "GET /",
}

// named returns a route that replies with its row.
func named(row string) web.Route {
	method, path, _ := strings.Cut(row, " ")
	handler := func(*web.Call, none) (web.Reply, error) { return web.Bytes("text/plain", []byte(row)), nil }
	if method == "POST" {
		return web.Post(path, handler, web.Public())
	}
	if method == "DELETE" {
		return web.Delete(path, handler, web.Public())
	}
	return web.Get(path, handler, web.Public())
}

// TestEveryRowIsReached registers the table in several orders. A parameter never matches in place of a literal path.
func TestEveryRowIsReached(t *testing.T) {
	for round := range 4 {
		rows := append([]string(nil), table...)
		rand.New(rand.NewPCG(1, uint64(round))).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		var routes []web.Route
		for _, row := range rows {
			routes = append(routes, named(row))
		}
		s := start(t, web.Config{Routes: routes})
		for _, row := range table {
			method, path, _ := strings.Cut(row, " ")
			path = strings.NewReplacer("{id}", "list-2.x", "{provider}", "idp_1", "{rest:path}", "a/b/voices").Replace(path)
			require.Equal(t, row, s.ask(method, path, "").body, "round %d", round)
		}
	}
}

func TestRoutingIsStrictAndCaseSensitive(t *testing.T) {
	s := start(t, web.Config{Routes: []web.Route{named("GET /v1/ai/voice/{id}"), named("GET /v1/account")}})
	for _, path := range []string{
		"/v1/account/", "/V1/account", "/v1//account", "/v1/./account", "/v1/x/../account",
		"/v1/ai/voice/", "/v1/ai/voice/a/b", "/v1/%61ccount",
	} {
		request, err := http.NewRequest("GET", s.url, nil)
		require.NoError(t, err)
		request.URL.Opaque = path
		response, err := s.client.Do(request)
		require.NoError(t, err)
		response.Body.Close()
		require.Equal(t, 404, response.StatusCode, path)
	}
}

func TestPathParametersAreUnescapedOnce(t *testing.T) {
	type in struct {
		ID string `path:"id" maxlen:"12"`
	}
	s := start(t, web.Config{Routes: []web.Route{
		web.Get("/clip/{id}", func(_ *web.Call, in in) (web.Reply, error) { return web.JSON(in.ID), nil }, web.Public()),
	}})
	for path, want := range map[string]string{
		"/clip/a%2Fb": `"a/b"`, "/clip/a%252Fb": `"a%2Fb"`, "/clip/%C3%A4": `"ä"`, "/clip/rk_A-b.c": `"rk_A-b.c"`,
		"/clip/a+b": `"a+b"`,
	} {
		require.Equal(t, want, s.ask("GET", path, "").body)
	}
	require.Equal(t, []any{"path", "id"},
		s.ask("GET", "/clip/%FF", "").json(t)["detail"].([]any)[0].(map[string]any)["loc"])
	require.Contains(t, s.ask("GET", "/clip/1234567890123", "").body, "string_too_long")
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	s := start(t, web.Config{Routes: []web.Route{web.Get("/ok", ok, web.Public()), web.Get("/account", ok)}})
	a := s.ask("HEAD", "/ok", "")
	require.Equal(t, 200, a.StatusCode)
	require.Equal(t, int64(len(`{"ok":true}`)), a.ContentLength)
	require.Empty(t, a.body)
	require.Equal(t, 401, s.ask("HEAD", "/account", "").StatusCode)
}

func TestHeadIsRefusedWhereGetChangesSomething(t *testing.T) {
	called := false
	spend := func(*web.Call, none) (web.Reply, error) { called = true; return web.JSON("spent"), nil }
	s := start(t, web.Config{Routes: []web.Route{
		web.Get("/speech", spend, web.Public(), web.Appends()), web.Post("/speech", ok, web.Public()),
	}})
	a := s.ask("HEAD", "/speech", "")
	require.Equal(t, 405, a.StatusCode)
	require.Equal(t, "GET, POST, OPTIONS", a.Header.Get("Allow"))
	require.False(t, called)
	require.Equal(t, "GET, POST, OPTIONS", s.ask("OPTIONS", "/speech", "").Header.Get("Allow"))
	require.Equal(t, 200, s.ask("GET", "/speech", "").StatusCode)
	require.True(t, called)
}

func TestCrossOriginRequests(t *testing.T) {
	s := start(t, web.Config{Routes: []web.Route{web.Get("/ok", ok, web.Public()), web.Post("/speech", ok)}})
	a := s.ask("OPTIONS", "/speech", "", "Origin", "https://example.com", "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "x-api-key, content-type")
	require.Equal(t, 204, a.StatusCode, "a preflight carries no key")
	require.Equal(t, "*", a.Header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, a.Header.Get("Access-Control-Allow-Methods"), "POST")
	require.Equal(t, "x-api-key, content-type", a.Header.Get("Access-Control-Allow-Headers"))
	require.Empty(t, a.Header.Get("Access-Control-Allow-Credentials"))
	a = s.ask("OPTIONS", "/speech", "", "Origin", "https://example.com", "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "a b;<c>")
	require.Equal(t, "*", a.Header.Get("Access-Control-Allow-Headers"), "nonsense is not echoed")
	a = s.ask("GET", "/ok", "", "Origin", "https://example.com")
	require.Equal(t, "*", a.Header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, a.Header.Get("Access-Control-Expose-Headers"), "request-id")
	require.Equal(t, "*", s.ask("POST", "/speech", "", "Origin",
		"https://example.com").Header.Get("Access-Control-Allow-Origin"), "refusals are readable too")
	plain := s.ask("OPTIONS", "/speech", "")
	require.Equal(t, 204, plain.StatusCode)
	require.Equal(t, "POST, OPTIONS", plain.Header.Get("Allow"))
	require.Equal(t, 404, s.ask("OPTIONS", "/nowhere", "").StatusCode)
}

func TestTheAdminServerHasNoCORS(t *testing.T) {
	s := start(t, web.Config{NoCORS: true, Routes: []web.Route{web.Get("/ok", ok, web.Public())}})
	require.Empty(t, s.ask("GET", "/ok", "", "Origin", "https://example.com").Header.Get("Access-Control-Allow-Origin"))
	a := s.ask("OPTIONS", "/ok", "", "Origin", "https://example.com", "Access-Control-Request-Method", "GET")
	require.Empty(t, a.Header.Get("Access-Control-Allow-Methods"))
}

// TestValuesSurviveTheRequest keeps inputs of handlers while the connection's buffers are reused.
func TestValuesSurviveTheRequest(t *testing.T) {
	type in struct {
		ID    string `path:"id"`
		Query string `query:"q"`
		Agent string `header:"user-agent"`
		Text  string `body:"text"`
	}
	type kept struct {
		in
		header, method, session string
	}
	var mu sync.Mutex
	var all []kept
	s := start(t, web.Config{Routes: []web.Route{
		web.Post("/keep/{id}", func(c *web.Call, in in) (web.Reply, error) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, kept{in, c.Header("x-extra"), c.Method(), c.SessionCookie()})
			return web.JSON(nil), nil
		}, web.Public(), web.Forms()),
	}})
	want := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), 8) }
	for i := range 60 {
		body, contentType := fmt.Sprintf(`{"text":%q}`, want(i)), "application/json"
		if i%2 == 1 {
			body, contentType = "text="+want(i), "application/x-www-form-urlencoded"
		}
		s.ask("POST", "/keep/"+want(i)+"?q="+want(i), body, "Content-Type", contentType, "User-Agent", want(i), "Cookie",
			"svc-session="+want(i), "x-extra", want(i))
	}
	require.Len(t, all, 60)
	for i, one := range all {
		require.Equal(t, kept{in{want(i), want(i), want(i), want(i)}, want(i), "POST", want(i)}, one)
	}
}

func TestProxyHeadersAreNotTrusted(t *testing.T) {
	type seen struct {
		Loopback bool
		IP       string
	}
	s := start(t, web.Config{Routes: []web.Route{
		web.Get("/who", func(c *web.Call, _ none) (web.Reply, error) {
			return web.JSON(seen{c.Loopback(), c.RemoteIP()}),
				nil
		}, web.Public()),
	}})
	require.JSONEq(t, `{"Loopback":true,"IP":"127.0.0.1"}`, s.ask("GET", "/who", "").body)
	for _, header := range []string{
		"X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "X-Forwarded-Anything", "X-Real-IP", "Via",
	} {
		require.JSONEq(t, `{"Loopback":false,"IP":"127.0.0.1"}`, s.ask("GET", "/who", "", header, "9.9.9.9").body, header)
	}
	require.Equal(t, 200, s.ask("GET", "/who", "", "X-HTTP-Method-Override", "DELETE").StatusCode)
}

func TestAbsoluteRequestTargets(t *testing.T) {
	s := start(t, web.Config{Routes: []web.Route{named("GET /v1/account")}})
	response, _ := s.raw(t, "GET http://evil.example/v1/account?x=1 HTTP/1.1\r\nHost: evil.example\r\nConnection: "+
		"close\r\n\r\n")
	require.Equal(t, 200, response.StatusCode)
}

// raw sends bytes and reads one response and the rest of the connection.
func (s *site) raw(t testing.TB, text string) (*http.Response, string) {
	t.Helper()
	return s.exchange(t, "GET", text)
}

// exchange sends a request of a method, and reads its response.
func (s *site) exchange(t testing.TB, method, text string) (*http.Response, string) {
	t.Helper()
	conn := s.sendRaw(t, text)
	return readResponseTo(t, conn, method)
}

func readResponse(t testing.TB, conn net.Conn) (*http.Response, string) {
	t.Helper()
	return readResponseTo(t, conn, "GET")
}

func readResponseTo(t testing.TB, conn net.Conn, method string) (*http.Response, string) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(body)
}

func TestWrongTablesAreErrorsAtStart(t *testing.T) {
	type badTag struct {
		F int `query:"f" le:"x"`
	}
	type noSuchParam struct {
		ID string `path:"id"`
	}
	bad := func(*web.Call, badTag) (web.Reply, error) { return web.Reply{}, nil }
	lost := func(*web.Call, noSuchParam) (web.Reply, error) { return web.Reply{}, nil }
	for name, routes := range map[string][]web.Route{
		"a wrong tag":               {web.Get("/x", bad, web.Public())},
		"an input outside the path": {web.Get("/x/{other}", lost, web.Public())},
		"a path without a slash":    {web.Get("x", ok, web.Public())},
		"an unreadable path":        {web.Get("/x/{id", ok, web.Public())},
		"a rest in the middle":      {web.Get("/{rest:path}/x", ok, web.Public())},
		"Fiber's own notation":      {web.Get("/x/:id", ok, web.Public())},
		"the same row twice":        {web.Get("/x/{a}", ok, web.Public()), web.Get("/x/{b}", ok, web.Public())},
		"a role without a token":    {web.Get("/x", ok, web.Role("operator"))},
		"a need for authentication": {web.Get("/x", ok)},
		"no time":                   {web.Get("/x", ok, web.Public(), web.Timeout(0))},
	} {
		_, err := web.NewServer(web.Config{Routes: routes, Logger: discard})
		require.Error(t, err, name)
	}
}

// TestLimitsAndFiberAgreeOnTheRoute compares the two look-ups of a route, for every method: Fiber's, and the one for
// the limits of a body before it is read.
func TestLimitsAndFiberAgreeOnTheRoute(t *testing.T) {
	routes := []web.Route{web.Get("/spend", ok, web.Public(), web.Appends())}
	for _, row := range table {
		routes = append(routes, named(row))
	}
	s := start(t, web.Config{Routes: routes})
	fiberRow, random := s.FiberRow(), rand.New(rand.NewPCG(24, 5))
	served := 0
	for range 10_000 {
		path := randomPath(random)
		for _, method := range routedMethods {
			want := s.RowFor(method, path+"?a=/b")
			if method != "PURGE" && method != "QUERY" && method != "get" && want != fiberRow(method, path) {
				t.Fatalf("%s %s: %q, and %q by Fiber", method, path, want, fiberRow(method, path)) // others do not reach Fiber
			}
			if want != "" {
				served++
			}
		}
	}
	require.Greater(t, served, 1000)
}

// randomPath returns a path of a row, mostly with some of its segments replaced.
func randomPath(random *rand.Rand) string {
	odd := []string{
		"v1", "list", "preview", "precheck", "invalidate", "x", "", "%2F", "%6cist", "a-b",
		"a.b", "~", "V1", "LIST", ":id", "*", "+", "..", ".", "a;b", "\xff",
	}
	_, path, _ := strings.Cut(table[random.IntN(len(table))], " ")
	segments := strings.Split(path, "/")[1:]
	for i := range segments {
		if strings.HasPrefix(segments[i], "{") || random.IntN(8) == 0 {
			segments[i] = odd[random.IntN(len(odd))]
		}
	}
	for random.IntN(5) == 0 {
		segments = append(segments, odd[random.IntN(len(odd))])
	}
	return "/" + strings.Join(segments, "/")
}
