package accounts_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	domain "github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/access/keyring/memkeys"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/writeapi/accounts"
	"github.com/recital-tts/recital/writeapi/writetest"
)

func TestMain(m *testing.M) { webtest.Main(m) }

// site serves the admin routes on a real server over a real log.
type site struct {
	*commandstest.World
	*writetest.Admin
	keys *memkeys.Keyring
}

func serve(t *testing.T) *site {
	t.Helper()
	s := &site{World: commandstest.New(t)}
	s.keys = memkeys.New()
	s.Accounts.SealWith(s.keys)
	s.Admin = writetest.Serve(t, func(models *writetest.Models) []web.Route {
		api := accounts.API{Accounts: s.Accounts, ReadModels: models}
		return api.AdminRoutes()
	})
	return s
}

// nameOf returns the name of an account's key, "" if it has none.
func (s *site) nameOf(id string, key domain.Key) string {
	s.T.Helper()
	if len(key.SealedName) == 0 {
		return ""
	}
	name, err := s.keys.Open(s.T.Context(), id, key.SealedName, domain.ForKeyName(key.Hash))
	require.NoError(s.T, err)
	return string(name)
}

func (s *site) post(token, body string) (*http.Response, string) {
	s.T.Helper()
	return s.Post("/admin/accounts", token, body)
}

func TestAnOperatorOpensAnAccount(t *testing.T) {
	s := serve(t)
	response, body := s.post("op", `{"plan":"pro"}`)
	require.Equal(t, http.StatusOK, response.StatusCode, body)
	require.Equal(t, "no-store", response.Header.Get("Cache-Control"), "it holds a key")
	require.Empty(t, response.Header.Get("x-recital-stale"))
	require.Equal(t, []readmodel.Model{readmodel.Account}, s.Models.Names)
	var got map[string]string
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.Equal(t, "pro", got["plan"])
	require.True(t, domain.WellFormedAPIKey(got["apikey"]))
	require.Equal(t, domain.MaskAPIKey(got["apikey"]), got["masked"])

	// then the log holds the account, and only the hash of the key
	head, err := s.Log.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, head.String(), response.Header.Get("x-recital-position"))
	var types []string
	for event, err := range s.Log.ReadStream(t.Context(), "account-"+got["account_id"], 0) {
		require.NoError(t, err)
		types = append(types, event.Type)
		require.NotContains(t, string(event.Data)+string(event.Metadata), got["apikey"])
		decoded, err := s.Journal.Registry.Decode(event)
		require.NoError(t, err)
		require.Equal(t, eventlog.ActorOperator, decoded.Meta.Actor.Kind)
	}
	require.Equal(t, []string{"account-opened", "account-api-key-created"}, types)
}

func TestAnAccountThatIsNotVisibleInTime(t *testing.T) {
	s := serve(t)
	s.Models.Err = context.DeadlineExceeded
	response, body := s.post("op", `{}`)
	require.Equal(t, http.StatusOK, response.StatusCode, body)
	require.Contains(t, body, `"plan":"free"`, "the default")
	require.Equal(t, "true", response.Header.Get("x-recital-stale"))
}

func TestOthersOpenNoAccount(t *testing.T) {
	s := serve(t)
	for _, c := range []struct {
		token, body string
		status      int
	}{
		{"", `{"plan":"pro"}`, http.StatusUnauthorized},
		{"guess", `{"plan":"pro"}`, http.StatusUnauthorized},
		{"au", `{"plan":"pro"}`, http.StatusForbidden},
		{"op", `{"plan":"gold"}`, http.StatusUnprocessableEntity},
		{"op", `{"plan":""}`, http.StatusUnprocessableEntity},
	} {
		response, body := s.post(c.token, c.body)
		require.Equal(t, c.status, response.StatusCode, body)
	}
	head, err := s.Log.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, eventlog.Start(), head)
}
