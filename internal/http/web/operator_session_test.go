package web_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/access/operators"
	"github.com/recital-tts/recital/internal/http/web"
)

// signedIn implements the sessions of an operator and an auditor.
type signedIn struct{}

// Find implements web.OperatorSessions.
func (signedIn) Find(cookie string, _ time.Time) (operators.Session, bool) {
	found, ok := map[string]operators.Session{
		"adas": {Token: operators.Token{Name: "ada", Role: "operator"}, Expires: midnight},
		"bobs": {Token: operators.Token{Name: "bob", Role: "auditor"}, Expires: midnight},
	}[cookie]
	return found, ok
}

func operatorRoutes() []web.Route {
	role := func(c *web.Call, _ none) (web.Reply, error) { return web.JSON(c.Operator + ", " + c.Role), nil }
	both := web.Role("operator", "auditor")
	return []web.Route{
		web.Get("/show", role, both), web.Get("/copy", role, both, web.Acts(web.Act{Kind: "copy"})),
		web.Post("/change", role, web.Role("operator")),
		web.Post("/begin", func(c *web.Call, _ none) (web.Reply, error) {
			c.SetOperatorCookie("adas", midnight)
			return web.JSON(c.OperatorSessionEnds.IsZero()), nil
		}, both),
		web.Delete("/end", func(c *web.Call, _ none) (web.Reply, error) {
			c.ClearOperatorCookie()
			return web.Reply{}, nil
		}, both),
	}
}

func operatorConfig() web.Config {
	return web.Config{
		Tokens: []operators.Token{operators.Single("operator", "op-token"), operators.Single("auditor", "au-token")},
		Routes: operatorRoutes(), OperatorSessions: signedIn{},
		Record: func(*web.Call, web.Act, string) error { return nil },
	}
}

func TestTheCookieOfAnOperatorHasTheRoleOfItsToken(t *testing.T) {
	s := start(t, operatorConfig())
	const own = "same-origin"
	for name, c := range map[string]struct {
		method, path, cookie, authorization, site string
		status                                    int
		body                                      string
	}{
		"an operator reads":                      {"GET", "/show", "adas", "", own, 200, `"ada, operator"`},
		"an auditor reads":                       {"GET", "/show", "bobs", "", own, 200, `"bob, auditor"`},
		"an operator changes":                    {"POST", "/change", "adas", "", own, 200, `"ada, operator"`},
		"an auditor does not":                    {"POST", "/change", "bobs", "", own, 403, "role"},
		"a token takes precedence":               {"GET", "/show", "adas", "Bearer au-token", own, 200, `"auditor, auditor"`},
		"a wrong token is not ignored":           {"GET", "/show", "adas", "Bearer wrong", own, 401, "token"},
		"an unknown one":                         {"GET", "/show", "eves", "", own, 401, "The session is over"},
		"an entered address":                     {"GET", "/show", "adas", "", "none", 200, `"ada, operator"`},
		"a client other than browsers":           {"GET", "/show", "adas", "", "", 200, `"ada, operator"`},
		"a page of the public address":           {"GET", "/show", "adas", "", "same-site", 403, "Sec-Fetch-Site"},
		"a foreign page":                         {"GET", "/show", "adas", "", "cross-site", 403, "Sec-Fetch-Site"},
		"a change by a foreign page":             {"POST", "/change", "adas", "", "cross-site", 403, "Sec-Fetch-Site"},
		"a change by the public address":         {"POST", "/change", "adas", "", "same-site", 403, "Sec-Fetch-Site"},
		"a change without the header":            {"POST", "/change", "adas", "", "", 403, "Sec-Fetch-Site"},
		"a change by an entered address":         {"POST", "/change", "adas", "", "none", 403, "Sec-Fetch-Site"},
		"a recorded read, by a page":             {"GET", "/copy", "adas", "", own, 200, `"ada, operator"`},
		"a recorded read without the header":     {"GET", "/copy", "adas", "", "", 403, "Sec-Fetch-Site"},
		"a change with a token, from anywhere":   {"POST", "/change", "", "Bearer op-token", "", 200, `"operator, operator"`},
		"the end of a session":                   {"DELETE", "/end", "adas", "", own, 200, ""},
		"the end of a session by a foreign page": {"DELETE", "/end", "adas", "", "cross-site", 403, ""},
		"the beginning of a session":             {"POST", "/begin", "", "Bearer op-token", own, 200, "true"},
		"a session is known by its end":          {"POST", "/begin", "adas", "", own, 200, "false"},
	} {
		t.Run(name, func(t *testing.T) {
			cookie := ""
			if c.cookie != "" {
				cookie = "svc-session=x; " + web.OperatorCookie + "=" + c.cookie
			}
			a := s.ask(c.method, c.path, "", "Cookie", cookie, "authorization", c.authorization, "Sec-Fetch-Site", c.site)
			require.Equal(t, c.status, a.StatusCode, a.body)
			require.Contains(t, a.body, c.body)
		})
	}
	two := web.OperatorCookie + "=adas; " + web.OperatorCookie + "=bobs"
	require.Equal(t, 400, s.ask("GET", "/show", "", "Cookie", two).StatusCode)
	require.NotContains(t, s.logs.String(), "adas")
	require.NotContains(t, s.logs.String(), "eves")
}

func TestTheAttributesOfAnOperatorsCookie(t *testing.T) {
	s := start(t, operatorConfig())
	cookie := func(method, path string, headers ...string) *http.Cookie {
		t.Helper()
		a := s.ask(method, path, "", headers...)
		require.Len(t, a.Cookies(), 1)
		require.Equal(t, "no-store", a.Header.Get("Cache-Control"))
		c := a.Cookies()[0]
		require.Equal(t, "recital-operator", c.Name)
		require.Equal(t, "/", c.Path)
		require.Empty(t, c.Domain)
		require.True(t, c.HttpOnly)
		require.Equal(t, http.SameSiteStrictMode, c.SameSite)
		return c
	}
	plain := cookie("POST", "/begin", "authorization", "Bearer op-token", "Origin", "http://localhost:8081")
	require.Equal(t, "adas", plain.Value)
	require.Equal(t, midnight, plain.Expires)
	require.False(t, plain.Secure)
	require.True(t, cookie("POST", "/begin", "authorization", "Bearer op-token", "Origin", "https://admin.example").Secure)

	ended := cookie("DELETE", "/end", "authorization", "Bearer op-token")
	require.Empty(t, ended.Value)
	require.True(t, ended.Expires.Before(time.Now()))
	over := cookie("GET", "/show", "Cookie", web.OperatorCookie+"=eves")
	require.Empty(t, over.Value, "the cookie is not cleared")
}

// Browsers send the cookie to every port of a host. The public address ignores it.
func TestAServerWithoutSessionsOfOperatorsIgnoresTheirCookies(t *testing.T) {
	config := operatorConfig()
	config.OperatorSessions = nil
	config.Routes = append(config.Routes, web.Get("/read", ok), web.Get("/public", ok, web.Public()))
	s := start(t, config)
	for path, status := range map[string]int{"/show": 401, "/read": 401, "/public": 200} {
		a := s.ask("GET", path, "", "Cookie", web.OperatorCookie+"=adas", "Sec-Fetch-Site", "same-origin")
		require.Equal(t, status, a.StatusCode, path)
		require.Empty(t, a.Cookies())
	}
	require.NotContains(t, s.logs.String(), "adas")
}
