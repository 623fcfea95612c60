package signin_test

import (
	"log/slog"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"

	"github.com/recital-tts/recital/internal/providers/signin"
	"github.com/recital-tts/recital/internal/providers/signin/openid"
)

// zitadel returns an independent provider: the one of zitadel/oidc, with the login page and users of its example.
func zitadel(t *testing.T, secret string) map[string]signin.Provider {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	issuer := "http://" + server.Listener.Addr().String()
	storage.RegisterClients(storage.WebClient("recital", "its secret", client+"/auth/oauth/idp_1"))
	users := storage.NewUserStore(issuer)
	server.Config.Handler = exampleop.SetupServer(issuer, storage.NewStorage(users), slog.New(slog.DiscardHandler), false)
	server.Start()
	t.Cleanup(server.Close)
	return map[string]signin.Provider{
		"idp_1": relyingParty(t, openid.Config{Issuer: issuer, ClientID: "recital", ClientSecret: secret}),
	}
}

// enter fills in zitadel's login page.
func (d *desk) enter(begun signin.Begun) signin.Answer {
	d.t.Helper()
	response, err := d.browser.Get(begun.Location)
	require.NoError(d.t, err)
	require.NoError(d.t, response.Body.Close())
	page := *response.Request.URL
	require.Equal(d.t, "/login/username", page.Path)
	id := page.Query().Get("authRequestID")
	page.RawQuery = ""
	return d.post(begun, page.String(), url.Values{"username": {"test-user2"}, "password": {"verysecure"}, "id": {id}})
}

func TestAPersonSignsInWithAnotherImplementation(t *testing.T) {
	d := newDesk(t, zitadel(t, "its secret"))
	answered, err := d.Finish(t.Context(), d.enter(d.begin()))
	require.NoError(t, err)
	require.Equal(t, signin.Person{
		Issuer: d.Providers["idp_1"].Issuer(), Subject: "id2", Name: "Test User2", Email: "test-user2@zitadel.ch",
	}, answered.Person)

	t.Run("which checks the verifier, and takes a code once", func(t *testing.T) {
		stolen := d.enter(d.begin()).Code
		own := d.enter(d.begin())
		own.Code = stolen
		_, err := d.Finish(t.Context(), own)
		require.Equal(t, signin.InvalidAnswer, signin.ReasonOf(err), "%v", err)
	})
}

func TestAWrongSecretIsTheOperatorsMistake(t *testing.T) {
	d := newDesk(t, zitadel(t, "another secret"))
	_, err := d.Finish(t.Context(), d.enter(d.begin()))
	require.Equal(t, signin.ServerError, signin.ReasonOf(err), "%v", err)
	require.NotContains(t, err.Error(), "another secret")
}
