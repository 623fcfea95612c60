package main_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// advance advances the clock of the payment sandbox, which recitald follows.
func (s *server) advance(by string) (now time.Time) {
	s.t.Helper()
	var state struct{ Now time.Time }
	require.NoError(s.t, json.Unmarshal(s.recitalctl("sandbox", "advance", by, "--format", "json"), &state))
	return state.Now
}

// In mode dev the sandbox's clock also ends Recital's own periods.
func TestOneClockMovesPlansAndTheProvider(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	data := dataFolder(t)
	s := start(t, data, "--engines=1", "--dunning=48h")
	s.eventually(func() bool { return len(s.products()) == 4 })
	c := s.openAccount("free")
	speaks := func() { // until the shown period counts it: the ledger may still use the previous one
		t.Helper()
		s.eventually(func() bool {
			require.Equal(t, 200, c.post(t, bytesRoute, order{"text": "Hello.", "voice": "leah"}).status)
			return c.usage(t) > 0
		})
	}
	speaks()

	// a month on the free plan ends without a notice from the provider
	now := s.advance("745h")
	require.Zero(t, c.usage(t))
	require.Greater(t, c.account(t).Usage.PeriodEnd, now.Unix())
	speaks()

	// a cancelled plan ends on time, even if all webhooks are lost
	s.recitalctl("sandbox", "confirm", c.subscribe(t, "indie").ClientSecret)
	c.awaitPlan(t, plan.Indie)
	speaks()
	var answer map[string]any
	c.succeeds(t, "cancel", order{}, &answer)
	s.recitalctl("sandbox", "webhooks", "--lose", "100")
	s.advance("745h")
	require.Equal(t, plan.Free, c.account(t).Plan.Type)
	speaks()
	s.recitalctl("sandbox", "webhooks")

	// an unpaid plan lapses after the grace period, and not before
	s.recitalctl("sandbox", "confirm", c.subscribe(t, "pro").ClientSecret)
	c.awaitPlan(t, plan.Pro)
	customers := []struct{ Account, Customer string }{}
	require.NoError(t, json.Unmarshal(s.recitalctl("sandbox", "customers", "--format", "json"), &customers))
	require.Len(t, customers, 1)
	s.recitalctl("sandbox", "fail-next-payment", customers[0].Customer)
	end := time.Unix(c.account(t).Usage.PeriodEnd, 0)
	now = s.advance((end.Sub(s.advance("0s")) + 2*time.Hour).Round(time.Second).String())
	c.awaitStatus(t, "past_due")
	require.Equal(t, plan.Pro, c.account(t).Plan.Type)
	s.advance("48h")
	c.awaitPlan(t, plan.Free)

	// a crash does not set the clock back, and keys stay valid
	shown := c.account(t)
	s.kill()
	s = start(t, data, "--engines=1", "--dunning=48h")
	c = c.at(s)
	require.GreaterOrEqual(t, s.advance("0s").Sub(now), 48*time.Hour)
	require.Equal(t, shown, c.account(t))
	speaks()
}
