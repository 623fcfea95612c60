package accounts_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/writeapi/accounts"
)

// known authenticates every caller as one account, with the key of the request.
type known struct{ account string }

func (k *known) APIKey(_ context.Context, key string) (web.Principal, error) {
	return web.Principal{Account: k.account, Key: key}, nil
}

// opened opens an account with a key, and serves its routes.
func (s *site) opened() (id, masked, url string) {
	s.T.Helper()
	response, body := s.post("op", `{"plan":"pro"}`)
	require.Equal(s.T, http.StatusOK, response.StatusCode, body)
	var got map[string]string
	require.NoError(s.T, json.Unmarshal([]byte(body), &got))
	api := accounts.API{Accounts: s.Accounts, ReadModels: s.Models}
	url = webtest.Serve(s.T, web.Config{Routes: api.Routes(), Authenticator: &known{got["account_id"]}})
	return got["account_id"], got["masked"], url
}

// remove sends the request of published clients: a content type, and no body.
func remove(t *testing.T, url, key string) (*http.Response, string) {
	t.Helper()
	return send(t, http.MethodDelete, url, key, "application/json", "")
}

func send(t *testing.T, method, url, key, contentType, body string) (*http.Response, string) {
	t.Helper()
	return webtest.Send(t, method, url, body, "Content-Type", contentType, "X-Api-Key", key)
}

func TestAKeyIsRevokedByItsMaskedForm(t *testing.T) {
	s := serve(t)
	for name, escaped := range map[string]func(string) string{
		"as it is":          func(masked string) string { return masked },
		"with %2A for each": func(masked string) string { return masked[:7] + "%2A%2a%2A%2A" + masked[11:] },
	} {
		t.Run(name, func(t *testing.T) {
			id, masked, url := s.opened()
			response, body := remove(t, url+"/v1/account/api_key/"+escaped(masked), masked)
			require.Equal(t, http.StatusOK, response.StatusCode, body)
			require.JSONEq(t, `{"success": true}`, body)
			require.Equal(t, []readmodel.Model{readmodel.Account}, s.Models.Names)

			// then the log holds the revocation, and its actor
			var last eventlog.Recorded
			for event, err := range s.Log.ReadStream(t.Context(), "account-"+id, 0) {
				require.NoError(t, err)
				last = event
			}
			require.Equal(t, "account-api-key-revoked", last.Type)
			require.Equal(t, last.Position.String(), response.Header.Get("x-recital-position"))
			decoded, err := s.Journal.Registry.Decode(last)
			require.NoError(t, err)
			require.Equal(t, eventlog.Actor{Kind: eventlog.ActorAccount, Account: id, Key: masked}, decoded.Meta.Actor)

			// and a second revocation is refused
			response, body = remove(t, url+"/v1/account/api_key/"+masked, masked)
			require.Equal(t, http.StatusNotFound, response.StatusCode, body)
			require.Contains(t, body, "There is no such API key")
		})
	}
}

func TestARevocationThatIsNotVisibleInTime(t *testing.T) {
	s := serve(t)
	_, masked, url := s.opened()
	s.Models.Err = context.DeadlineExceeded
	response, body := remove(t, url+"/v1/account/api_key/"+masked, masked)
	require.Equal(t, http.StatusOK, response.StatusCode, body)
	require.Equal(t, "true", response.Header.Get("x-recital-stale"))
}

func TestOnlyAnAccountItselfRevokesItsKeys(t *testing.T) {
	s := serve(t)
	_, masked, _ := s.opened()
	_, own, url := s.opened()
	for path, status := range map[string]int{
		masked:            http.StatusNotFound, // another account's
		"%E2%98%83%2F%25": http.StatusNotFound,
		"rk_%00":          http.StatusUnprocessableEntity,
		"rk_%FF":          http.StatusUnprocessableEntity,
		"":                http.StatusNotFound, // no route
		own + "/nothing":  http.StatusNotFound,
	} {
		response, body := remove(t, url+"/v1/account/api_key/"+path, own)
		require.Equal(t, status, response.StatusCode, "%s: %s", path, body)
	}
	response, body := remove(t, url+"/v1/account/api_key/"+own, "")
	require.Equal(t, http.StatusUnauthorized, response.StatusCode, body)
}

func TestAKeyIsCreatedAndShownOnce(t *testing.T) {
	s := serve(t)
	id, masked, url := s.opened()
	for query, name := range map[string]string{"": "", "?type=integration_2": "integration_2"} {
		response, body := send(t, http.MethodGet, url+"/v1/account/new_api_key"+query, masked, "", "")
		require.Equal(t, http.StatusOK, response.StatusCode, body)
		require.Equal(t, "no-store", response.Header.Get("Cache-Control"))
		require.Equal(t, []readmodel.Model{readmodel.Account}, s.Models.Names)
		var got map[string]string
		require.NoError(t, json.Unmarshal([]byte(body), &got))
		require.Len(t, got, 2)
		require.True(t, account.WellFormedAPIKey(got["apikey"]))

		state, _, err := s.Accounts.State(t.Context(), id)
		require.NoError(t, err)
		made := state.Keys[len(state.Keys)-1]
		require.Equal(t, account.Key{Hash: account.HashAPIKey(got["apikey"]), Masked: got["masked"],
			SealedName: made.SealedName}, made)
		require.Equal(t, name, s.nameOf(id, made))
	}
	for method, want := range map[string]int{http.MethodHead: http.StatusMethodNotAllowed,
		http.MethodPost: http.StatusMethodNotAllowed} {
		response, _ := send(t, method, url+"/v1/account/new_api_key", masked, "", "")
		require.Equal(t, want, response.StatusCode, method)
	}
	response, body := send(t, http.MethodGet, url+"/v1/account/new_api_key?type=integration_4", masked, "", "")
	require.Equal(t, http.StatusUnprocessableEntity, response.StatusCode)
	require.Contains(t, body, `"type":"enum"`)
	require.Contains(t, body, "Input should be 'integration_1', 'integration_2' or 'integration_3'")
	response, _ = send(t, http.MethodGet, url+"/v1/account/new_api_key", "", "", "")
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
}

func TestThereIsRoomForAHundredKeys(t *testing.T) {
	s := serve(t)
	id, masked, url := s.opened()
	for range account.MaxKeys - 1 {
		_, err := s.Accounts.CreateKey(t.Context(), id, "", commandstest.Operator())
		require.NoError(t, err)
	}
	response, body := send(t, http.MethodGet, url+"/v1/account/new_api_key", masked, "", "")
	require.Equal(t, http.StatusForbidden, response.StatusCode, body)
	require.Contains(t, body, "The account has 100 API keys, the most it can have; delete one first")
	remove(t, url+"/v1/account/api_key/"+masked, masked)
	response, body = send(t, http.MethodGet, url+"/v1/account/new_api_key", masked, "", "")
	require.Equal(t, http.StatusOK, response.StatusCode, body)
}

func TestAKeyIsRenamed(t *testing.T) {
	s := serve(t)
	id, masked, url := s.opened()
	rename := func(key, body string) (*http.Response, string) {
		t.Helper()
		return send(t, http.MethodPost, url+"/v1/account/api_key/"+key+"/name", masked, "application/json", body)
	}
	longest := strings.Repeat("é", 200)
	response, body := rename(masked, `{"name":"`+longest+`"}`)
	require.Equal(t, http.StatusOK, response.StatusCode, body)
	require.JSONEq(t, `{"success": true}`, body)
	state, _, err := s.Accounts.State(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, longest, s.nameOf(id, state.Keys[0]))

	for body, refused := range map[string]string{
		`{}`:                          "missing",
		`{"name":""}`:                 "string_too_short",
		`{"name":"` + longest + `x"}`: "string_too_long",
		`{"name":"a\u0000b"}`:         "value_error",
		`{"name":"a\nb"}`:             "string_pattern_mismatch",
		`{"name":"a\u001bb"}`:         "string_pattern_mismatch",
		`{"name":"a\u0085b"}`:         "string_pattern_mismatch",
		`{"name":"\ud800"}`:           "string_unicode",
		`{"name":7}`:                  "string_type",
	} {
		response, got := rename(masked, body)
		require.Equal(t, http.StatusUnprocessableEntity, response.StatusCode, "%s: %s", body, got)
		require.Contains(t, got, `"type":"`+refused+`"`, body)
	}
	_, others, _ := s.opened()
	response, body = rename(others, `{"name":"mine"}`)
	require.Equal(t, http.StatusNotFound, response.StatusCode, body)
}
