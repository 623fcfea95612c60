package signin_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/providers/signin"
	"github.com/recital-tts/recital/internal/providers/signin/openid"
)

const app = "https://app.example.com/in?from=here"

func TestABrowserSignsInAndOut(t *testing.T) {
	s := serve(t, "", nil)
	login := s.login(app, "User-Agent", "curl/8")
	require.Equal(t, "no-store", login.header.Get("Cache-Control"))
	binding := keptBy(login)
	require.NotNil(t, binding)
	require.True(t, binding.HttpOnly)
	require.Equal(t, http.SameSiteLaxMode, binding.SameSite)
	require.Equal(t, 600, binding.MaxAge)

	back := s.answer(login, "")
	entered := s.get("GET", back.String(), "Cookie", shown(binding))
	require.Equal(t, http.StatusFound, entered.status, entered.body)
	require.Equal(t, app, entered.header.Get("Location"))
	require.Equal(t, "no-store", entered.header.Get("Cache-Control"))
	require.Equal(t, "no-referrer", entered.header.Get("Referrer-Policy"), "the address holds a code")
	require.NotEmpty(t, entered.header.Get("x-recital-position"))
	require.Equal(t, []readmodel.Model{readmodel.Account, readmodel.Sessions}, s.models.Names)
	cookie := cookieNamed(entered, "svc-session")
	require.NotNil(t, cookie)
	require.True(t, cookie.HttpOnly)
	require.Equal(t, "/", cookie.Path)
	require.Empty(t, cookie.Domain)

	// when a page of the service signs the browser out, then the session has ended, and the cookie is removed
	out := s.get("GET", s.url+"/auth/oauth/logout", "Cookie", shown(cookie), "Sec-Fetch-Site", "same-origin")
	require.Equal(t, http.StatusOK, out.status, out.body)
	require.JSONEq(t, `{"success": true}`, out.body)
	removed := cookieNamed(out, "svc-session")
	require.NotNil(t, removed)
	require.Empty(t, removed.Value)
	require.False(t, removed.Expires.IsZero())
	parsed, ok := session.ParseCookie(cookie.Value)
	require.True(t, ok)
	events := commandstest.Fold[session.Event](s.World, session.Stream(parsed.ID))
	require.IsType(t, session.Ended{}, events[len(events)-1])

	// and signing out again, or without a session, succeeds
	for _, sent := range []string{shown(cookie), "", "svc-session=garbage"} {
		again := s.get("GET", s.url+"/auth/oauth/logout", "Cookie", sent, "Sec-Fetch-Site", "same-origin")
		require.Equal(t, http.StatusOK, again.status, "%q: %s", sent, again.body)
		require.NotNil(t, cookieNamed(again, "svc-session"))
	}
}

// enter signs a browser in, and returns the cookie of its session.
func (s *site) enter(redirect string) *http.Cookie {
	s.T.Helper()
	login := s.login(redirect)
	entered := s.get("GET", s.answer(login, "").String(), "Cookie", shown(keptBy(login)))
	require.Equal(s.T, http.StatusFound, entered.status, entered.body)
	cookie := cookieNamed(entered, "svc-session")
	require.NotNil(s.T, cookie)
	return cookie
}

// A key authenticates the caller. The session that ends is still the browser's.
func TestSigningOutBesideAKeyEndsTheSessionOfTheCookie(t *testing.T) {
	s := serve(t, "", nil)
	cookie := s.enter(app)
	out := s.get("GET", s.url+"/auth/oauth/logout", "Cookie", shown(cookie), "X-Api-Key", "rk_one", "Sec-Fetch-Site",
		"same-origin")
	require.Equal(t, http.StatusOK, out.status, out.body)
	require.NotNil(t, cookieNamed(out, "svc-session"))
	require.False(t, s.lives(cookie), "no success is told while it lives")
}

// lives reports whether the session of a cookie is open.
func (s *site) lives(cookie *http.Cookie) bool {
	parsed, ok := session.ParseCookie(cookie.Value)
	require.True(s.T, ok)
	events := commandstest.Fold[session.Event](s.World, session.Stream(parsed.ID))
	_, ended := events[len(events)-1].(session.Ended)
	return !ended
}

// Pages of the service sign a person out, and so do links and typed addresses. Subresources of other pages do not.
func TestWhoSignsOut(t *testing.T) {
	s := serve(t, "", nil)
	for name, asked := range map[string]struct {
		site, mode, dest, purpose string
		status                    int
	}{
		"a page's script":         {"same-origin", "cors", "empty", "", http.StatusOK},
		"a typed address":         {"none", "navigate", "document", "", http.StatusOK},
		"a link of another site":  {"cross-site", "navigate", "document", "", http.StatusOK},
		"a link that is prepared": {"same-origin", "navigate", "document", "prefetch;prerender", http.StatusForbidden},
		"a frame":                 {"cross-site", "navigate", "iframe", "", http.StatusForbidden},
		"an own page's frame":     {"same-origin", "navigate", "iframe", "", http.StatusForbidden},
		"a picture":               {"cross-site", "no-cors", "image", "", http.StatusForbidden},
		"a subdomain's script":    {"same-site", "cors", "empty", "", http.StatusForbidden},
		"who says nothing":        {"", "", "", "", http.StatusForbidden},
	} {
		cookie := s.enter(app)
		var headers []string
		for header, value := range map[string]string{
			"Sec-Fetch-Site": asked.site, "Sec-Fetch-Mode": asked.mode, "Sec-Fetch-Dest": asked.dest,
			"Sec-Purpose": asked.purpose,
		} {
			if value != "" {
				headers = append(headers, header, value)
			}
		}
		out := s.get("GET", s.url+"/auth/oauth/logout", append(headers, "Cookie", shown(cookie))...)
		require.Equal(t, asked.status, out.status, "%s: %s", name, out.body)
		require.Equal(t, asked.status != http.StatusOK, s.lives(cookie), name)
	}
}

// A browser that blocks third-party cookies sends none: the session is still open, and the page must not be told that
// it has ended.
func TestAnotherSitesScriptThatShowsNoSessionSignsNobodyOut(t *testing.T) {
	s := serve(t, "", nil)
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"}, {"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"},
		{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"},
		{"Origin", "https://app.example.com"},
	} {
		out := s.get("GET", s.url+"/auth/oauth/logout", headers...)
		require.Equal(t, http.StatusUnauthorized, out.status, "%q: %s", headers, out.body)
		require.Contains(t, out.body, "no session")
	}
}

func TestALogoutLeadsToAnAllowedPageOnly(t *testing.T) {
	s := serve(t, "", nil)
	logout := func(redirect string, cookie *http.Cookie) page {
		return s.get("GET", s.url+"/auth/oauth/logout?redirect="+url.QueryEscape(redirect), "Cookie", shown(cookie),
			"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
	}
	cookie := s.enter(app)
	for _, redirect := range hostile {
		if redirect != "" {
			require.Equal(t, http.StatusUnprocessableEntity, logout(redirect, cookie).status, redirect)
		}
	}
	require.True(t, s.lives(cookie))
	for _, redirect := range []string{app, s.url + "/docs"} {
		cookie := s.enter(app)
		out := logout(redirect, cookie)
		require.Equal(t, http.StatusFound, out.status, out.body)
		require.Equal(t, redirect, out.header.Get("Location"))
		require.False(t, s.lives(cookie))
	}
}

// A browser sends the cookie for a page on another site only if it is SameSite=None, and then it must be Secure.
func TestACookieFitsTheSiteOfThePage(t *testing.T) {
	for public, pages := range map[string]map[string]http.SameSite{
		"": {app: http.SameSiteNoneMode, "HOME/docs": http.SameSiteLaxMode},
		"https://api.example.com": {
			app: http.SameSiteLaxMode, "https://api.example.com/docs": http.SameSiteLaxMode,
			"https://app.example.org/": http.SameSiteNoneMode,
		},
	} {
		s := serve(t, public, nil)
		for redirect, want := range pages {
			login := s.login(strings.ReplaceAll(redirect, "HOME", s.url))
			entered := s.get("GET", s.url+s.answer(login, "").RequestURI(), "Cookie", shown(keptBy(login)))
			cookie := cookieNamed(entered, "svc-session")
			require.NotNil(t, cookie, entered.body)
			require.Equal(t, want, cookie.SameSite, "%s from %s", redirect, public)
			require.Equal(t, want == http.SameSiteNoneMode || public != "", cookie.Secure, "%s from %s", redirect, public)
		}
	}
	// and a page on another site can remove it
	s := serve(t, "", nil)
	out := s.get("GET", s.url+"/auth/oauth/logout", "Cookie", "svc-session=dead", "Sec-Fetch-Site", "cross-site", "Origin",
		"https://app.example.com")
	removed := cookieNamed(out, "svc-session")
	require.NotNil(t, removed, out.body)
	require.Equal(t, http.SameSiteNoneMode, removed.SameSite)
	require.True(t, removed.Secure)
}

func TestAServiceWithTLSBindsTheBrowserToItsHost(t *testing.T) {
	s := serve(t, "https://api.example.com", nil)
	login := s.login(app)
	binding := keptBy(login)
	require.NotNil(t, binding)
	require.True(t, strings.HasPrefix(binding.Name, "__Host-"), "no other host of the domain can set it")
	require.True(t, binding.Secure)
	require.Empty(t, binding.Domain)
	require.Equal(t, "/", binding.Path)
	asked, err := url.Parse(login.header.Get("Location"))
	require.NoError(t, err)
	require.Equal(t, "https://api.example.com/auth/oauth/idp_1", asked.Query().Get("redirect_uri"))

	back := s.answer(login, "")
	entered := s.get("GET", s.url+back.RequestURI(), "Cookie", shown(binding))
	require.Equal(t, http.StatusFound, entered.status, entered.body)
	require.True(t, cookieNamed(entered, "svc-session").Secure)

	own := s.login("https://api.example.com/docs")
	require.Equal(t, http.StatusFound, own.status, "its own pages are no strangers")
}

func TestAFailureGoesBackToThePage(t *testing.T) {
	s := serve(t, "", nil)
	for fault, reason := range map[string]string{
		"access_denied": "access_denied", "no_email": "profile_incomplete", "no_name": "profile_incomplete",
		"email_unverified": "email_unverified", "wrong_nonce": "invalid_answer", "token_error": "temporarily_unavailable",
	} {
		login := s.login(app)
		failed := s.get("GET", s.answer(login, fault).String(), "Cookie", shown(keptBy(login)))
		require.Equal(t, http.StatusFound, failed.status, failed.body)
		at, err := url.Parse(failed.header.Get("Location"))
		require.NoError(t, err)
		require.Equal(t, "app.example.com", at.Host)
		require.Equal(t, reason, at.Query().Get("error"), fault)
		require.NotEmpty(t, at.Query().Get("error_description"))
		require.Equal(t, "here", at.Query().Get("from"))
		require.Nil(t, cookieNamed(failed, "svc-session"))
	}
	head, err := s.Log.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, eventlog.Start(), head, "nothing was recorded")
	require.Equal(t, map[string]int64{
		"idp_1 access_denied": 1, "idp_1 profile_incomplete": 2, "idp_1 email_unverified": 1, "idp_1 invalid_answer": 1,
		"idp_1 temporarily_unavailable": 1,
	}, s.failures(), "what no event records is counted")
	require.Len(t, failedLine.FindAllString(s.logged.String(), -1), 6, s.logged.String())
	require.NotContains(t, s.logged.String(), "ada@example.com")
}

func TestAProviderThatIsAwayIsSaidAtOnce(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	provider, err := openid.New(openid.Config{Issuer: gone.URL, ClientID: "recital", ClientSecret: "secret"})
	require.NoError(t, err)
	s := serve(t, "", map[string]signin.Provider{"idp_1": provider})
	login := s.login(app)
	require.Equal(t, http.StatusFound, login.status, login.body)
	require.True(t, strings.HasPrefix(login.header.Get("Location"), "https://app.example.com/in?"),
		login.header.Get("Location"))
	require.Contains(t, login.header.Get("Location"), "error=temporarily_unavailable")

	other := s.get("GET", s.url+"/auth/oauth/login?provider=idp_3&redirect="+url.QueryEscape(app))
	require.Equal(t, http.StatusUnprocessableEntity, other.status)
	require.Contains(t, other.body, "not configured")
}

func TestAStateThatIsNotThisBrowsers(t *testing.T) {
	s := serve(t, "", nil)
	login := s.login(app)
	back, binding := s.answer(login, ""), keptBy(login)
	unusable := func(address string, cookie string) {
		t.Helper()
		got := s.get("GET", address, "Cookie", cookie)
		require.Equal(t, http.StatusBadRequest, got.status, got.body)
		require.Contains(t, got.body, "begin again")
		require.Empty(t, got.header.Get("Location"))
		require.Nil(t, cookieNamed(got, "svc-session"))
	}
	unusable(back.String(), "")
	unusable(back.String(), binding.Name+"=other")
	unusable(s.url+"/auth/oauth/idp_1?code=c&state=guess", shown(binding))
	unusable(s.url+"/auth/oauth/idp_1?error=access_denied&state=guess", shown(binding))

	entered := s.get("GET", back.String(), "Cookie", shown(binding))
	require.Equal(t, http.StatusFound, entered.status, entered.body)
	require.Negative(t, cookieNamed(entered, binding.Name).MaxAge, "it is removed")

	// and the mix-up of two providers ends the sign-in
	login = s.login(app)
	mixed := s.answer(login, "")
	mixed.Path = "/auth/oauth/idp_2"
	unusable(mixed.String(), shown(keptBy(login)))

	require.Equal(t, map[string]int64{"idp_1 not_under_way": 4, "idp_2 not_under_way": 1}, s.failures())
	require.Len(t, failedLine.FindAllString(s.logged.String(), -1), 5, s.logged.String())
}

func TestWhatACallbackNeeds(t *testing.T) {
	s := serve(t, "", nil)
	for path, field := range map[string]string{
		"/auth/oauth/idp_1?state=s":                         `["query","code"]`,
		"/auth/oauth/idp_1":                                 `"loc":["query","code"],"msg":"Fieldrequired"},{"type":"missing","loc":["query","state"]`,
		"/auth/oauth/idp_1?code=c":                          `["query","state"]`,
		"/auth/oauth/idp_5?code=c&state=s":                  `["path","provider"]`,
		"/auth/oauth/login?provider=idp_1":                  `["query","redirect"]`,
		"/auth/oauth/login?redirect=" + app:                 `["query","provider"]`,
		"/auth/oauth/login?provider=google&redirect=" + app: `'idp_1', 'idp_2', 'idp_3' or 'idp_4'`,
		"/auth/oauth/login?provider=idp_1&redirect=" + app + strings.Repeat("a", 2083): `["query","redirect"]`,
		"/auth/oauth/login?provider=idp_1&redirect=/in":                                `["query","redirect"]`,
	} {
		got := s.get("GET", s.url+path)
		require.Equal(t, http.StatusUnprocessableEntity, got.status, "%s: %s", path, got.body)
		require.Contains(t, strings.ReplaceAll(got.body, " ", ""), strings.ReplaceAll(field, " ", ""), path)
	}
	// a long campaign is truncated, not refused
	got := s.get("GET", s.url+"/auth/oauth/login?provider=idp_1&redirect="+app+"&utm_source="+strings.Repeat("a", 10_000))
	require.Equal(t, http.StatusFound, got.status, got.body)
	// an error needs no code (the API definition requires one, and providers omit it)
	got = s.get("GET", s.url+"/auth/oauth/idp_1?error=access_denied&state=s")
	require.Equal(t, http.StatusBadRequest, got.status, got.body)
	for _, path := range []string{"login", "logout", "idp_1"} {
		require.Equal(t, http.StatusMethodNotAllowed, s.get("HEAD", s.url+"/auth/oauth/"+path).status, "HEAD changes nothing")
	}
}

// Without a public URL the host of a request is not trusted: anybody can point a name at this machine.
func TestOnlyThisMachineSignsInWithoutAPublicURL(t *testing.T) {
	s := serve(t, "", nil)
	for host, status := range map[string]int{
		"localhost:8080": http.StatusFound, "127.0.0.1": http.StatusFound, "[::1]:80": http.StatusFound,
		"evil.example": http.StatusBadRequest, "127.0.0.1.evil.example": http.StatusBadRequest,
		"localhost.evil.example:80": http.StatusBadRequest,
	} {
		got := s.login(app, "Host", host)
		require.Equal(t, status, got.status, "%s: %s", host, got.body)
		got = s.login("http://"+host+"/docs", "Host", host)
		require.Equal(t, status, got.status, "%s: %s", host, got.body)
	}
}

// hostile are redirects to other sites, as a client sends them: the edge reads them as a browser does, before it
// compares the origins.
var hostile = []string{
	"https://evil.example/", "https://app.example.com.evil.example/", "https://evilapp.example.com/",
	"https://sub.app.example.com/", "https://example.com/",
	"http://app.example.com/", "https://app.example.com:8443/", "https://app.example.com:80/",
	"http://app.example.com:443/", "https://app.example.com./",
	"//evil.example/", "///evil.example", "/\\evil.example", "\\\\evil.example", "/in", "in", "?a", "#a",
	"app.example.com", "",
	"javascript:alert(1)", "javascript://app.example.com/%0aalert(1)", "data:text/html,x", "vbscript:x",
	"file:///etc/passwd", "ftp://app.example.com/",
	"blob:https://app.example.com/1", "about:blank", "mailto:a@app.example.com", "https:evil.example",
	"https:///evil.example", "https:\\\\evil.example",
	"https://app.example.com@evil.example/", "https://app.example.com:x@evil.example/", "https://user@app.example.com/",
	"https://user:pass@app.example.com/",
	"https://evil.example\\@app.example.com/", "https://evil.example\\.app.example.com/",
	"https://evil.example#@app.example.com/", "https://evil.example?@app.example.com/",
	"https://evil.example/\\app.example.com", "https://evil.example\t/", "https://evil\n.example/",
	"\thttps://evil.example/", "https://app.example.com\x00.evil.example/",
	"https://app.example.com%00.evil.example/", "https://app.example.com%2f.evil.example/",
	"https://app.example.com%40evil.example/", "https://evil.example%2f@app.example.com/",
	"https://app。example。com.evil.example/", "https://evil.example／app.example.com/", "https://аpp.example.com/",
	"https://[::1]/", "https://2130706433/", "https://0x7f.1/",
	"https://app.example.com:443:443/", "https://app.example.com:99999/", "https://app.example.com\t.evil.example/",
	"https://app.example.com\r\n.evil.example/",
}

func TestHostileRedirectsBeginNoSignIn(t *testing.T) {
	require.Greater(t, len(hostile), 40)
	s := serve(t, "", nil)
	for _, redirect := range hostile {
		got := s.login(redirect)
		require.Equal(t, http.StatusUnprocessableEntity, got.status, "%q leads to %q", redirect, got.header.Get("Location"))
		require.Empty(t, got.header.Get("Location"))
		require.Empty(t, got.cookies)
	}
}

// A spelling that browsers read as the allowed origin leads to that origin.
func TestWhatABrowserReadsAsTheAllowedOriginLeadsThere(t *testing.T) {
	s := serve(t, "", nil)
	for redirect, want := range map[string]string{
		" https://app.example.com/ ":                 "https://app.example.com/",
		"HTTPS://APP.EXAMPLE.COM":                    "https://app.example.com/",
		"https:\\\\app.example.com\\in":              "https://app.example.com/in",
		"https://app.exa\tmple.com/\n":               "https://app.example.com/",
		"https://app.example.com:443/":               "https://app.example.com:443/",
		"https:app.example.com/in":                   "https://app.example.com/in",
		"https://app.example.com/\\..\\evil.example": "https://app.example.com/",
	} {
		login := s.login(redirect)
		entered := s.get("GET", s.answer(login, "").String(), "Cookie", shown(keptBy(login)))
		require.True(t, strings.HasPrefix(entered.header.Get("Location"), want), "%q leads to %q", redirect,
			entered.header.Get("Location"))
	}
}

// Many people share an address, and the server stores nothing for a sign-in that has begun.
func TestAnAddressBeginsAsManySignInsAsItLikes(t *testing.T) {
	s := serve(t, "", nil)
	for range 120 {
		require.Equal(t, http.StatusFound, s.login(app).status)
	}
}

// A picture in another site's page, or a browser's prefetch, begins no sign-in.
func TestOnlyAWindowBeginsASignIn(t *testing.T) {
	s := serve(t, "", nil)
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"a window": {[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest",
			"document"}, http.StatusFound},
		"an old browser's": {nil, http.StatusFound},
		"a picture": {[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"},
			http.StatusForbidden},
		"a frame": {[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest",
			"iframe"}, http.StatusForbidden},
		"a script": {[]string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"},
			http.StatusForbidden},
		"a look ahead": {[]string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document", "Sec-Purpose", "prefetch"},
			http.StatusForbidden},
	} {
		got := s.login(app, c.headers...)
		require.Equal(t, c.status, got.status, "%s: %s", name, got.body)
		require.Equal(t, c.status == http.StatusFound, len(got.cookies) == 1, name)
	}
}

// The sign-ins that a browser has begun are stored in the browser alone: at most five, in a size that every proxy
// accepts.
func TestABrowserKeepsFiveSignIns(t *testing.T) {
	s := serve(t, "", nil)
	held := map[string]*http.Cookie{}
	keep := func(p page) {
		for _, c := range p.cookies {
			delete(held, c.Name)
			if c.MaxAge > 0 {
				held[c.Name] = c
			}
		}
	}
	show := func() string { return shown(slices.Collect(maps.Values(held))...) }
	var begun []page
	for range 7 {
		begun = append(begun, s.login(app, "Cookie", show()))
		keep(begun[len(begun)-1])
	}
	require.Len(t, held, 5)
	for i, login := range begun {
		entered := s.get("GET", s.answer(login, "").String(), "Cookie", show())
		want := http.StatusFound
		if i < 2 {
			want = http.StatusBadRequest
		}
		require.Equal(t, want, entered.status, "the sign-in %d: %s", i, entered.body)
		delete(held, "svc-session")
		keep(entered)
		delete(held, "svc-session")
	}
	require.Empty(t, held, "each callback clears its own")

	for range 5 {
		keep(s.login(app+strings.Repeat("x", 2000), "Cookie", show()))
	}
	require.NotEmpty(t, held)
	require.Less(t, len(show()), 10_000)
	for _, c := range held {
		require.LessOrEqual(t, len(c.Name)+len(c.Value), 4096, "browsers keep no more")
	}
}

// Signing in again ends this browser's previous session, and no other one.
func TestSigningInAgainEndsTheSessionOfThisBrowser(t *testing.T) {
	s := serve(t, "", nil)
	old, others := s.enter(app), s.enter(app)
	again := func(cookie string) *http.Cookie {
		login := s.login(app)
		entered := s.get("GET", s.answer(login, "").String(), "Cookie", shown(keptBy(login))+"; svc-session="+cookie)
		require.Equal(t, http.StatusFound, entered.status, entered.body)
		require.Equal(t, app, entered.header.Get("Location"))
		return cookieNamed(entered, "svc-session")
	}
	second := again(old.Value)
	require.False(t, s.lives(old))
	require.True(t, s.lives(second))
	require.True(t, s.lives(others))

	// and a session's id without its secret ends nothing, and a cookie of an ended session is no obstacle
	id, _, _ := strings.Cut(second.Value, ".")
	_, secret, _ := strings.Cut(others.Value, ".")
	for _, cookie := range []string{id + "." + secret, old.Value, "garbage"} {
		require.True(t, s.lives(again(cookie)), cookie)
		require.True(t, s.lives(second))
	}
}
