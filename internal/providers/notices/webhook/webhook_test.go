package webhook_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/notices"
	"github.com/recital-tts/recital/internal/providers/notices/noticestest"
	"github.com/recital-tts/recital/internal/providers/notices/webhook"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// receive returns a receiver that verifies each webhook with the library of Standard Webhooks.
func receive(t *testing.T, shared *noticestest.Server) http.HandlerFunc {
	verifier, err := standard.NewWebhook(secret)
	require.NoError(t, err)
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.NoError(t, verifier.Verify(body, r.Header))
		switch shared.Now() {
		case noticestest.Refuses:
			w.WriteHeader(http.StatusGone)
			return
		case noticestest.Delays:
			http.Error(w, "no mail for ada@example.com now", http.StatusTooManyRequests)
			return
		}
		var got struct {
			Type string `json:"type"`
			Data struct {
				Account, To, Subject, Text string
				Details                    map[string]string
			}
		}
		assert.NoError(t, json.Unmarshal(body, &got))
		assert.Equal(t, "usage", got.Type)
		assert.Equal(t, map[string]string{"percent": "80"}, got.Data.Details)
		shared.Take(noticestest.Received{ID: r.Header.Get("webhook-id"), To: got.Data.To, Subject: got.Data.Subject,
			Body: got.Data.Text, Headers: len(r.Header)})
		w.WriteHeader(http.StatusNoContent)
	}
}

func sender(t *testing.T, url string, timeout time.Duration) *webhook.Sender {
	t.Helper()
	s, err := webhook.New(webhook.Config{URL: url, Secret: secret, Timeout: timeout})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestContract(t *testing.T) {
	t.Parallel()
	noticestest.Run(t, func(t *testing.T, timeout time.Duration) (*noticestest.Server, notices.Sender) {
		server := httptest.NewServer(nil)
		t.Cleanup(server.Close)
		shared := noticestest.NewServer(t) // it is closed first, to end requests that hang
		server.Config.Handler = receive(t, shared)
		return shared, sender(t, server.URL, timeout)
	}, func(t *testing.T) notices.Sender {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, listener.Close())
		return sender(t, "http://"+listener.Addr().String(), time.Minute)
	})
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		assert.Fail(t, "a signed notice went elsewhere")
	}))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	require.ErrorIs(t, sender(t, server.URL, time.Minute).Send(t.Context(), notices.Message{}), notices.ErrLater)
}

func TestMistakesInSecrets(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"", "whsec_", "secret", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"} {
		_, err := webhook.New(webhook.Config{URL: "http://127.0.0.1", Secret: wrong})
		require.Error(t, err, wrong)
		require.NotContains(t, err.Error(), "MfKQ9")
	}
}
