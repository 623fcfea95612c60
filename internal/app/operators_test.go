package app_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

func TestEachPersonInATokenFileHasATokenOfTheirOwn(t *testing.T) {
	// given a file with lines of two people, and a separate file with the auditors' token
	tokens := map[string]string{"ada": strings.Repeat("a", 64), "bob": strings.Repeat("b", 64)}
	cfg := config(t)
	cfg.OperatorTokenFile = filepath.Join(t.TempDir(), "people")
	lines := fmt.Sprintf("# operators\nada operator %x\n\n# and who may look\nbob auditor %x\n",
		sha256.Sum256([]byte(tokens["ada"])), sha256.Sum256([]byte(tokens["bob"])))
	require.NoError(t, os.WriteFile(cfg.OperatorTokenFile, []byte(lines), 0o600))
	a := open(t, cfg)

	// then each has the rights of their role
	for _, c := range []struct {
		name, token   string
		reads, writes int
	}{
		{"an operator", tokens["ada"], http.StatusOK, http.StatusOK},
		{"an auditor", tokens["bob"], http.StatusOK, http.StatusForbidden},
		{"the auditors' own file", secret(t, cfg, "auditor-token"), http.StatusOK, http.StatusForbidden},
		{"the hash in place of the token", fmt.Sprintf("%x", sha256.Sum256([]byte(tokens["ada"]))), http.StatusUnauthorized,
			http.StatusUnauthorized},
		{"nobody", "", http.StatusUnauthorized, http.StatusUnauthorized},
	} {
		t.Run(c.name, func(t *testing.T) {
			for path, want := range map[string]int{"GET /metrics": c.reads, "POST /admin/accounts": c.writes} {
				method, path, _ := strings.Cut(path, " ")
				request, err := http.NewRequestWithContext(t.Context(), method, "http://"+a.AdminAddr()+path,
					strings.NewReader("{}"))
				require.NoError(t, err)
				request.Header.Set("Content-Type", "application/json")
				request.Header.Set("Authorization", "Bearer "+c.token)
				assert.Equal(t, want, do(t, request).StatusCode, path)
			}
		})
	}
}

// The cookie of an operator's browser is valid after a restart of the instance, and invalid after the token is
// replaced.
func TestAnOperatorsBrowserIsSignedInUntilItsTokenIsReplaced(t *testing.T) {
	longtest.Only(t)
	cfg := config(t)
	cfg.OperatorTokenFile = filepath.Join(t.TempDir(), "people")
	people := func(ada, bob string) {
		lines := fmt.Sprintf("ada operator %x\nbob auditor %x\n", sha256.Sum256([]byte(ada)), sha256.Sum256([]byte(bob)))
		require.NoError(t, os.WriteFile(cfg.OperatorTokenFile, []byte(lines), 0o600))
	}
	ada, bob, next := strings.Repeat("a", 64), strings.Repeat("b", 64), strings.Repeat("c", 64)
	people(ada, bob)
	a := open(t, cfg)
	ask := func(method, address, path string, headers ...string) *http.Response {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader("{}"))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Sec-Fetch-Site", "same-origin")
		for i := 0; i < len(headers); i += 2 {
			request.Header.Set(headers[i], headers[i+1])
		}
		return do(t, request)
	}
	signIn := func(token string) string {
		t.Helper()
		response := ask(http.MethodPost, a.AdminAddr(), "/admin/session", "Authorization", "Bearer "+token)
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Len(t, response.Cookies(), 1)
		require.NotContains(t, response.Cookies()[0].Value, token)
		return response.Cookies()[0].Name + "=" + response.Cookies()[0].Value
	}

	requireStatus := func(status int, method, address, path, cookie string) {
		t.Helper()
		require.Equal(t, status, ask(method, address, path, "Cookie", cookie).StatusCode, path)
	}

	// given an operator and an auditor who have signed in, then their cookies have the rights of their tokens
	adas, bobs := signIn(ada), signIn(bob)
	requireStatus(http.StatusOK, http.MethodPost, a.AdminAddr(), "/admin/accounts", adas)
	requireStatus(http.StatusForbidden, http.MethodPost, a.AdminAddr(), "/admin/accounts", bobs)
	requireStatus(http.StatusOK, http.MethodGet, a.AdminAddr(), "/metrics", bobs)
	requireStatus(http.StatusOK, http.MethodGet, a.AdminAddr(), "/admin/session", bobs)

	// and they cannot be renewed, and are not valid at the public address
	requireStatus(http.StatusForbidden, http.MethodPost, a.AdminAddr(), "/admin/session", adas)
	requireStatus(http.StatusUnauthorized, http.MethodGet, a.PublicAddr(), "/v1/account", adas)
	requireStatus(http.StatusNoContent, http.MethodDelete, a.AdminAddr(), "/admin/session", adas)

	// when the instance is restarted with another token for one of them
	require.NoError(t, a.Close())
	people(next, bob)
	a = open(t, cfg)

	// then that one's session is over
	requireStatus(http.StatusUnauthorized, http.MethodGet, a.AdminAddr(), "/admin/session", adas)
	requireStatus(http.StatusOK, http.MethodGet, a.AdminAddr(), "/admin/session", bobs)
}
