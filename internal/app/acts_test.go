package app_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every operators' route that changes or copies data must declare its act.
func TestEveryRouteThatChangesOrCopiesDeclaresItsAct(t *testing.T) {
	recordsNothing := map[string]string{
		"PUT /admin/keyring/import": "pieces of a copy, which the POST that imports it records",
		"PUT /admin/voices/package": "pieces of a package, which the POST that installs it records",

		"POST /admin/session":   "a cookie in place of the token, whose holder each act names",
		"DELETE /admin/session": "the same",

		"GET /admin/audit/verification": "what was found, which copies no event",
	}
	a := open(t, config(t))
	for _, route := range slices.Concat(a.AdminRoutes(), a.PublicRoutes()) {
		name := route.Method + " " + route.Path
		copies := route.Stream > 0 || route.ChangesState
		exempt := recordsNothing[name] != "" || strings.HasPrefix(route.Path, "/admin/sandbox/") // a stand-in of mode dev
		if len(route.Roles) == 0 || !copies || exempt {
			continue
		}
		require.NotNil(t, route.Act, "%s: declare web.Acts", name)
		require.True(t, route.Act.Own || route.Act.Kind != "", name)
	}
}

func TestActsOfOperatorsAreEntries(t *testing.T) {
	// given an operator and an auditor with names
	cfg := config(t)
	cfg.OperatorTokenFile = filepath.Join(t.TempDir(), "people")
	ada, bob := strings.Repeat("a", 64), strings.Repeat("b", 64)
	lines := fmt.Sprintf("ada operator %x\nbob auditor %x\n", sha256.Sum256([]byte(ada)), sha256.Sum256([]byte(bob)))
	require.NoError(t, os.WriteFile(cfg.OperatorTokenFile, []byte(lines), 0o600))
	a := open(t, cfg)
	ask := func(token, method, path, body, reason string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+a.AdminAddr()+path, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+token)
		if reason != "" {
			request.Header.Set("x-recital-reason", reason)
		}
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(answer)
	}
	type entry struct {
		Kind     string                                       `json:"kind"`
		Sentence string                                       `json:"sentence"`
		Actor    struct{ Name, Role, Address, Reason string } `json:"actor"`
	}
	entries := func(operator string, count int) (found []entry) {
		t.Helper()
		require.Eventually(t, func() bool {
			var page struct{ Entries []entry }
			status, answer := ask(bob, http.MethodGet, "/admin/audit/operators?operator="+url.QueryEscape(operator), "", "")
			if isLate(status, []byte(answer)) {
				return false
			}
			require.Equal(t, http.StatusOK, status, answer)
			require.NoError(t, json.Unmarshal([]byte(answer), &page))
			found = page.Entries
			return len(found) >= count
		}, patience, pause, "%d entries of %s", count, operator)
		return found
	}

	// when the operator changes and copies data, with a reason
	count := 0
	for _, act := range []struct {
		method, path, body, said string
		status                   int
	}{
		{"POST", "/admin/projections/rebuild", `{"projections":["alerts"]}`, "Read models are to be built again: alerts",
			200},
		{"POST", "/admin/projections/rollback", `{"name":"usage"}`, "A read model is to be rolled back: usage", 404},
		{"POST", "/admin/projections/promote", `{"generations":[{"name":"usage","generation":7}]}`,
			"Generations of read models are to be live: usage generation 7", 404},
		{"POST", "/admin/projections/retire", `{"name":"usage","generation":7}`,
			"A generation of a read model is to be dropped: usage generation 7", 404},
		{"POST", "/admin/projections/parked/retry", `{"name":"usage","event_id":"0190b0c0-0000-7000-8000-000000000000"}`,
			"A parked event is to be tried again: 0190b0c0-0000-7000-8000-000000000000 in usage", 404},
		{"GET", "/admin/backup/keyring", "", "The keyring is copied", 200},
		{"GET", "/admin/backup/blobs", "", "Blobs are copied", 200},
		{"GET", "/admin/log", "", "Events of the log are copied", 200},
		{"POST", "/admin/keyring/import", "", "A copy of the keyring is to be imported", 409},
		{"POST", "/admin/accounts", "{}", "was opened on plan free", 200}, // its event, and that of its key
	} {
		status, answer := ask(ada, act.method, act.path, act.body, "Ticket 7")
		require.Equal(t, act.status, status, "%s: %s", act.path, answer)
		count++
		last := entries("ada", count)[count-1]
		require.Contains(t, last.Sentence, act.said)
		require.Contains(t, last.Sentence, "Operator ada did it, from 127.0.0.1, with the reason: Ticket 7.")
		require.Equal(t, [4]string{"ada", "operator", "127.0.0.1", "Ticket 7"}, [4]string{
			last.Actor.Name, last.Actor.Role, last.Actor.Address, last.Actor.Reason,
		})
	}

	count++
	require.Contains(t, entries("ada", count)[count-1].Sentence, "API key")

	// then copies that belong together are one entry, and another person's copies are another
	for range 2 {
		ask(ada, http.MethodGet, "/admin/log", "", "Ticket 7")
		ask(bob, http.MethodGet, "/admin/log?type=account-opened", "", "")
	}
	require.Contains(t, entries("bob", 1)[0].Sentence, "Events of the log are copied. Auditor bob did it, from 127.0.0.1.")
	require.Len(t, entries("ada", count), count)

	// and refused acts are not recorded: without a required reason, or with a reason that must not be in the log
	for reason, says := range map[string]string{
		"": "this needs a reason", "of jane@example.org": "must not hold an e-mail address",
		strings.Repeat("x", 501): "at most 500 characters",
	} {
		status, answer := ask(ada, http.MethodPost, "/admin/keyring/abandon", `{"keyring":"k1"}`, reason)
		require.Equal(t, http.StatusUnprocessableEntity, status)
		require.Contains(t, answer, says)
		require.Contains(t, answer, "x-recital-reason")
	}
	status, _ := ask(bob, http.MethodPost, "/admin/projections/rebuild", `{"all":true}`, "Curious")
	require.Equal(t, http.StatusForbidden, status)
	require.Len(t, entries("ada", count), count)
	require.Len(t, entries("bob", 1), 1)

	// and a drain from the local machine is an entry, too
	response, err := http.Post("http://"+a.PublicAddr()+"/drain", "", nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Contains(t, entries("LOCAL", 1)[0].Sentence,
		"An instance is to be drained. Operator LOCAL did it, from 127.0.0.1.")
}
