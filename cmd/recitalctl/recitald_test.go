package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAgainstARecitald(t *testing.T) {
	a, dataDir := startRecitald(t)
	environment := []string{
		"RECITAL_ADMIN_ADDR=" + a.AdminAddr(), "RECITAL_HTTP_ADDR=" + a.PublicAddr(), "RECITAL_DATA_DIR=" + dataDir,
	}
	token, err := os.ReadFile(filepath.Join(dataDir, "operator-token"))
	require.NoError(t, err)

	t.Run("a table shows the account and a key that works", func(t *testing.T) {
		got := recitalctl(t, environment, "accounts", "create", "--plan", "indie")
		require.Zero(t, got.code, got.notes)
		lines := strings.Split(strings.TrimSpace(got.out), "\n")
		require.Len(t, lines, 2)
		assert.Regexp(t, `^ACCOUNT ID +PLAN +API KEY$`, lines[0])
		row := strings.Fields(lines[1])
		require.Len(t, row, 3)
		assert.Equal(t, "indie", row[1])
		assert.Equal(t, "indie", planOf(t, a.PublicAddr(), row[2]))
		assert.Contains(t, got.notes, "shown this once")
	})
	t.Run("JSON is for programs, and nothing else is on standard output", func(t *testing.T) {
		got := recitalctl(t, environment, "accounts", "create", "--format", "json")
		require.Zero(t, got.code, got.notes)
		var opened map[string]string
		require.NoError(t, json.Unmarshal([]byte(got.out), &opened))
		assert.Equal(t, "free", opened["plan"])
		assert.NotEmpty(t, opened["account_id"])
		assert.Equal(t, "free", planOf(t, a.PublicAddr(), opened["apikey"]))
	})
	t.Run("an unknown plan is refused with the plans that there are", func(t *testing.T) {
		got := recitalctl(t, environment, "accounts", "create", "--plan", "gold")
		assert.Equal(t, 1, got.code)
		assert.Empty(t, got.out)
		assert.Contains(t, got.notes, "plan: Input should be 'free', 'indie'")
	})
	t.Run("the doctor finds nothing", func(t *testing.T) {
		got := recitalctl(t, environment, "doctor")
		assert.Zero(t, got.code, got.out)
		assert.Equal(t, 5, strings.Count(got.out, "ok "), got.out)
		assert.NotContains(t, got.out+got.notes, strings.TrimSpace(string(token)))
	})
	t.Run("the auditor's token is not enough", func(t *testing.T) {
		got := recitalctl(t, environment, "accounts", "create", "--token-file", filepath.Join(dataDir, "auditor-token"))
		assert.Equal(t, 4, got.code)
		assert.Contains(t, got.notes, "is not an operator's")
	})

	wrong := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(wrong, []byte("not-the-token\n"), 0o600))
	for _, command := range [][]string{{"accounts", "create"}, {"doctor"}} {
		t.Run("a wrong token is named by its file only: "+command[0], func(t *testing.T) {
			got := recitalctl(t, environment, append(command, "--token-file", wrong)...)
			assert.Equal(t, 4, got.code)
			assert.Contains(t, got.out+got.notes, "does not accept the token in "+wrong)
			assert.NotContains(t, got.out+got.notes, "not-the-token")
		})
	}
	t.Run("the doctor tells that a token is open to others", func(t *testing.T) {
		open := filepath.Join(t.TempDir(), "token")
		require.NoError(t, os.WriteFile(open, token, 0o644))
		got := recitalctl(t, environment, "doctor", "--token-file", open)
		assert.Equal(t, 4, got.code)
		assert.Contains(t, got.out, "chmod 600")
	})
	t.Run("the public address is no admin address", func(t *testing.T) {
		got := recitalctl(t, environment, "accounts", "create", "--admin-addr", a.PublicAddr())
		assert.Equal(t, 1, got.code)
		assert.Contains(t, got.notes, "is it the admin address")
	})
}

// planOf asks the public interface what plan a key's account has.
func planOf(t *testing.T, address, key string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/account", nil)
	require.NoError(t, err)
	request.Header.Set("x-api-key", key)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	var account struct {
		Plan struct {
			Type string `json:"type"`
		} `json:"plan"`
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&account))
	return account.Plan.Type
}
