package main

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

func checkAudit(t *testing.T, public, dataDir string, environment []string) {
	run := func(args ...string) ran { return recitalctl(t, append(environment, "TZ=UTC"), args...) }
	opened := opens(t, environment)
	require.Zero(t, run("accounts", "credit", opened.AccountID, "500", "--grant", "ticket-1").code)

	t.Run("an entry names who did it", func(t *testing.T) {
		got := run("audit", "billing", "--account", opened.AccountID, "--wide")
		require.Zero(t, got.code, got.notes)
		require.Contains(t, got.out, "Account "+opened.AccountID+" was granted 500 characters of credit, as grant "+
			"ticket-1. Operator operator did it, from 127.0.0.1.")
	})
	t.Run("all pages are read, in each format", func(t *testing.T) {
		longtest.Only(t)
		const renames = maxAuditPage + 20 // more than a free account may do at once
		opened := opens(t, environment, "--plan", "indie")
		rename(t, public, opened, renames)
		lines := strings.Split(strings.TrimSpace(run("audit", "sessions", "--kind", "account-api-key-renamed", "--limit",
			"0", "--format", "json").out), "\n")
		require.Len(t, lines, renames)
		seen := map[string]bool{}
		for _, line := range lines {
			var e adminapi.AuditEntry
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			require.Equal(t, opened.Masked, e.Actor.Key)
			seen[e.Correlation] = true
		}
		require.Len(t, seen, renames, "each has its own request")

		rows, err := csv.NewReader(strings.NewReader(run("audit", "sessions", "--account", opened.AccountID, "--limit", "0",
			"--format", "csv").out)).ReadAll()
		require.NoError(t, err)
		require.Len(t, rows, 1+2+renames, "a head, the account, its key, its names")
		require.Equal(t, "time", rows[0][0])

		some := run("audit", "sessions", "--account", opened.AccountID, "--limit", "510", "--wide")
		require.Len(t, strings.Split(strings.TrimSpace(some.out), "\n"), 511)
		require.Contains(t, some.notes, "There is more")
	})
	for name, c := range map[string]struct {
		args  []string
		code  int
		notes string
	}{
		"personal data for an operator": {[]string{
			"audit", "sessions", "--personal", "--reason", "x", "--token-file", filepath.Join(dataDir, "operator-token"),
		}, 4, "personal data needs an auditor's token"},
		"personal data without reason": {[]string{"audit", "sessions", "--personal"}, 2, "--reason"},
		"an address without reason":    {[]string{"audit", "billing", "--email", "ada@example.com"}, 2, "--reason"},
		"an address as the reason": {[]string{
			"accounts", "find", "--email", "ada@example.com", "--reason", "ada@example.com",
		}, 2, "must not contain an e-mail address"},
		"a kind that no event has": {[]string{"audit", "sessions", "--kind", "session-opend"}, 1,
			"no event is of the kind session-opend; there are session-ended, session-opened"},
		"an invalid time": {[]string{"audit", "sessions", "--from", "yesterday"}, 2, "is not a time"},
		"a future state": {[]string{
			"accounts", "show", opened.AccountID, "--as-of", "2999-01-01",
		}, 1, "the time is in the future"},
		"a state before the account": {[]string{
			"accounts", "show", opened.AccountID, "--as-of", "2020-01-01",
		}, 1, "The account does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(c.args...)
			require.Equal(t, c.code, got.code, got.notes)
			require.Empty(t, got.out)
			require.Contains(t, got.notes, c.notes)
		})
	}
	t.Run("an account is shown as it is", func(t *testing.T) {
		var now adminapi.AccountAsOf
		require.NoError(t, json.Unmarshal([]byte(run("accounts", "show", opened.AccountID, "--format", "json").out), &now))
		require.Equal(t, "open", now.State)
		require.EqualValues(t, 500, now.Usage.Credit)
		require.Equal(t, opened.Masked, now.APIKeys[0])
		require.Contains(t, run("accounts", "show", opened.AccountID).out, "15000, 0 reserved, 500 of credit left")
	})
}

// rename renames an account's key a number of times.
func rename(t *testing.T, address string, owner adminapi.OpenResponse, times int) {
	t.Helper()
	for i := range times {
		body := strings.NewReader(`{"name": "` + strings.Repeat("x", 1+i%9) + `"}`)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			"http://"+address+"/v1/account/api_key/"+url.PathEscape(owner.Masked)+"/name", body)
		require.NoError(t, err)
		request.Header.Set("x-api-key", owner.APIKey)
		request.Header.Set("content-type", "application/json")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode)
	}
}
