package account_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands"
	domain "github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/eventlog/catalog"
	"github.com/recital-tts/recital/internal/eventlog/esdb"
	"github.com/recital-tts/recital/internal/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/operators"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/internal/web/webtest"
	"github.com/recital-tts/recital/writeapi/account"
)

func TestMain(m *testing.M) { webtest.Main(m) }

// models stands for the read models.
type models struct {
	err   error // of Wait
	names []string
}

func (m *models) Wait(_ context.Context, _ eventlog.Position, names ...string) error {
	m.names = names
	return m.err
}

// site is the route on a real server over a real log.
type site struct {
	t        *testing.T
	url      string
	log      *esdb.Client
	registry *eventlog.Registry
	models   *models
	accounts *commands.Accounts
	ledger   *commands.Ledger
}

func serve(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, models: &models{}}
	var err error
	s.log, err = esdb.Open(esdb.Config{Socket: nodetest.Start(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.log.Close()) })
	s.registry, err = catalog.Registry()
	require.NoError(t, err)
	journal := commands.Journal{Log: s.log, Registry: s.registry}
	s.accounts = commands.NewAccounts(journal, time.Now)
	s.ledger, err = commands.NewLedger(journal, time.Now, time.Minute)
	require.NoError(t, err)
	t.Cleanup(s.ledger.Close)
	api := account.API{Accounts: s.accounts, Ledger: s.ledger, ReadModels: s.models}
	s.url = webtest.Serve(t, web.Config{
		Routes: api.AdminRoutes(), Tokens: []operators.Token{operators.Single("operator", "op"), operators.Single("auditor", "au")},
	}) + "/admin/accounts"
	return s
}

func (s *site) post(token, body string) (*http.Response, string) {
	s.t.Helper()
	return s.postTo("", token, body)
}

// postTo posts to an address below the accounts'.
func (s *site) postTo(path, token, body string) (*http.Response, string) {
	s.t.Helper()
	request, err := http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response, string(got)
}

func TestAnOperatorOpensAnAccount(t *testing.T) {
	s := serve(t)
	response, body := s.post("op", `{"plan":"pro"}`)
	require.Equal(t, http.StatusOK, response.StatusCode, body)
	require.Equal(t, "no-store", response.Header.Get("Cache-Control"), "it holds a key")
	require.Empty(t, response.Header.Get("x-recital-stale"))
	require.Equal(t, []string{"account"}, s.models.names)
	var got map[string]string
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.Equal(t, "pro", got["plan"])
	require.True(t, domain.WellFormedAPIKey(got["apikey"]))
	require.Equal(t, domain.MaskAPIKey(got["apikey"]), got["masked"])

	// then the log holds the account and no more of the key than its hash
	head, err := s.log.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, head.String(), response.Header.Get("x-recital-position"))
	var types []string
	for event, err := range s.log.ReadStream(t.Context(), "account-"+got["account_id"], 0) {
		require.NoError(t, err)
		types = append(types, event.Type)
		require.NotContains(t, string(event.Data)+string(event.Metadata), got["apikey"])
		decoded, err := s.registry.Decode(event)
		require.NoError(t, err)
		require.Equal(t, eventlog.ActorOperator, decoded.Meta.Actor.Kind)
	}
	require.Equal(t, []string{"account-opened", "account-api-key-created"}, types)
}

func TestAnAccountThatIsNotVisibleInTime(t *testing.T) {
	s := serve(t)
	s.models.err = context.DeadlineExceeded
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
	head, err := s.log.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, eventlog.Start(), head)
}
