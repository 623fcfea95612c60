package openid_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/providers/signin"
	"github.com/recital-tts/recital/internal/providers/signin/openid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// issuer returns a provider with the answers of a test.
func issuer(t *testing.T, handler func(base string) http.HandlerFunc) *openid.Provider {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	base := "http://" + server.Listener.Addr().String()
	server.Config.Handler = handler(base)
	server.Start()
	t.Cleanup(server.Close)
	provider, err := openid.New(openid.Config{Issuer: base, ClientID: "recital", ClientSecret: "secret"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, provider.Close()) })
	return provider
}

// document returns a discovery document with endpoints below a base.
func document(base string, change map[string]string) string {
	d := map[string]string{
		"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token",
		"userinfo_endpoint": base + "/userinfo", "jwks_uri": base + "/keys",
	}
	for name, value := range change {
		d[name] = value
	}
	encoded, err := json.Marshal(d)
	if err != nil {
		panic(err) // strings are always JSON
	}
	return string(encoded)
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(text))
	}
}

const marker = "words-of-the-provider"

// requireFailure checks the reason of an error, and that it does not quote the provider.
func requireFailure(t *testing.T, reason signin.Reason, err error) {
	t.Helper()
	var failure *signin.Failure
	require.True(t, errors.As(err, &failure), "%v", err)
	require.Equal(t, reason, failure.Reason, "%v", err)
	require.NotContains(t, err.Error(), marker)
}

func TestInvalidAnswersOfAnIssuer(t *testing.T) {
	elsewhere := httptest.NewServer(says("{}"))
	defer elsewhere.Close()
	for name, c := range map[string]struct {
		reason  signin.Reason
		handler func(base string) http.HandlerFunc
	}{
		"sends too much": {signin.Unavailable, func(base string) http.HandlerFunc {
			return says(document(base, map[string]string{"x": strings.Repeat(" ", 2<<20)}))
		}},
		"sends no JSON": {signin.Unavailable, func(string) http.HandlerFunc { return says(marker) }},
		"is another one": {signin.Unavailable, func(base string) http.HandlerFunc {
			return says(document(base, map[string]string{"issuer": "https://" + marker}))
		}},
		"fails": {signin.Unavailable, func(string) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, marker, 500) }
		}},
		"sends us elsewhere": {signin.Unavailable,
			func(string) http.HandlerFunc { return http.RedirectHandler(elsewhere.URL, http.StatusFound).ServeHTTP }},
		"names no token endpoint": {signin.ServerError, func(base string) http.HandlerFunc {
			return says(document(base, map[string]string{"token_endpoint": ""}))
		}},
		"names an endpoint without TLS": {signin.ServerError, func(base string) http.HandlerFunc {
			return says(document(base, map[string]string{"token_endpoint": "http://idp.example/" + marker}))
		}},
		"names a page that is a script": {signin.ServerError, func(base string) http.HandlerFunc {
			return says(document(base, map[string]string{"authorization_endpoint": "javascript:" + marker}))
		}},
		"names user info without TLS": {signin.ServerError, func(base string) http.HandlerFunc {
			return says(document(base, map[string]string{"userinfo_endpoint": "http://idp.example/" + marker}))
		}},
		"names keys in a file": {signin.ServerError, func(base string) http.HandlerFunc {
			return says(document(base, map[string]string{"jwks_uri": "file:///etc/passwd"}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := issuer(t, c.handler).Address(t.Context(), signin.Challenge{})
			requireFailure(t, c.reason, err)
		})
	}
}

// Answers of the token endpoint may quote codes and secrets.
func TestInvalidAnswersOfATokenEndpoint(t *testing.T) {
	for name, c := range map[string]struct {
		reason signin.Reason
		answer http.HandlerFunc
	}{
		"refuses": {signin.InvalidAnswer, func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":"`+marker+`"}`, http.StatusBadRequest)
		}},
		"fails": {signin.Unavailable, func(w http.ResponseWriter,
			_ *http.Request) {
			http.Error(w, marker, http.StatusBadGateway)
		}},
		"does not know us": {signin.ServerError, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"invalid_client","error_description":"` + marker + `"}`))
		}},
		"sends no JSON":     {signin.ServerError, says(marker)},
		"sends no ID token": {signin.InvalidAnswer, says(`{"access_token":"` + marker + `","token_type":"Bearer"}`)},
		"sends a broken one": {signin.InvalidAnswer,
			says(`{"access_token":"a","token_type":"Bearer","id_token":"` + marker + `"}`)},
		"sends an unsigned one": {signin.InvalidAnswer,
			says(`{"access_token":"a","token_type":"Bearer","id_token":"eyJhbGciOiJub25lIn0.e30."}`)},
		"sends us elsewhere": {signin.InvalidAnswer,
			http.RedirectHandler("http://127.0.0.1:1/"+marker, http.StatusTemporaryRedirect).ServeHTTP},
		"hangs up": {signin.Unavailable,
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"sends too much": {signin.ServerError, says(`{"access_token":"a","x":"` + strings.Repeat("x", 2<<20) + `"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			provider := issuer(t, func(base string) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/token" {
						c.answer(w, r)
						return
					}
					says(document(base, nil))(w, r)
				}
			})
			_, err := provider.Redeem(t.Context(), "code", signin.Challenge{
				Callback: "https://api.example.com/callback", Nonce: "n", Verifier: "v",
			})
			requireFailure(t, c.reason, err)
		})
	}
}

// The discovery document is requested once, regardless of the number of sign-ins.
func TestAnIssuerIsAskedOnce(t *testing.T) {
	var asked atomic.Int64
	provider := issuer(t, func(base string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			says(document(base, nil))(w, r)
		}
	})
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			_, err := provider.Address(t.Context(), signin.Challenge{})
			assert.NoError(t, err)
		})
	}
	all.Wait()
	_, err := provider.Address(t.Context(), signin.Challenge{})
	require.NoError(t, err)
	require.Equal(t, int64(1), asked.Load())
}

func TestInvalidIssuers(t *testing.T) {
	for _, issuer := range []string{
		"", "idp.example", "http://idp.example", "https://", "https://user@idp.example", "https://idp.example?a=b",
		"ftp://idp.example", "https://idp.example#a",
	} {
		_, err := openid.New(openid.Config{Issuer: issuer, ClientID: "recital", ClientSecret: "secret"})
		require.Error(t, err, issuer)
	}
	_, err := openid.New(openid.Config{Issuer: "https://idp.example", ClientID: "recital"})
	require.Error(t, err)
}
