package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/standins"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

func TestDrivingTheSandbox(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	_, dataDir := startRecitald(t)
	environment := []string{"RECITAL_DATA_DIR=" + dataDir}
	state := func(t *testing.T, args ...string) (state standins.Status) {
		t.Helper()
		got := succeeds(t, environment, append(append([]string{"sandbox"}, args...), "--format", "json")...)
		require.NoError(t, json.Unmarshal([]byte(got.out), &state))
		return state
	}

	t.Run("a table shows its state", func(t *testing.T) {
		got := succeeds(t, environment, "sandbox")
		lines := strings.Split(strings.TrimSpace(got.out), "\n")
		require.Len(t, lines, 2)
		assert.Regexp(t, `^CLOCK +AHEAD +CUSTOMERS +SUBSCRIPTIONS +WEBHOOKS WAITING +FAULTS +URL$`, lines[0])
		assert.Regexp(t, `http://127\.0\.0\.1:\d+$`, lines[1])
	})
	t.Run("its clock is advanced", func(t *testing.T) {
		before := state(t, "status")
		after := state(t, "advance", "744h")
		assert.GreaterOrEqual(t, after.Now.Sub(before.Now).Hours(), 744.0)
		assert.NotEqual(t, before.Ahead, after.Ahead)
	})
	t.Run("requests fail, and then no more", func(t *testing.T) {
		assert.Equal(t, 1, state(t, "faults", "fail", "--committed", "--path", "/v1/subscriptions", "--times", "3").Faults)
		assert.Zero(t, state(t, "faults", "none").Faults)
	})
	t.Run("it can be driven while it refuses connections", func(t *testing.T) {
		assert.Equal(t, 1, state(t, "faults", "refuse").Faults)
		assert.Zero(t, state(t, "faults", "none").Faults)
	})
	t.Run("webhooks arrive out of order", func(t *testing.T) {
		state(t, "webhooks", "--hold", "--lose", "10", "--duplicate", "50", "--shuffle", "--delay", "1s")
		state(t, "webhooks")
	})
	t.Run("there is no customer yet", func(t *testing.T) {
		got := succeeds(t, environment, "sandbox", "customers", "--wide")
		assert.Regexp(t, "^CUSTOMER +ACCOUNT +SUBSCRIPTION +PRICE +STATUS +INVOICE +INVOICE STATUS +"+
			"INVOICE PAGE +CARD PAGE\n$", got.out)
	})
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"fail-next-payment", "cus_nothing"}, 1, "No such customer: 'cus_nothing'"},
		{[]string{"confirm", "pi_1_secret_2"}, 1, "'pi_1'"},
		{[]string{"authenticate", "seti_1_secret_2", "--refuse"}, 1, "'seti_1'"},
		{[]string{"refund", "in_nothing", "--amount", "5"}, 1, "No such invoice: 'in_nothing'"},
		{[]string{"dispute", "in_nothing"}, 1, "No such invoice: 'in_nothing'"},
		{[]string{"close-dispute", "du_nothing", "--won"}, 1, "No such dispute: 'du_nothing'"},
		{[]string{"deliver", "evt_nothing"}, 1, "No such event: 'evt_nothing'"},
		{[]string{"advance", "tomorrow"}, 2, "tomorrow"},
		{[]string{"faults", "everything"}, 2, "must be one of"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			got := recitalctl(t, environment, append([]string{"sandbox"}, c.args...)...)
			assert.Equal(t, c.code, got.code)
			assert.Empty(t, got.out)
			assert.Contains(t, got.notes, c.says)
			assert.NotContains(t, got.notes, "secret_2")
		})
	}
}
