package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

// frontEnd serves a page on localhost, which is another site than 127.0.0.1, and returns its origin.
func frontEnd(t *testing.T) string {
	t.Helper()
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html><title>front end</title>")) // an error means that the browser has left
	}))
	t.Cleanup(served.Close)
	return strings.Replace(served.URL, "127.0.0.1", "localhost", 1)
}

// signInFrom signs in with a page as the redirect.
func (b *browser) signInFrom(s *server, page string) {
	b.t.Helper()
	b.visit(s.address + "/auth/oauth/login?provider=idp_1&redirect=" + url.QueryEscape(page))
	b.click("#sign-in")
	b.awaitAddress(page)
}

// fetch makes a request from the page to the service and returns status and error message.
func (b *browser) fetch(s *server, path, options string) string {
	b.t.Helper()
	return fmt.Sprint(b.evaluate(fmt.Sprintf(
		`fetch(%q, {%s}).then(async r => r.status + " " + ((await r.json()).error ?? ""))`, s.address+path, options)))
}

// holdsCookie reports whether the browser has a session cookie of the service.
func (b *browser) holdsCookie(s *server) bool {
	b.t.Helper()
	var jar struct{ Cookies []struct{ Name string } }
	b.call("Network.getCookies", map[string]any{"urls": []string{s.address}}, &jar)
	for _, c := range jar.Cookies {
		if c.Name == "svc-session" {
			return true
		}
	}
	return false
}

const (
	validate = "/auth/oauth/validate"
	logout   = "/auth/oauth/logout"
	included = `credentials: "include"`
)

// In a browser that permits third-party cookies, a front end on another site can use and end its session.
func TestABrowserUsesASessionFromAnotherSite(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	app := frontEnd(t)
	s := start(t, dataFolder(t), "--engines=1", "--redirect-origins="+app)
	b := openBrowserWith(t, `{"profile": {"cookie_controls_mode": 0, "block_third_party_cookies": false}}`)
	b.signInFrom(s, app+"/in")
	require.Equal(t, "200 ", b.fetch(s, validate, included))
	require.Equal(t, "200 ", b.fetch(s, "/v1/account/accept_tos", `method: "POST", `+included), "its origin is allowed")

	// signing out without a session is not reported as success
	require.Contains(t, b.fetch(s, logout, ""), "401 The browser has sent no session")
	// and an iframe cannot end a session
	b.evaluate(fmt.Sprintf(`new Promise(loaded => {
		const frame = document.createElement("iframe")
		frame.onload = loaded
		frame.src = %q
		document.body.append(frame)
	}).then(() => true)`, s.address+logout))
	require.Equal(t, "200 ", b.fetch(s, validate, included))

	// when the page signs out, then the session has ended and the cookie is deleted
	require.Equal(t, "200 ", b.fetch(s, logout, included))
	require.Contains(t, b.fetch(s, validate, included), "401 ")
	require.False(t, b.holdsCookie(s))

	// and a page of the service itself can delete such a cookie, too
	b.signInFrom(s, app+"/again")
	b.visit(s.address + "/docs")
	b.await(`document.readyState == "complete"`)
	require.True(t, b.holdsCookie(s))
	require.Equal(t, "200 ", b.fetch(s, logout, ""))
	require.False(t, b.holdsCookie(s))
}

// Most browsers block third-party cookies. A page then gets 401 without a session, and signs out by a link.
func TestABrowserThatBlocksThirdPartyCookiesSignsOutByALink(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	app := frontEnd(t)
	s := start(t, dataFolder(t), "--engines=1", "--redirect-origins="+app)
	b := openBrowserWith(t, `{"profile": {"cookie_controls_mode": 1, "block_third_party_cookies": true}}`)
	b.signInFrom(s, app+"/in")
	require.Contains(t, b.fetch(s, validate, included), "401 An API key is needed")
	require.Contains(t, b.fetch(s, logout, included), "401 The browser has sent no session")
	require.True(t, b.holdsCookie(s))

	b.evaluate(fmt.Sprintf(`(location.href = %q, true)`, s.address+logout+"?redirect="+url.QueryEscape(app+"/bye")))
	b.awaitAddress(app + "/bye")
	require.False(t, b.holdsCookie(s))

	// and entering the address signs out, too
	b.signInFrom(s, app+"/in")
	require.True(t, b.holdsCookie(s))
	b.visit(s.address + logout)
	b.await(`document.body.innerText.includes("success")`)
	require.False(t, b.holdsCookie(s))
}
