package main_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/standins/hostingplatform"
	"github.com/recital-tts/recital/internal/standins/hostingplatform/platformtest"
)

var hostingLine = regexp.MustCompile(`(?m)^  hosting +(http://\S+)`)

// installs installs the integration for projects on the page of the stand-in platform.
func (s *server) installs(projects ...string) (config, code string) {
	s.t.Helper()
	request, err := http.NewRequest(http.MethodPost, s.told(hostingLine)+"/install",
		strings.NewReader(url.Values{"projects": {strings.Join(projects, ",")}}.Encode()))
	require.NoError(s.t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := requireOK(s.t, do(s.t, request))
	var made struct {
		Config string `json:"configurationId"`
		Code   string `json:"code"`
	}
	require.NoError(s.t, json.Unmarshal(answer.body, &made))
	return made.Config, made.Code
}

// tryHosting makes a request to a route for the hosting platform.
func (c customer) tryHosting(t *testing.T, what string, form url.Values) reply {
	t.Helper()
	return do(t, c.request(http.MethodPost, "/v1/account/hosting/"+what, strings.NewReader(form.Encode()), "Content-Type",
		"application/x-www-form-urlencoded"))
}

func (c customer) hosts(t *testing.T, what string, form url.Values) (answer map[string]any) {
	t.Helper()
	got := requireOK(t, c.tryHosting(t, what, form))
	require.NoError(t, json.Unmarshal(got.body, &answer))
	return answer
}

func TestKeysForHostedProjects(t *testing.T) {
	t.Parallel()
	s := share(t)
	c := s.openAccount("indie")
	config, code := s.installs("my-site", "my-shop")

	// when an account connects, then it sees the projects, later even without a code
	form := url.Values{"config_id": {config}, "code": {code}}
	for range 2 {
		require.Equal(t, map[string]any{"complete": true, "projects": []any{
			map[string]any{"id": "prj_2", "name": "my-site", "has_api_key": false},
			map[string]any{"id": "prj_3", "name": "my-shop", "has_api_key": false},
		}}, c.hosts(t, "projects", form))
		form.Del("code")
	}

	// when keys are added to projects, then the account has a key named after each project, and failures are reported
	answer := c.hosts(t, "env_vars",
		url.Values{"config_id": {config}, "add_project_names": {"my-site,../my-shop", `["my-shop"]`}})
	require.Equal(t, map[string]any{"success": false, "failed": []any{
		map[string]any{"project": "../my-shop", "message": "The hosting platform does not know the project"},
	}}, answer)
	require.ElementsMatch(t, []string{"", "my-site", "my-shop"}, c.keyNames(t))

	// when a project is removed, then its key is revoked immediately
	require.Equal(t, map[string]any{"success": true, "failed": []any{}},
		c.hosts(t, "env_vars", url.Values{"config_id": {config}, "remove_projects": {"my-shop"}}))
	require.ElementsMatch(t, []string{"", "my-site"}, c.keyNames(t))
	projects := c.hosts(t, "projects", form)["projects"].([]any)
	require.Equal(t, true, projects[0].(map[string]any)["has_api_key"])
	require.Equal(t, false, projects[1].(map[string]any)["has_api_key"])

	// and names and lists that are too long are refused
	many := url.Values{"config_id": {config}, "add_project_names": {strings.Repeat("x", 101)},
		"remove_projects": strings.Split("p"+strings.Repeat(",p", 100), ",")}
	for i := range many["remove_projects"] {
		many["remove_projects"][i] += string(rune('a'+i%26)) + string(rune('a'+i/26))
	}
	refused := c.tryHosting(t, "env_vars", many)
	require.Equal(t, 422, refused.status)
	require.Contains(t, refused.text(), "a name has at most 100 characters")
	require.Contains(t, refused.text(), "at most 100 projects")
}

func (c customer) keyNames(t *testing.T) (names []string) {
	t.Helper()
	for _, key := range c.account(t).APIKeys {
		if key.Name == nil {
			key.Name = new(string)
		}
		names = append(names, *key.Name)
	}
	return names
}

// openPlatform returns a hosting platform that outlives recitald, and recitald's flags for it.
func openPlatform(t *testing.T) (*platformtest.Platform, []string) {
	t.Helper()
	p := platformtest.Open(t, hostingplatform.Config{ClientID: "oac_1", ClientSecret: "hosted-secret"})
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("hosted-secret\n"), 0o600))
	return p, []string{"--hosting-client-id=oac_1", "--hosting-client-secret-file=" + secret, "--hosting-url=" + p.URL()}
}

func TestALimitOfThePlatformReachesTheClient(t *testing.T) {
	t.Parallel()
	platform, flags := openPlatform(t)
	s := start(t, dataFolder(t), flags...)
	c := s.openAccount("indie")
	config, code := platform.Install("team_1", "site", "shop")
	c.hosts(t, "projects", url.Values{"config_id": {config}, "code": {code}})
	add := url.Values{"config_id": {config}, "add_project_names": {"site,shop"}}

	// recitald waits for a short Retry-After
	platform.Fail(platformtest.Fault{Method: "POST", Status: 429, RetryAfter: 1})
	require.Equal(t, true, c.hosts(t, "env_vars", add)["success"])
	require.Len(t, platform.Variables(config), 2)

	// a long one is passed to the client
	platform.Fail(platformtest.Fault{Method: "GET", Status: 429, RetryAfter: 100})
	limited := c.tryHosting(t, "env_vars", url.Values{"config_id": {config}, "remove_projects": {"site"}})
	require.Equal(t, 429, limited.status, limited.text())
	require.Equal(t, "100", limited.header.Get("Retry-After"))
	require.Equal(t, true,
		c.hosts(t, "env_vars", url.Values{"config_id": {config}, "remove_projects": {"site"}})["success"])
	require.Len(t, platform.Variables(config), 1)

	// an outage returns 503, and neither the platform's reply nor a secret is logged
	platform.Fail(platformtest.Fault{Method: "GET", Status: 500})
	away := c.tryHosting(t, "env_vars", add)
	require.Equal(t, 503, away.status, away.text())
	require.NotEmpty(t, away.header.Get("Retry-After"))
	platform.Uninstall(config)
	gone := c.tryHosting(t, "projects", url.Values{"config_id": {config}})
	require.Equal(t, 409, gone.status, gone.text())
	logged := read(t, s.log)
	require.NotContains(t, logged, "hosted-secret")
	require.NotContains(t, logged, code)
}
