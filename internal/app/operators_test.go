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
)

func TestEachPersonInATokenFileHasATokenOfTheirOwn(t *testing.T) {
	// given a file with lines of two people, beside the file with the auditors' token
	tokens := map[string]string{"ada": strings.Repeat("a", 64), "bob": strings.Repeat("b", 64)}
	cfg := config(t)
	cfg.OperatorTokenFile = filepath.Join(t.TempDir(), "people")
	lines := fmt.Sprintf("# operators\nada operator %x\n\n# and who may look\nbob auditor %x\n",
		sha256.Sum256([]byte(tokens["ada"])), sha256.Sum256([]byte(tokens["bob"])))
	require.NoError(t, os.WriteFile(cfg.OperatorTokenFile, []byte(lines), 0o600))
	a := open(t, cfg)

	// then each of them may do what their role may
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
