package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

func TestAgainstARecitald(t *testing.T) {
	t.Parallel()
	a, dataDir := startRecitald(t)
	environment := []string{
		"RECITAL_ADMIN_ADDR=" + a.AdminAddr(), "RECITAL_HTTP_ADDR=" + a.PublicAddr(), "RECITAL_DATA_DIR=" + dataDir,
	}
	token, err := os.ReadFile(filepath.Join(dataDir, "operator-token"))
	require.NoError(t, err)

	t.Run("the role of an operator", func(t *testing.T) { checkRole(t, environment) }) // it also counts the accounts
	t.Run("credit", func(t *testing.T) { checkCredit(t, a.PublicAddr(), dataDir, environment) })
	t.Run("audit", func(t *testing.T) { checkAudit(t, a.PublicAddr(), dataDir, environment) })
	t.Run("a table shows the account and a key that works", func(t *testing.T) {
		got := succeeds(t, environment, "accounts", "create", "--plan", "indie")
		lines := strings.Split(strings.TrimSpace(got.out), "\n")
		require.Len(t, lines, 2)
		assert.Regexp(t, `^ACCOUNT ID +PLAN +API KEY$`, lines[0])
		row := strings.Fields(lines[1])
		require.Len(t, row, 3)
		assert.Equal(t, "indie", row[1])
		assert.Equal(t, "indie", planOf(t, a.PublicAddr(), row[2]))
		assert.Contains(t, got.notes, "It cannot be shown again")
	})
	t.Run("with JSON, standard output has nothing else", func(t *testing.T) {
		got := succeeds(t, environment, "accounts", "create", "--format", "json")
		var opened map[string]string
		require.NoError(t, json.Unmarshal([]byte(got.out), &opened))
		assert.Equal(t, "free", opened["plan"])
		assert.NotEmpty(t, opened["account_id"])
		assert.Equal(t, "free", planOf(t, a.PublicAddr(), opened["apikey"]))
	})
	t.Run("an unknown plan is refused with a list of the plans", func(t *testing.T) {
		got := recitalctl(t, environment, "accounts", "create", "--plan", "gold")
		assert.Equal(t, 1, got.code)
		assert.Empty(t, got.out)
		assert.Contains(t, got.notes, "plan: Input should be 'free', 'indie'")
	})
	t.Run("the doctor finds no faults", func(t *testing.T) {
		var got ran
		require.Eventually(t, func() bool { // a slow machine may have lag
			got = recitalctl(t, environment, "doctor")
			return got.code == 0
		}, patience, interval)
		assert.NotContains(t, got.out, "FAULT")
		assert.NotContains(t, got.out, "skipped")
		assert.NotContains(t, got.out+got.notes, strings.TrimSpace(string(token)))
	})
	t.Run("alerts are listed, and cleared by an operator", func(t *testing.T) {
		var got ran
		require.Eventually(t, func() bool { // a slow machine may have passing conditions
			got = recitalctl(t, environment, "alerts")
			return got.code == 0 && strings.Contains(got.notes, "There are no open alerts")
		}, patience, interval)
		assert.Empty(t, got.out)
		got = recitalctl(t, environment, "alerts", "clear", "none")
		assert.Equal(t, 1, got.code)
		assert.Contains(t, got.notes, "No such alert is open")

		id := raiseUnpaid(t, dataDir)
		require.Eventually(t, func() bool {
			got = recitalctl(t, environment, "alerts", "--wide")
			return strings.Count(got.out, "\n") == 2 && strings.Contains(got.out, id)
		}, patience, interval)
		assert.Regexp(t, `^ID +SOURCE +REASON +SINCE +CLEARS ITSELF +ALERT\n`+id+
			` +todo/dunning +unpaid .* false +Account a1 has lost its plan`, got.out)
		got = recitalctl(t, environment, "alerts", "list", "--format", "csv")
		assert.Contains(t, got.out, "\n"+id+",todo/dunning,unpaid,")
		var listed adminapi.AlertsReply
		require.NoError(t, json.Unmarshal([]byte(recitalctl(t, environment, "alerts", "--format", "json").out), &listed))
		assert.EqualValues(t, id, listed.Alerts[0].ID)

		got = succeeds(t, environment, "alerts", "clear", id)
		require.Eventually(t, func() bool {
			return strings.Contains(recitalctl(t, environment, "alerts").notes, "There are no open alerts")
		}, patience, interval)
		assert.Equal(t, 1, recitalctl(t, environment, "alerts", "clear", id).code, "it is already cleared")
	})
	t.Run("a recitald is found by its data folder, and settings win", func(t *testing.T) {
		folder := "RECITAL_DATA_DIR=" + dataDir
		got := recitalctl(t, []string{folder}, "doctor")
		assert.Zero(t, got.code, got.out)
		assert.Zero(t, recitalctl(t, []string{folder}, "projections", "list").code)
		for _, setting := range []string{"RECITAL_ADMIN_ADDR=", "RECITAL_HTTP_ADDR="} {
			assert.Equal(t, 3, recitalctl(t, []string{folder, setting + unused(t)}, "doctor").code)
		}
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
	t.Run("the doctor reports that a token is open to others", func(t *testing.T) {
		open := filepath.Join(t.TempDir(), "token")
		require.NoError(t, os.WriteFile(open, token, 0o644))
		got := recitalctl(t, environment, "doctor", "--token-file", open)
		assert.Equal(t, 4, got.code)
		assert.Contains(t, got.out, "chmod 600")
	})
	t.Run("the doctor asks the admin address of another machine for the public one", func(t *testing.T) {
		got := recitalctl(t, nil, "doctor", "--admin-addr", a.AdminAddr(), "--data-dir", t.TempDir(), "--token-file",
			filepath.Join(dataDir, "operator-token"))
		assert.Regexp(t, `(?m)^skipped  the public address answers\n +the public address of the recitald on `+a.AdminAddr()+
			` is not known; give it with --http-addr`, got.out)
	})
	t.Run("the public address is not an admin address", func(t *testing.T) {
		got := recitalctl(t, environment, "accounts", "create", "--admin-addr", a.PublicAddr())
		assert.Equal(t, 1, got.code)
		assert.Contains(t, got.notes, "is it the admin address")
	})
}

func checkCredit(t *testing.T, public, dataDir string, environment []string) {
	longtest.Only(t)
	opened := opens(t, environment)
	credit := func(args ...string) ran {
		t.Helper()
		return recitalctl(t, environment, append([]string{"accounts", "credit"}, args...)...)
	}

	t.Run("a table shows the granted and the remaining credit", func(t *testing.T) {
		got := credit(opened.AccountID, "500", "--grant", "ticket-1")
		require.Zero(t, got.code, got.notes)
		require.Empty(t, got.notes)
		lines := strings.Split(strings.TrimSpace(got.out), "\n")
		require.Len(t, lines, 2)
		require.Regexp(t, `^ACCOUNT ID +GRANT +CHARACTERS +CREDIT LEFT$`, lines[0])
		require.Equal(t, []string{opened.AccountID, "ticket-1", "500", "500"}, strings.Fields(lines[1]))
		require.EqualValues(t, 500, accountOf(t, public, opened.APIKey).Usage.CreditCharacters)
	})
	t.Run("a repetition changes nothing, and JSON is for programs", func(t *testing.T) {
		got := credit(opened.AccountID, "500", "--grant", "ticket-1", "--format", "json")
		require.Zero(t, got.code, got.notes)
		var granted map[string]any
		require.NoError(t, json.Unmarshal([]byte(got.out), &granted))
		require.Equal(t, map[string]any{
			"account_id": opened.AccountID, "grant": "ticket-1", "characters": 500.0, "credit_characters": 500.0,
		}, granted)
	})
	t.Run("grants without an id add up", func(t *testing.T) {
		require.Contains(t, credit(opened.AccountID, "1").out, "501")
		require.Contains(t, credit(opened.AccountID, "1").out, "502")
	})
	for name, c := range map[string]struct {
		args  []string
		code  int
		notes string
	}{
		"another number": {[]string{opened.AccountID, "501", "--grant", "ticket-1"}, 1,
			"given before, with another number"},
		"nothing": {[]string{opened.AccountID, "0"}, 1,
			"characters: Input should be greater than or equal to 1"},
		"a negative number": {[]string{opened.AccountID, "-5"}, 2, "the number must be positive, not -5"},
		"a negative number, with an id": {[]string{"--grant", "x", opened.AccountID, "-5"}, 2,
			"the number must be positive, not -5"},
		"too much": {[]string{opened.AccountID, "1000000001"}, 1,
			"characters: Input should be less than or equal to"},
		"an invalid id": {[]string{opened.AccountID, "5", "--grant", "a b"}, 1,
			"grant: String should match pattern"},
		"an unknown account":        {[]string{"nobody", "5"}, 1, "The account does not exist"},
		"an account that is a path": {[]string{"../accounts", "5"}, 1, "The account does not exist"},
		"no number":                 {[]string{opened.AccountID, "many"}, 2, "see recitalctl --help"},
		"no characters":             {[]string{opened.AccountID}, 2, "see recitalctl --help"},
		"the auditor's token": {[]string{
			opened.AccountID, "5", "--token-file", filepath.Join(dataDir, "auditor-token"),
		}, 4, "is not an operator's"},
		"the command that repeats a grant of unknown outcome": {[]string{
			opened.AccountID, "5", "--grant", "again", "--admin-addr", "127.0.0.1:1",
		}, 3, "--grant again"},
	} {
		t.Run(name, func(t *testing.T) {
			got := credit(c.args...)
			require.Equal(t, c.code, got.code, got.notes)
			require.Empty(t, got.out)
			require.Contains(t, got.notes, c.notes)
		})
	}
	require.EqualValues(t, 502, accountOf(t, public, opened.APIKey).Usage.CreditCharacters)
}

// checkRole checks the commands on the role of an operator, and the list of accounts.
func checkRole(t *testing.T, environment []string) {
	opened := opens(t, environment)
	for range 2 { // a repetition has no effect
		got := succeeds(t, environment, "accounts", "grant-operator", opened.AccountID, "--reason", "Ticket 7")
		require.Empty(t, got.notes)
		lines := strings.Split(strings.TrimSpace(got.out), "\n")
		require.Regexp(t, `^ACCOUNT ID +OPERATOR$`, lines[0])
		require.Equal(t, []string{opened.AccountID, "true"}, strings.Fields(lines[1]))
	}
	got := succeeds(t, environment, "accounts", "withdraw-operator", opened.AccountID, "--reason", "Ticket 7",
		"--format", "json")
	require.JSONEq(t, `{"account_id":"`+opened.AccountID+`","operator":false}`, got.out)

	// accounts are listed page by page, and programs get the token of the next page
	recitalctl(t, environment, "accounts", "create")
	page := func(args ...string) (listed adminapi.AccountsPage) {
		got := succeeds(t, environment, append([]string{"accounts", "list", "--format", "json"}, args...)...)
		require.NoError(t, json.Unmarshal([]byte(got.out), &listed))
		return listed
	}
	whole := page("--limit", "0")
	require.Len(t, whole.Accounts, 3, "with the operator account of mode dev")
	require.Nil(t, whole.Next)
	require.True(t, slices.ContainsFunc(whole.Accounts,
		func(a adminapi.ListedAccount) bool {
			return a.AccountID == opened.AccountID && a.Plan == "free" && !a.Operator
		}))
	var turned []adminapi.ListedAccount
	for next := new(""); next != nil; {
		part := page("--limit", "1", "--after", *next)
		turned, next = append(turned, part.Accounts...), part.Next
	}
	require.Equal(t, whole.Accounts, turned)
	shortened := recitalctl(t, environment, "accounts", "list", "--limit", "2")
	require.Contains(t, shortened.notes, "There are more: --after "+whole.Accounts[1].AccountID)

	unexplained := recitalctl(t, environment, "accounts", "grant-operator", opened.AccountID)
	require.Equal(t, 1, unexplained.code)
	require.Contains(t, unexplained.notes, "this needs a reason, which is recorded (recitalctl: --reason TEXT)")

	for _, command := range []string{"grant-operator", "withdraw-operator"} {
		got := recitalctl(t, environment, "accounts", command, "nobody", "--reason", "Ticket 7")
		require.Equal(t, 1, got.code, command)
		require.Contains(t, got.notes, "The account does not exist", command)
		require.Empty(t, got.out, command)
	}
}

// shownAccount is a part of GET /v1/account.
type shownAccount struct {
	Plan struct {
		Type string `json:"type"`
	} `json:"plan"`
	Usage struct {
		CreditCharacters int64 `json:"credit_characters"`
	} `json:"usage"`
}

func planOf(t *testing.T, address, key string) string {
	t.Helper()
	return accountOf(t, address, key).Plan.Type
}

// accountOf requests a key's account from the public API.
func accountOf(t *testing.T, address, key string) (account shownAccount) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/account", nil)
	require.NoError(t, err)
	request.Header.Set("x-api-key", key)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.NoError(t, json.NewDecoder(response.Body).Decode(&account))
	return account
}

// raiseUnpaid raises an alert that only an operator clears, and returns its id.
func raiseUnpaid(t *testing.T, dataDir string) string {
	t.Helper()
	raised := alert.Raised{
		Alert: uuid.NewString(), Source: "todo/dunning", Subject: "a1", Reason: alert.Unpaid, At: time.Now().UTC(),
	}
	appendFirst(t, dataDir, alert.Stream, raised)
	return raised.Alert
}

// appendFirst appends the first event of a stream to the log of a running recitald.
func appendFirst(t *testing.T, dataDir, stream string, event any) {
	t.Helper()
	log, err := esdb.Open(esdb.Config{Socket: filepath.Join(dataDir, "eventnode", "node.sock")})
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	registry, err := app.Registry()
	require.NoError(t, err)
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: time.Now()}
	events, err := registry.Encode(uuid.New(), 0, meta, event)
	require.NoError(t, err)
	_, err = log.Append(t.Context(), stream, eventlog.NoStream, events)
	require.NoError(t, err)
}
