package stripe_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/providers/payments/stripe"
	"github.com/recital-tts/recital/internal/standins/sandbox"
)

const key = "sk_test_1"

// openSandbox starts a sandbox for the test.
func openSandbox(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	// It acknowledges webhooks.
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	s, err := sandbox.Open(sandbox.Config{
		File: filepath.Join(t.TempDir(), "sandbox"), Key: key, WebhookSecret: "whsec_1", WebhookURL: receiver.URL,
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// openGateway returns a gateway to a sandbox that shares its clock. All requests are checked.
func openGateway(t *testing.T, s *sandbox.Sandbox) *stripe.Gateway {
	t.Helper()
	g, err := stripe.New(stripe.Config{Key: key, URL: mock.Checked(t, s.URL()), Now: s.Now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	return g
}

func monthly(plan, name string, amount int64, millis string) payments.Price {
	return payments.Price{
		ID: sandbox.PriceOf(plan), Product: name, Amount: amount, Currency: "usd",
		Metadata: map[string]string{"plan": plan, "overage_millis": millis, "overage_unit": "1000"},
	}
}

func TestContractWithValidRequests(t *testing.T) {
	contract(t, func(t *testing.T) world {
		s := openSandbox(t)
		return world{
			Gateway: openGateway(t, s), provider: s, Cheap: monthly("indie", "Indie", 1000, "5000"),
			Dear: monthly("pro", "Pro", 4900, "4500"), Dearest: monthly("premium", "Premium", 19900, "3500"),
			Coupon: sandbox.WelcomeCoupon, Visa: "pm_card_visa", Declined: "pm_card_chargeCustomerFail",
			Asking: "pm_card_authenticationRequired",
		}
	})
}
