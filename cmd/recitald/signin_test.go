package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// person is a browser with cookies and redirects, at one recitald at a time.
type person struct {
	t      *testing.T
	server *server
	client *http.Client

	source, picture string // utm_source and the provider's picture; "" for none
}

func (s *server) person() *person {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(s.t, err)
	stop := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &person{t: s.t, server: s, client: &http.Client{Jar: jar, CheckRedirect: stop}}
}

// get makes a request like a page of the service.
func (v *person) get(address string) reply {
	v.t.Helper()
	return v.do(http.MethodGet, address, nil)
}

func (v *person) do(method, address string, form url.Values) reply {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, address, strings.NewReader(form.Encode()))
	require.NoError(v.t, err)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	response, err := v.client.Do(request)
	require.NoError(v.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(v.t, err)
	return reply{status: response.StatusCode, header: response.Header, body: body}
}

// comeBack begins a sign-in, fills in the provider's page, and returns the address to which the provider redirects.
func (v *person) comeBack(email string) string {
	v.t.Helper()
	begun := v.get(v.server.address + "/auth/oauth/login?provider=idp_1&redirect=" +
		url.QueryEscape(v.server.address+"/docs") + "&utm_source=" + url.QueryEscape(v.source))
	require.Equal(v.t, http.StatusFound, begun.status, begun.text())
	answered := v.do(http.MethodPost, begun.header.Get("Location"), url.Values{"name": {"Ada Lovelace"}, "email": {email},
		"picture": {v.picture}})
	require.Equal(v.t, http.StatusSeeOther, answered.status, answered.text())
	return answered.header.Get("Location")
}

// signIn signs in and returns the person's account.
func (v *person) signIn(email string) string {
	v.t.Helper()
	entered := v.get(v.comeBack(email))
	require.Equal(v.t, http.StatusFound, entered.status, entered.text())
	require.Equal(v.t, v.server.address+"/docs", entered.header.Get("Location"))
	require.Empty(v.t, entered.header.Get("x-recital-stale"))
	return v.account(email)
}

// account returns the account of the person's session.
func (v *person) account(email string) string {
	v.t.Helper()
	valid := requireOK(v.t, v.get(v.server.address+"/auth/oauth/validate"))
	var who struct {
		ID, Name, Email string
		Picture         *string `json:"profile_picture"`
	}
	valid.decode(v.t, &who)
	require.Equal(v.t, "Ada Lovelace", who.Name)
	require.Equal(v.t, email, who.Email)
	if v.picture == "" {
		require.Nil(v.t, who.Picture)
		return who.ID
	}
	require.Equal(v.t, &v.picture, who.Picture)
	return who.ID
}

func TestAPersonSignsInAndAnSDKWorksWithTheirKey(t *testing.T) {
	t.Parallel()
	s := share(t)
	v := s.person()
	require.Equal(t, http.StatusUnauthorized, v.get(s.address+"/auth/oauth/validate").status)

	id := v.signIn("ada@example.com")

	// then the person creates a key, and an SDK can use it
	made := requireOK(t, v.get(s.address+"/v1/account/new_api_key"))
	var key struct{ APIKey string }
	made.decode(t, &key)
	c := customer{server: s, id: id, key: key.APIKey}
	requireOK(t, c.post(t, bytesRoute, order{"text": "Hello.", "voice": "leah"}))
	require.EqualValues(t, 6, c.usage(t))

	// and signing out ends the session, but not the key
	old := v.client.Jar.Cookies(mustParse(s.address))
	requireOK(t, v.get(s.address+"/auth/oauth/logout"))
	require.Equal(t, http.StatusUnauthorized, v.get(s.address+"/auth/oauth/validate").status)
	v.client.Jar.SetCookies(mustParse(s.address), old)
	s.eventually(func() bool { return v.get(s.address+"/auth/oauth/validate").status == http.StatusUnauthorized })
	require.EqualValues(t, 6, c.usage(t))

	// and signing in again, even in another browser, finds the account
	require.Equal(t, id, s.person().signIn("ada@example.com"))
	require.NotEqual(t, id, s.person().signIn("bob@example.com"))

	// and recitald's log has no personal data
	for _, secret := range []string{"ada@example.com", "Lovelace", key.APIKey} {
		require.NotContains(t, read(t, s.log), secret)
	}
}

func mustParse(address string) *url.URL {
	u, err := url.Parse(address)
	if err != nil {
		panic(err) // the address of a server
	}
	return u
}

// Closing an account and signing in again gives a new account, but no new characters.
func TestAFreePeriodSurvivesClosing(t *testing.T) {
	t.Parallel()
	s := share(t)
	v := s.person()
	first := v.signIn("emmy@example.com")
	requireOK(t, v.speak(strings.Repeat("word ", 20)))
	used, end := v.used()
	require.EqualValues(t, 100, used)

	closed := requireOK(t, v.do(http.MethodDelete, s.address+"/v1/account", nil))
	require.Contains(t, closed.header.Get("Set-Cookie"), "svc-session=;", "the cookie of a closed account is cleared")
	s.eventually(func() bool { return v.get(s.address+"/v1/account").status == http.StatusUnauthorized })

	again := s.person()
	second := again.signIn("emmy@example.com")
	require.NotEqual(t, first, second)
	s.eventually(func() bool {
		left, sameEnd := again.used()
		return left == used && sameEnd == end
	})
}

// speak synthesises in the playground.
func (v *person) speak(text string) reply {
	v.t.Helper()
	encoded, err := json.Marshal(order{"text": text, "voice": "leah"})
	require.NoError(v.t, err)
	request, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.server.address+bytesRoute,
		bytes.NewReader(encoded))
	require.NoError(v.t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	response, err := v.client.Do(request)
	require.NoError(v.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(v.t, err)
	return reply{status: response.StatusCode, header: response.Header, body: body}
}

// used returns the characters used in the current period, of either kind, and the period's end.
func (v *person) used() (characters, end int64) {
	v.t.Helper()
	var shown accountView
	requireOK(v.t, v.get(v.server.address+"/v1/account")).decode(v.t, &shown)
	return shown.Usage.Characters + shown.Usage.Playground, shown.Usage.PeriodEnd
}

// Signing in and out works in a browser, and scripts cannot read the cookie.
func TestABrowserSignsInAndOut(t *testing.T) {
	t.Parallel()
	s := share(t)
	b := openBrowser(t)
	b.visit(s.address + "/auth/oauth/login?provider=idp_2&redirect=" + url.QueryEscape(s.address+"/docs?signed=in"))
	b.fill("input[name=name]", "Ada Lovelace")
	b.fill("input[name=email]", "mary@example.com")
	b.click("#sign-in")
	b.awaitAddress("?signed=in")
	b.errors = nil // the stand-in's page has no icon

	who := `fetch("/auth/oauth/validate").then(async r => r.status + " " + (r.ok ? (await r.json()).email : ""))`
	require.Equal(t, "200 mary@example.com", b.evaluate(who))
	require.NotContains(t, b.evaluate("document.cookie"), "svc-session", "it is httpOnly")
	var jar struct {
		Cookies []struct {
			Name, Path, SameSite string
			HTTPOnly             bool
		}
	}
	b.call("Network.getCookies", map[string]any{}, &jar)
	found := false
	for _, c := range jar.Cookies {
		if c.Name == "svc-session" {
			found = true
			require.True(t, c.HTTPOnly)
			require.Equal(t, "/", c.Path)
			require.Equal(t, "Lax", c.SameSite)
		}
	}
	require.True(t, found, fmt.Sprint(jar))

	require.Equal(t, "200", fmt.Sprint(b.evaluate(`fetch("/auth/oauth/logout").then(r => r.status)`)))
	require.Equal(t, "401 ", b.evaluate(who))

	// and a cancelled sign-in redirects with a reason
	b.visit(s.address + "/auth/oauth/login?provider=idp_2&redirect=" + url.QueryEscape(s.address+"/docs"))
	b.click("#cancel")
	b.awaitAddress("error=access_denied")
}
