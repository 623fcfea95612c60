package signin_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	commands "github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	projections "github.com/recital-tts/recital/projections/accounts"
	"github.com/recital-tts/recital/readapi/signin"
)

func TestMain(m *testing.M) { webtest.Main(m) }

func TestWhoIsSignedIn(t *testing.T) {
	world := feedtest.New(t, feedtest.Registry(t, commands.Events(), billing.Events(), voices.Events()),
		projections.ReadModels()...)
	sealing := func() *pgkeys.Keyring {
		keyring, err := pgkeys.New(pgkeys.Config{Pool: world.Pool,
			MasterKey: bytes.Repeat([]byte{1}, pgkeys.MasterKeySize), Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		return keyring
	}
	keyring := sealing()
	owned := func(id, name, email, picture string) {
		seal := func(plain, use string) []byte {
			if plain == "" {
				return nil
			}
			sealed, err := keyring.Seal(t.Context(), id, []byte(plain), use)
			require.NoError(t, err)
			return sealed
		}
		now := time.Now().UTC()
		world.Write(t, account.Stream(id), account.Opened{Account: id, Plan: plan.Free, At: now}, account.ProfileRecorded{
			Account: id, Name: seal(name, account.ForName), Email: seal(email, account.ForEmail),
			Picture: seal(picture, account.ForPicture), At: now,
		})
	}
	owned("a1", "Ada", "ada@example.com", "https://example.com/ada.png")
	owned("a2", "Bo", "bo@example.com", "")
	owned("erased", "Cy", "cy@example.com", "")
	owned("abandoned", "Di", "di@example.com", "")
	world.Write(t, account.Stream("opened"), account.Opened{Account: "opened", Plan: plan.Free, At: time.Now().UTC()})
	require.NoError(t, keyring.Erase(t.Context(), "erased"))
	_, err := world.Pool.Exec(t.Context(), "delete from keyring.account_keys where account_id = 'abandoned'")
	require.NoError(t, err)

	api := &signin.API{Models: world.Projector, Keys: sealing()} // with an empty cache of keys
	address := webtest.Serve(t, web.Config{Routes: api.Routes(), Authenticator: webtest.Keys{}}) + "/auth/oauth/validate"
	for _, test := range []struct {
		account string
		status  int
		body    string
	}{
		{"a1", 200, `{"id":"a1","name":"Ada","email":"ada@example.com","profile_picture":"https://example.com/ada.png"}`},
		{"a2", 200, `{"id":"a2","name":"Bo","email":"bo@example.com","profile_picture":null}`},
		{"opened", 404, `{"error":"The account has no profile"}`},
		{"erased", 404, `{"error":"The account has no profile"}`},
		{"abandoned", 404, `{"error":"The account has no profile"}`},
		{"unknown", 404, `{"error":"The account has no profile"}`},
	} {
		t.Run(test.account, func(t *testing.T) {
			response, body := webtest.Send(t, http.MethodGet, address, "", "x-api-key", test.account)
			require.Equal(t, test.status, response.StatusCode, body)
			require.JSONEq(t, test.body, body)
			if test.status == 200 {
				require.Equal(t, "no-store", response.Header.Get("Cache-Control"), "a profile is not cached")
			}
		})
	}
}

func TestTheProvidersAreShownToEverybody(t *testing.T) {
	for want, providers := range map[string][]signin.Provider{
		`[]`: nil,
		`[{"provider":"idp_2","issuer":"https://id.example"}]`: {{Provider: "idp_2", Issuer: "https://id.example"}},
	} {
		api := &signin.API{Providers: providers}
		address := webtest.Serve(t, web.Config{Routes: api.Routes(), Authenticator: webtest.Keys{}})
		response, body := webtest.Send(t, http.MethodGet, address+"/auth/oauth/providers", "")
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.JSONEq(t, want, body)
	}
}
