package accounts_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

const form = "application/x-www-form-urlencoded"

func TestTermsAreAccepted(t *testing.T) {
	s := serve(t)
	id, masked, url := s.opened()
	for range 2 {
		response, body := send(t, http.MethodPost, url+"/v1/account/accept_tos", masked, "application/json", "")
		require.Equal(t, http.StatusOK, response.StatusCode, body)
		require.JSONEq(t, `{"success": true}`, body)
	}
	require.Equal(t, []readmodel.Model{readmodel.Account}, s.Models.Names)
	state, _, err := s.Accounts.State(t.Context(), id)
	require.NoError(t, err)
	require.True(t, state.TermsAccepted)
}

func TestEmailPreferencesAreSetByAForm(t *testing.T) {
	s := serve(t)
	id, masked, url := s.opened()
	for body, wants := range map[string]bool{"wants_email=true": true, "wants_email=off": false, "wants_email=1": true} {
		response, got := send(t, http.MethodPost, url+"/v1/account/set_email_prefs", masked, form, body)
		require.Equal(t, http.StatusOK, response.StatusCode, got)
		state, _, err := s.Accounts.State(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, &wants, state.WantsEmail, body)
	}
	for body, refused := range map[string]string{"": "missing", "wants_email=": "missing",
		"wants_email=maybe": "bool_parsing"} {
		response, got := send(t, http.MethodPost, url+"/v1/account/set_email_prefs", masked, form, body)
		require.Equal(t, http.StatusUnprocessableEntity, response.StatusCode, got)
		require.Contains(t, got, `"type":"`+refused+`"`, body)
	}
}

func TestAnAccountIsClosed(t *testing.T) {
	s := serve(t)
	id, masked, url := s.opened()
	response, body := remove(t, url+"/v1/account", masked)
	require.Equal(t, http.StatusOK, response.StatusCode, body)
	require.JSONEq(t, `{"success": true}`, body)
	state, _, err := s.Accounts.State(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, account.Ending, state.Closing)
	require.Empty(t, state.Keys)

	// and requests with a credential that is about to end are refused like those without one
	for _, c := range []struct{ method, path, body string }{
		{http.MethodGet, "/v1/account/new_api_key", ""},
		{http.MethodPost, "/v1/account/api_key/" + masked + "/name", `{"name":"x"}`},
		{http.MethodDelete, "/v1/account/api_key/" + masked, ""},
		{http.MethodPost, "/v1/account/accept_tos", ""},
		{http.MethodPost, "/v1/account/set_email_prefs", `{"wants_email":true}`},
	} {
		response, body := send(t, c.method, url+c.path, masked, "application/json", c.body)
		require.Equal(t, http.StatusUnauthorized, response.StatusCode, "%s: %s", c.path, body)
		require.Contains(t, body, "The account is closed")
	}
}

func TestTheRoleOfAnOperator(t *testing.T) {
	s := serve(t)
	id, masked, url := s.opened()
	path := "/admin/accounts/" + id + "/operator"
	state := func() bool {
		t.Helper()
		state, _, err := s.Accounts.State(t.Context(), id)
		require.NoError(t, err)
		return state.Operator
	}
	for _, c := range []struct {
		method string
		is     bool
		body   string
	}{
		{http.MethodPost, true, `{"account_id":"` + id + `","operator":true}`},
		{http.MethodPost, true, `{"account_id":"` + id + `","operator":true}`},
		{http.MethodDelete, false, `{"account_id":"` + id + `","operator":false}`},
	} {
		response, body := s.Send(c.method, path, "op", "")
		require.Equal(t, http.StatusOK, response.StatusCode, body)
		require.JSONEq(t, c.body, body)
		require.Equal(t, c.is, state())
	}
	var last eventlog.Recorded
	for event, err := range s.Log.ReadStream(t.Context(), "account-"+id, 0) {
		require.NoError(t, err)
		last = event
	}
	require.Equal(t, "account-operator-withdrawn", last.Type)

	for token, status := range map[string]int{"": http.StatusUnauthorized, "guess": http.StatusUnauthorized,
		"au": http.StatusForbidden} {
		response, body := s.Send(http.MethodPost, path, token, "")
		require.Equal(t, status, response.StatusCode, body)
	}
	response, body := s.Send(http.MethodPost, "/admin/accounts/nobody/operator", "op", "")
	require.Equal(t, http.StatusNotFound, response.StatusCode, body)
	remove(t, url+"/v1/account", masked)
	response, body = s.Send(http.MethodPost, path, "op", "")
	require.Equal(t, http.StatusConflict, response.StatusCode, body)
	require.Contains(t, body, "The account is closed", "and it is not the operator's token that is wrong")
	require.False(t, state())
}
