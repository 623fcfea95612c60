package accounts_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/readmodel"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/internal/web/webtest"
	"github.com/recital-tts/recital/writeapi/accounts"
)

// known lets everybody in as one account, with the key that it is asked with.
type known struct{ account string }

func (k *known) APIKey(_ context.Context, key string) (web.Principal, error) {
	return web.Principal{Account: k.account, Key: key}, nil
}

// opened is an account with a key, and its routes.
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

// remove sends what published clients send: a content type, and no body.
func remove(t *testing.T, url, key string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodDelete, url, nil)
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Api-Key", key)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(body)
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

			// then the log holds it, and who did it
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

			// and a second time there is none
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
