package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	commands "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	writeapi "github.com/recital-tts/recital/writeapi/ledger"
	"github.com/recital-tts/recital/writeapi/writetest"
)

func TestMain(m *testing.M) { webtest.Main(m) }

// site serves the admin routes on a real server over a real log.
type site struct {
	*commandstest.World
	*writetest.Admin
	ledger *commands.Ledger
}

func serve(t *testing.T) *site {
	t.Helper()
	s := &site{World: commandstest.New(t)}
	s.ledger = s.Ledger()
	s.Admin = writetest.Serve(t, func(models *writetest.Models) []web.Route {
		api := writeapi.API{Ledger: s.ledger, ReadModels: models}
		return api.AdminRoutes()
	})
	return s
}

// openAccount opens an account on the free plan.
func (s *site) openAccount() string { return s.Open("free") }

func (s *site) grant(id, body string) (*http.Response, string) {
	s.T.Helper()
	return s.Post("/admin/accounts/"+id+"/credit", "op", body)
}

// credit returns an account's credit according to the log.
func (s *site) credit(id string) int64 {
	s.T.Helper()
	r, err := s.ledger.Reserve(s.T.Context(), id, 0, journal.System())
	require.NoError(s.T, err)
	return r.Allowance.Credit
}

func TestAnOperatorGrantsCredit(t *testing.T) {
	// when an operator grants credit
	s := serve(t)
	id := s.openAccount()
	response, body := s.grant(id, `{"characters": 500, "grant": "ticket-1.2_3"}`)

	// then the answer waits until the read models show it
	require.Equal(t, http.StatusOK, response.StatusCode, body)
	require.JSONEq(t, fmt.Sprintf(
		`{"account_id": %q, "grant": "ticket-1.2_3", "characters": 500, "credit_characters": 500}`, id), body)
	require.Equal(t, []readmodel.Model{readmodel.Usage}, s.Models.Names)
	head, err := s.Log.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, head.String(), response.Header.Get("x-recital-position"))

	// and repeating it changes nothing
	again, body2 := s.grant(id, `{"characters": 500, "grant": "ticket-1.2_3"}`)
	require.Equal(t, http.StatusOK, again.StatusCode)
	require.JSONEq(t, body, body2)
	require.Equal(t, response.Header.Get("x-recital-position"), again.Header.Get("x-recital-position"))
	require.EqualValues(t, 500, s.credit(id))

	// and without an id, each request is a grant of its own
	for _, want := range []float64{507, 514} {
		_, body := s.grant(id, `{"characters": 7}`)
		var granted map[string]any
		require.NoError(t, json.Unmarshal([]byte(body), &granted))
		require.NotEmpty(t, granted["grant"])
		require.Equal(t, want, granted["credit_characters"])
	}
}

func TestAGrantWithOtherCharactersIsNotToBeRetried(t *testing.T) {
	s := serve(t)
	id := s.openAccount()
	s.grant(id, `{"characters": 500, "grant": "g"}`)
	response, body := s.grant(id, `{"characters": 501, "grant": "g"}`)
	require.Equal(t, http.StatusConflict, response.StatusCode)
	require.Equal(t, "false", response.Header.Get("x-should-retry"))
	require.Contains(t, body, "given before, with another number of characters")
	require.EqualValues(t, 500, s.credit(id))
}

func TestAnAccountThatHasHadAllItsGrants(t *testing.T) {
	s := serve(t)
	id := s.openAccount()
	for i := range ledger.MaxGrants {
		_, err := s.ledger.GrantCredit(t.Context(), id, fmt.Sprint(i), 1, commandstest.Operator())
		require.NoError(t, err)
	}
	response, body := s.grant(id, `{"characters": 1}`)
	require.Equal(t, http.StatusConflict, response.StatusCode)
	require.Equal(t, "false", response.Header.Get("x-should-retry"))
	require.Contains(t, body, "1000 grants")
}

func TestCreditThatIsNotVisibleInTime(t *testing.T) {
	s := serve(t)
	id := s.openAccount()
	s.Models.Err = context.DeadlineExceeded
	response, body := s.grant(id, `{"characters": 5}`)
	require.Equal(t, http.StatusOK, response.StatusCode, body)
	require.Equal(t, "true", response.Header.Get("x-recital-stale"))
}

func TestGrantsThatAreRefused(t *testing.T) {
	s := serve(t)
	id := s.openAccount()
	for body, field := range map[string]string{
		`{}`:                                "characters",
		`{"characters": null}`:              "characters",
		`{"characters": 0}`:                 "characters",
		`{"characters": -1}`:                "characters",
		`{"characters": 1000000001}`:        "characters",
		`{"characters": 1.5}`:               "characters",
		`{"characters": "many"}`:            "characters",
		`{"characters": 5, "grant": ""}`:    "grant",
		`{"characters": 5, "grant": "a b"}`: "grant",
		`{"characters": 5, "grant": "é"}`:   "grant",
		`{"characters": 5, "grant": "` + strings.Repeat("g", 65) + `"}`: "grant",
		`{"characters": 5, "grant": 7}`:                                 "grant",
	} {
		response, told := s.grant(id, body)
		require.Equal(t, http.StatusUnprocessableEntity, response.StatusCode, "%s: %s", body, told)
		require.Contains(t, told, field)
	}
	for _, c := range []struct {
		id, token string
		status    int
	}{
		{id, "", http.StatusUnauthorized},
		{id, "guess", http.StatusUnauthorized},
		{id, "au", http.StatusForbidden},
		{"nobody", "op", http.StatusNotFound},
		{strings.Repeat("x", 65), "op", http.StatusUnprocessableEntity},
		{"%00", "op", http.StatusUnprocessableEntity},
	} {
		response, told := s.Post("/admin/accounts/"+c.id+"/credit", c.token, `{"characters": 5}`)
		require.Equal(t, c.status, response.StatusCode, "%q: %s", c.id, told)
	}
	require.Zero(t, s.credit(id))
}
