package stripe_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/providers/payments/stripe"
)

// All requests of the set-up are valid for Stripe. Tests of recitalctl cover that it is idempotent, also after a kill.
func TestAnAccountIsSetUp(t *testing.T) {
	t.Parallel()
	g := openGateway(t, openSandbox(t))
	want := stripe.Setup{Endpoint: "https://speech.example/payments/webhook", Prices: []payments.Price{
		monthly("indie", "Small", 1000, "4000"), monthly("indie", "Small", 9900, "4000"),
		monthly("enterprise", "Large", 500, "0"),
	}}
	actions := func() (all []string) {
		steps, err := g.Plan(t.Context(), want)
		require.NoError(t, err)
		for _, step := range steps {
			all = append(all, step.Action+" "+step.Kind)
		}
		return all
	}
	carryOut := func() (secrets int) {
		steps, err := g.Plan(t.Context(), want)
		require.NoError(t, err)
		for _, step := range steps {
			if !step.Changes() {
				continue
			}
			secret, err := step.Do(t.Context())
			require.NoError(t, err, step.What)
			require.Equal(t, step.HasSecret(), secret != "")
			if secret != "" {
				secrets++
			}
		}
		return secrets
	}
	require.Equal(t, []string{"create endpoint", "change product", "change price", "create price", "create product",
		"create price", "decide price", "decide price"}, actions())
	require.Equal(t, 1, carryOut())
	done := []string{"keep endpoint", "keep product", "keep price", "keep price", "keep product", "keep price",
		"decide price", "decide price"}
	require.Equal(t, done, actions())
	want.SecretLost = true
	require.Equal(t, "replace endpoint", actions()[0])
	require.Equal(t, 1, carryOut())
	want.SecretLost = false
	require.Equal(t, done, actions())
}

func TestAnAccountIsExamined(t *testing.T) {
	t.Parallel()
	g, err := stripe.New(stripe.Config{Key: key, URL: openSandbox(t).URL()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	results, err := g.Examine(t.Context(), "https://speech.example/payments/webhook")
	require.NoError(t, err)
	require.Len(t, results, 3)
	require.Equal(t, []health.State{health.OK, health.Warning, health.OK},
		[]health.State{results[0].State, results[1].State, results[2].State})
}
