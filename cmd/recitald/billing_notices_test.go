package main_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v84/webhook"

	"github.com/recital-tts/recital/domain/payment"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/standins/sandbox"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// signed is a notice with its signature.
type signed struct{ body, signature string }

// signedAt returns a notice with a signature of the given time.
func signedAt(at time.Time, secret, format string, a ...any) signed {
	made := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: fmt.Appendf(nil, format, a...),
		Secret: secret, Timestamp: at})
	return signed{body: string(made.Payload), signature: made.Header}
}

// event returns the body of a notice about an unknown object.
func event(id, kind string) string {
	return fmt.Sprintf(`{"id":%q,"object":"event","type":%q,"api_version":%q,"created":%d,"data":{"object":{"id":"obj_1","object":"thing"}}}`,
		id, kind, sandbox.APIVersion, time.Now().Unix())
}

func (s *server) notify(path string, n signed) reply {
	s.t.Helper()
	request, err := http.NewRequest(http.MethodPost, s.address+path, strings.NewReader(n.body))
	require.NoError(s.t, err)
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	request.Header.Set("Stripe-Signature", n.signature)
	return do(s.t, request)
}

// noticesIn returns the streams of the notices in the log, and whether each was handled.
func (s *server) noticesIn() map[string]bool {
	s.t.Helper()
	found := map[string]bool{}
	eachEvent(s.t, s.node(), func(e eventlog.Decoded) {
		switch e.Event.(type) {
		case payment.Received:
			require.NotContains(s.t, found, e.Stream, "a notice is recorded once")
			found[e.Stream] = false
		case payment.Handled:
			found[e.Stream] = true
		}
	})
	return found
}

func TestOnlyTheProvidersNoticesAreAccepted(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	b := openPaymentProvider(t)
	s := b.serve(dataFolder(t))
	now, good := time.Now(), event("evt_good", "customer.subscription.updated")
	whole := signedAt(now, providerSecret, "%s", good)
	other := signedAt(now, providerSecret, "%s", event("evt_other", "invoice.paid"))
	for name, n := range map[string]signed{
		"no signature":              {good, ""},
		"a garbage signature":       {good, "t=1,v1=00"},
		"another's signature":       signedAt(now, "whsec_other", "%s", good),
		"an empty secret":           signedAt(now, "", "%s", good),
		"a signature of other text": {good, other.signature},
		"a truncated body":          {good[:len(good)-1], whole.signature},
		"a changed body":            {strings.Replace(good, "evt_good", "evt_evil", 1), whole.signature},
		"an old one":                signedAt(now.Add(-6*time.Minute), providerSecret, "%s", good),
		"one of the future":         signedAt(now.Add(6*time.Minute), providerSecret, "%s", good),
	} {
		for _, path := range []string{"/payments/webhook", "/payments/webhook/analytics"} {
			answer := s.notify(path, n)
			require.Equal(t, 400, answer.status, "%s: %s", name, answer.text())
			require.Equal(t, "false", answer.header.Get("x-should-retry"), name)
			require.NotContains(t, answer.text(), "The notice is signed", name)
		}
	}
	// signed notices without an event are refused for another reason
	for _, body := range []string{"", "evt", `{"id":"../evt","type":"x"}`} {
		for _, path := range []string{"/payments/webhook", "/payments/webhook/analytics"} {
			answer := s.notify(path, signedAt(now, providerSecret, "%s", body))
			require.Equal(t, 400, answer.status, body)
			require.Equal(t, "false", answer.header.Get("x-should-retry"), body)
			require.Contains(t, answer.text(), "The notice is signed, but does not contain an event", body)
		}
	}
	for stream := range s.noticesIn() {
		require.NotContains(t, stream, "evil")
		require.NotContains(t, stream, "evt_good")
	}

	// a valid notice is accepted repeatedly, and with any subject
	for range 3 {
		answer := requireOK(t, s.notify("/payments/webhook", whole))
		require.JSONEq(t, `{"success":true}`, answer.text())
	}
	require.Equal(t, 200,
		s.notify("/payments/webhook", signedAt(now, providerSecret, "%s", event("evt_news", "moon.risen"))).status)
	require.Equal(t, 200, s.notify("/payments/webhook/analytics", whole).status, "the two routes have separate streams")
	s.eventually(func() bool {
		found := s.noticesIn()
		return found["payment-evt_good"] && found["payment-evt_news"]
	})
	require.Contains(t, s.noticesIn(), "payment-analytics-evt_good")
	s.refusesLargeNotices()
}

// refusesLargeNotices checks that a body with a Content-Length above the limit is refused before it is read.
func (s *server) refusesLargeNotices() {
	t := s.t
	t.Helper()
	for name, announced := range map[string]int{"far too large": 1 << 40, "just too large": 256<<10 + 1} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.address, "http://"))
		require.NoError(t, err)
		defer conn.Close()
		_, err = fmt.Fprintf(conn, "POST /payments/webhook HTTP/1.1\r\nHost: recital\r\nContent-Type: "+
			"application/json\r\nContent-Length: %d\r\n\r\n", announced)
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
		said, err := io.ReadAll(io.LimitReader(conn, 12))
		require.NoError(t, err, name)
		require.Equal(t, "HTTP/1.1 413", string(said), name)
	}
	blank := strings.Repeat(" ", 256<<10)
	answer := s.notify("/payments/webhook", signedAt(time.Now(), providerSecret, "%s", blank))
	require.Equal(t, 400, answer.status, "the largest permitted body: %s", answer.text())
}

// Missed notices are found by the reconciliation at the next start.
func TestMissedNoticesAreReconciled(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	b, data := openPaymentProvider(t), dataFolder(t)
	s := b.serve(data)
	c := s.openAccount("free")
	made := c.subscribe(t, "indie")
	b.SetWebhookURL("http://127.0.0.1:9/nobody")
	b.pays(made.ClientSecret, "pm_card_visa")
	s.interrupt()
	s = start(t, data, b.flags()...)
	c.at(s).awaitStatus(t, "active")
}
