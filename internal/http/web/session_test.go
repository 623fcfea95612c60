package web_test

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/rates"
	"github.com/recital-tts/recital/internal/http/web"
)

// goodCookie and the others are cookies of the only session. The others have to be replaced, the foreign one with the
// attributes for a page on another site.
const (
	goodCookie    = "s-1.secret"
	oldCookie     = "s-1.former"
	foreignCookie = "s-1.foreign"
)

var midnight = time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC)

// browsers implements the sessions of the tests' server.
type browsers struct {
	mu   sync.Mutex
	uses []web.SessionUse
}

func (b *browsers) Session(_ context.Context, cookie string, use web.SessionUse) (web.Session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.uses = append(b.uses, use)
	found := web.Session{Principal: web.Principal{Account: "acc-2", Session: "s-1"}}
	switch cookie {
	case goodCookie:
		return found, nil
	case oldCookie, foreignCookie:
		found.Renewed, found.Expires, found.CrossSite = goodCookie, midnight, cookie == foreignCookie
		return found, nil
	case "s-1.down":
		return web.Session{}, domain.Refuse(domain.Unavailable, "The event store does not answer")
	}
	return web.Session{}, domain.Refuse(domain.Unauthenticated, "no such session in table sessions")
}

func (b *browsers) lastUse() web.SessionUse {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.uses[len(b.uses)-1]
}

func who(c *web.Call, _ none) (web.Reply, error) { return web.JSON(c.Principal.Account), nil }

// everyWay returns routes with every kind of access.
func everyWay() []web.Route {
	return []web.Route{
		web.Get("/read", who), web.Get("/change", who, web.ChangesState()), web.Get("/append", who, web.Appends()),
		web.Post("/write", who), web.Delete("/write", who), web.Put("/write", who),
		web.Post("/harmless", who, web.AppendsNothing()),
		web.Get("/key", who, web.KeyOnly()), web.Get("/optional", who, web.Optional()), web.Get("/public", who, web.Public()),
	}
}

const friend = "https://app.example"

func TestACookieAdmits(t *testing.T) {
	s := start(t, web.Config{Sessions: &browsers{}, Origins: []string{friend}, Routes: everyWay()})
	for name, c := range map[string]struct {
		path, key, cookie string
		status            int
		body              string
	}{
		"to a read":                           {"/read", "", goodCookie, 200, `"acc-2"`},
		"a key goes before it":                {"/read", goodKey, goodCookie, 200, `"acc-1"`},
		"a key goes before a wrong one":       {"/read", goodKey, "wrong", 200, `"acc-1"`},
		"a wrong key is not ignored":          {"/read", "wrong", goodCookie, 401, "Invalid API key"},
		"a key that cannot be looked up, too": {"/read", "key-while-down", goodCookie, 503, ""},
		"not a wrong one":                     {"/read", "", "wrong", 401, "Invalid session"},
		"not one that cannot be looked up":    {"/read", "", "s-1.down", 503, ""},
		"not none": {"/read", "", "", 401,
			"An API key is needed, in the header x-api-key, or a session, in the cookie svc-session"},
		"not on routes for keys":       {"/key", "", goodCookie, 401, "An API key is needed, in the header x-api-key"},
		"on optional routes":           {"/optional", "", goodCookie, 200, `"acc-2"`},
		"a wrong one is ignored there": {"/optional", "", "wrong", 200, `""`},
		"not used on public routes":    {"/public", "", goodCookie, 200, `""`},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.ask("GET", c.path, "", "x-api-key", c.key, "Cookie", "theme=dark; svc-session="+c.cookie)
			require.Equal(t, c.status, a.StatusCode)
			require.Contains(t, a.body, c.body)
			if c.key == "" && c.cookie == "wrong" { // it is cleared, or the browser would send it forever
				require.Len(t, a.Cookies(), 1)
				require.Empty(t, a.Cookies()[0].Value)
				return
			}
			require.Empty(t, a.Header.Values("Set-Cookie"))
		})
	}
	require.NotContains(t, s.logs.String(), goodCookie)
	require.Equal(t, 400, s.ask("GET", "/read", "", "Cookie", "svc-session="+goodCookie+"; svc-session=other").StatusCode)
	require.Equal(t, 200, s.ask("GET", "/read", "", "Cookie",
		"svc-session="+goodCookie+"; svc-session="+goodCookie).StatusCode)
}

// A change with a cookie must come from a page of the service or of an allowed origin.
func TestACookieAloneChangesNothing(t *testing.T) {
	s := start(t, web.Config{Sessions: &browsers{}, Origins: []string{friend}, Routes: everyWay()})
	proofs := map[string]struct {
		headers []string
		proves  bool
	}{
		"nothing":                     {nil, false},
		"the same origin":             {[]string{"Sec-Fetch-Site", "same-origin"}, true},
		"another subdomain":           {[]string{"Sec-Fetch-Site", "same-site"}, false},
		"another site":                {[]string{"Sec-Fetch-Site", "cross-site"}, false},
		"an entered address":          {[]string{"Sec-Fetch-Site", "none"}, false},
		"a friend":                    {[]string{"Origin", friend}, true},
		"a friend on another site":    {[]string{"Origin", friend, "Sec-Fetch-Site", "cross-site"}, true},
		"a friend over HTTP":          {[]string{"Origin", "http://app.example"}, false},
		"a friend's other port":       {[]string{"Origin", friend + ":8443"}, false},
		"a friend's name as a prefix": {[]string{"Origin", friend + ".evil.example"}, false},
		"a stranger": {[]string{
			"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site",
		}, false},
		"a page without an origin":         {[]string{"Origin", "null"}, false},
		"the service's own page":           {[]string{"Origin", s.url}, true},
		"another port of the same machine": {[]string{"Origin", "http://127.0.0.1:1"}, false},
		"the own page over TLS":            {[]string{"Origin", strings.Replace(s.url, "http", "https", 1)}, false},
		"a referer":                        {[]string{"Referer", s.url + "/"}, false},
	}
	for name, proof := range proofs {
		t.Run(name, func(t *testing.T) {
			for _, row := range []string{
				"GET /change", "GET /append", "POST /write", "PUT /write", "DELETE /write", "POST /harmless", "GET /read",
				"HEAD /read",
			} {
				method, path, _ := strings.Cut(row, " ")
				want := http.StatusForbidden
				if proof.proves || path == "/read" {
					want = http.StatusOK
				}
				a := s.ask(method, path, "", append(proof.headers, "Cookie", "svc-session="+goodCookie)...)
				require.Equal(t, want, a.StatusCode, row)
				withKey := s.ask(method, path, "",
					append(proof.headers, "Cookie", "svc-session="+goodCookie, "x-api-key", goodKey)...)
				require.Equal(t, http.StatusOK, withKey.StatusCode, row)
			}
		})
	}
	require.Equal(t, 405, s.ask("HEAD", "/change", "", "x-api-key", goodKey).StatusCode)
}

func TestTheServicesOwnOriginIsThatOfItsPublicAddress(t *testing.T) {
	s := start(t, web.Config{Sessions: &browsers{}, Origin: "https://recital.example", Routes: everyWay()})
	write := func(origin string) int {
		return s.ask("POST", "/write", "", "Cookie", "svc-session="+goodCookie, "Origin", origin).StatusCode
	}
	require.Equal(t, 200, write("https://recital.example"))
	require.Equal(t, 403, write(s.url))
}

func TestTheUseOfASessionIsPassedOn(t *testing.T) {
	b := &browsers{}
	routes := append(everyWay(), web.Get("/view", who, web.Reads(readmodel.AccountsView.View)))
	s := start(t, web.Config{Sessions: b, Routes: routes})
	for path, use := range map[string]web.SessionUse{"/read": {}, "/view": {OnlyReads: true}} {
		require.Equal(t, 200, s.ask("GET", path, "", "Cookie", "svc-session="+goodCookie).StatusCode)
		require.Equal(t, use, b.lastUse(), path)
	}
}

func TestAnOldCookieIsReplaced(t *testing.T) {
	for plain, secure := range map[bool]bool{true: false, false: true} {
		s := start(t, web.Config{Sessions: &browsers{}, PlainCookies: plain, Routes: append(everyWay(),
			web.Get("/out", func(c *web.Call, _ none) (web.Reply, error) { c.ClearSessionCookie(); return web.JSON(true), nil },
				web.Public()))})
		a := s.ask("GET", "/read", "", "Cookie", "svc-session="+oldCookie)
		require.Equal(t, 200, a.StatusCode)
		require.Equal(t, "no-store", a.Header.Get("Cache-Control"))
		require.Len(t, a.Cookies(), 1)
		c := a.Cookies()[0]
		require.Equal(t, http.Cookie{
			Name: "svc-session", Value: goodCookie, Path: "/", Expires: midnight, RawExpires: c.RawExpires, Raw: c.Raw,
			HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode,
		}, *c)

		c = s.ask("GET", "/read", "", "Cookie", "svc-session="+foreignCookie).Cookies()[0]
		require.Equal(t, [3]any{goodCookie, http.SameSiteNoneMode, true}, [3]any{c.Value, c.SameSite, c.Secure})

		c = s.ask("GET", "/out", "").Cookies()[0]
		require.Empty(t, c.Value)
		require.True(t, c.Expires.Before(time.Now()))
		require.Equal(t, [3]any{"/", true, secure}, [3]any{c.Path, c.HttpOnly, c.Secure})
	}
}

func TestASocketAcceptsTheCookieFromAPageOfTheService(t *testing.T) {
	b := &browsers{}
	s := start(t, web.Config{
		Sessions: b, Origins: []string{friend}, Routes: []web.Route{web.Socket("/socket", authenticated, web.MaxBody(1000))},
	})
	for name, c := range map[string]struct {
		headers []string
		message string
		code    int
		says    string
	}{
		"of its own":             {[]string{"Origin", s.url}, " ", 0, "ready acc-2"},
		"of a friend":            {[]string{"Origin", friend}, " ", 0, "ready acc-2"},
		"with Firefox's headers": {[]string{"Sec-Fetch-Site", "same-origin", "Origin", s.url}, " ", 0, "ready acc-2"},
		"not of a stranger":      {[]string{"Origin", "https://evil.example"}, " ", 1008, "pages of the service only"},
		"not without an origin":  {nil, " ", 1008, "pages of the service only"},
		"a key goes before it":   {[]string{"Origin", "https://evil.example"}, goodKey + " ", 0, "ready acc-1"},
		"a wrong key, too":       {[]string{"Origin", s.url}, "wrong ", 1008, "Invalid API key"},
	} {
		t.Run(name, func(t *testing.T) {
			ws := s.dial(t, append(c.headers, "Cookie", "svc-session="+goodCookie)...)
			say(t, ws, c.message)
			if c.code != 0 {
				requireClosed(t, ws, c.code, c.says)
				return
			}
			require.Equal(t, c.says, hear(t, ws))
		})
	}
	require.Equal(t, web.SessionUse{KeepsOld: true}, b.lastUse())
}

func TestAnEndedSessionIsReported(t *testing.T) {
	r := &revocations{watched: map[string]func(){}, already: true}
	s := start(t, web.Config{Sessions: &browsers{}, Revocations: r, Routes: []web.Route{
		web.Get("/stream", func(*web.Call, none) (web.Reply, error) {
			return web.Stream("audio/mpeg", func(context.Context, io.Writer) error { return nil }), nil
		}),
		web.Socket("/socket", authenticated, web.MaxBody(1000)),
	}})
	a := s.ask("GET", "/stream", "", "Cookie", "svc-session="+goodCookie)
	require.Equal(t, 401, a.StatusCode)
	require.Contains(t, a.body, "The session has ended")
	ws := s.dial(t, "Cookie", "svc-session="+goodCookie, "Origin", s.url)
	say(t, ws, " ")
	requireClosed(t, ws, web.ClosePolicy, "The session has ended")
}

func TestScriptsOfAllowedOriginsMayUseTheSession(t *testing.T) {
	s := start(t, web.Config{Sessions: &browsers{}, Origins: []string{friend}, Routes: everyWay()})
	for origin, allowed := range map[string]bool{
		friend: true, "https://evil.example": false, "null": false, "": false, "HTTPS://APP.EXAMPLE": false,
	} {
		for _, method := range []string{"GET", "OPTIONS"} {
			a := s.ask(method, "/read", "", "Origin", origin, "Access-Control-Request-Method", "DELETE",
				"Access-Control-Request-Headers", "content-type")
			require.Contains(t, strings.Join(a.Header.Values("Vary"), ", "), "Origin", origin)
			if allowed {
				require.Equal(t, origin, a.Header.Get("Access-Control-Allow-Origin"))
				require.Equal(t, "true", a.Header.Get("Access-Control-Allow-Credentials"))
			} else {
				require.Equal(t, "*", a.Header.Get("Access-Control-Allow-Origin"), origin)
				require.Empty(t, a.Header.Get("Access-Control-Allow-Credentials"), origin)
			}
		}
	}
}

func TestWrongCredentialsAreLimitedWithoutBlockingOthers(t *testing.T) {
	limiter := rates.New(rates.Limits{Failures: 1})
	s := start(t, web.Config{
		Rates: limiter, Sessions: &browsers{}, Origins: []string{friend},
		Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Routes:  append(everyWay(), web.Socket("/socket", authenticated, web.MaxBody(1000))),
	})
	const attacker, other = "192.0.2.1", "192.0.2.2"
	for _, wrong := range [][]string{{"x-api-key", "wrong"}, {"Cookie", "svc-session=wrong"}} {
		require.Eventually(t, func() bool {
			return s.ask("GET", "/read", "", append(wrong, "X-Forwarded-For", attacker)...).StatusCode == 429
		}, patience, time.Microsecond)
		// The rates of addresses are independent, and a valid credential passes even from the same address.
		require.Equal(t, 401, s.ask("GET", "/read", "", append(wrong, "X-Forwarded-For", other)...).StatusCode)
		require.Equal(t, 200, s.ask("GET", "/read", "", "x-api-key", goodKey, "X-Forwarded-For", attacker).StatusCode)
		require.Equal(t, 200, s.ask("GET", "/read", "", "Cookie", "svc-session="+goodCookie, "X-Forwarded-For",
			attacker).StatusCode)
		require.Equal(t, 401, s.ask("GET", "/read", "", "X-Forwarded-For", attacker).StatusCode,
			"no credential is not a wrong one")
	}
	var refused answered
	require.Eventually(t, func() bool {
		refused = s.ask("GET", "/read", "", "x-api-key", "wrong", "X-Forwarded-For", attacker)
		return refused.StatusCode == 429
	}, patience, time.Microsecond)
	require.Equal(t, "1", refused.Header.Get("Retry-After"))
	require.True(t, refused.Close, "the next attempt needs a new connection")
	require.Contains(t, refused.body, "Too many wrong credentials from this address")
	require.Eventually(t, func() bool {
		ws := s.dial(t, "X-Forwarded-For", attacker)
		defer ws.Close()
		say(t, ws, "wrong ")
		_, _, err := ws.ReadMessage()
		return err != nil && strings.Contains(err.Error(), "Too many wrong credentials")
	}, patience, time.Microsecond)
}

func TestBehindProxiesTheRightmostForeignAddressCounts(t *testing.T) {
	address := func(c *web.Call, _ none) (web.Reply, error) { return web.JSON(c.RemoteIP() + " " + c.Country()), nil }
	proxies := []netip.Prefix{
		netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"),
	}
	routes := []web.Route{web.Get("/", address, web.Public())}
	behind := start(t, web.Config{Proxies: proxies, CountryHeader: "cf-ipcountry", Routes: routes})
	open := start(t, web.Config{CountryHeader: "cf-ipcountry", Routes: routes})
	for forwarded, want := range map[string]string{
		"":                     "127.0.0.1",
		"192.0.2.1":            "192.0.2.1",
		"192.0.2.9, 192.0.2.1": "192.0.2.1",
		"192.0.2.1, 10.1.2.3":  "192.0.2.1",
		"192.0.2.9 , 192.0.2.1,10.1.2.3,127.0.0.1": "192.0.2.1",
		"10.1.2.3":                     "10.1.2.3",
		"2001:db8::1, fd00::1":         "2001:db8::1",
		"[2001:db8::1]:4711":           "2001:db8::1",
		"::ffff:192.0.2.1":             "192.0.2.1",
		"192.0.2.1:4711":               "192.0.2.1",
		"192.0.2.9, <script>":          "127.0.0.1",
		"192.0.2.9, unknown, 10.1.2.3": "10.1.2.3",
		"192.0.2.9,":                   "127.0.0.1",
	} {
		require.Equal(t, `"`+want+` "`, behind.ask("GET", "/", "", "X-Forwarded-For", forwarded).body, forwarded)
		require.Equal(t, `"127.0.0.1 "`, open.ask("GET", "/", "", "X-Forwarded-For", forwarded).body, forwarded)
	}
	for said, country := range map[string]string{"NL": "NL", "nl": "NL", "XX": "", "T1": "", "": "", "NLD": "", "<>": ""} {
		require.Equal(t, `"127.0.0.1 `+country+`"`, behind.ask("GET", "/", "", "cf-ipcountry", said).body)
	}
	require.Equal(t, `"127.0.0.1 "`, open.ask("GET", "/", "", "cf-ipcountry", "NL").body, "headers of other clients are ignored")
	_, body := behind.raw(t, "GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.9\r\nX-Forwarded-For: "+
		"192.0.2.1\r\n\r\n")
	require.Equal(t, `"192.0.2.1 "`, body, "several lines are one list")
}

func TestAProxyMayHaveMoreConnectionsThanAnAddress(t *testing.T) {
	for proxied, refused := range map[bool]bool{true: false, false: true} {
		config := web.Config{Limits: web.Limits{Connections: 8, AddressConnections: 2}}
		held, release := make(chan struct{}, 8), make(chan struct{})
		config.Routes = []web.Route{web.Get("/hold", func(*web.Call, none) (web.Reply, error) {
			held <- struct{}{}
			<-release
			return web.JSON(true), nil
		}, web.Public()), web.Get("/ok", ok, web.Public())}
		if proxied {
			config.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		}
		s := start(t, config)
		var busy sync.WaitGroup
		for range 2 {
			busy.Go(func() { s.ask("GET", "/hold", "") })
			<-held
		}
		require.Equal(t, refused, s.ask("GET", "/ok", "").StatusCode == 503)
		close(release)
		busy.Wait()
	}
}

// Replies cannot be framed, and browsers that have used TLS keep using it.
func TestSecurityHeadersOfReplies(t *testing.T) {
	for origin, transport := range map[string]string{
		"https://recital.example": "max-age=31536000", "http://127.0.0.1:8080": "", "": "",
	} {
		s := start(t, web.Config{Sessions: &browsers{}, Origin: origin, Routes: everyWay()})
		for _, path := range []string{"/public", "/read", "/nowhere"} {
			a := s.ask("GET", path, "")
			require.Equal(t, "frame-ancestors 'none'", a.Header.Get("Content-Security-Policy"), path)
			require.Equal(t, transport, a.Header.Get("Strict-Transport-Security"), "%s of %s", path, origin)
		}
	}
}
