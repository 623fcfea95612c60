package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

// recitalctl runs recitalctl against this recitald and returns its output.
func (s *server) recitalctl(args ...string) []byte {
	s.t.Helper()
	output, err := s.tool(args...).Output()
	require.NoError(s.t, err)
	return output
}

// notes returns the output and errors of recitalctl, whether it succeeds or not.
func (s *server) notes(args ...string) string {
	s.t.Helper()
	output, _ := s.tool(args...).CombinedOutput() // a refusal is an error
	return string(output)
}

func (s *server) tool(args ...string) *exec.Cmd {
	tool := exec.CommandContext(s.t.Context(), recitaldBinary.Beside("recitalctl").Path(), args...)
	tool.Env = append(os.Environ(), "RECITAL_ADMIN_ADDR="+strings.TrimPrefix(s.admin, "http://"),
		"RECITAL_DATA_DIR="+s.data)
	return tool
}

// creditLeft returns the remaining credit in GET /v1/account, in characters.
func (c customer) creditLeft(t *testing.T) int64 {
	t.Helper()
	left := c.account(t).Usage.Credit
	require.NotNil(t, left)
	return *left
}

func TestAFreeAccountAtItsLimitUsesItsCredit(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	data := dataFolder(t)
	s := start(t, data)
	c := s.openAccount("free")
	say := func(characters int) int {
		return c.post(t, bytesRoute, order{"text": prose(characters), "voice": "leah", "speed": 2}).status
	}

	// given a free account that has used up its characters: a request that exceeds them is refused and not billed, and a
	// smaller one is served
	for range 3 {
		require.Equal(t, 200, say(4_000))
	}
	for _, route := range []string{bytesRoute, detailedRoute} {
		requirePaymentRequired(t, c, route, order{"text": prose(4_000), "voice": "leah"})
	}
	require.EqualValues(t, 12_000, c.usage(t))
	require.Equal(t, 200, say(3_000))
	require.Equal(t, 402, say(2))
	require.Zero(t, c.creditLeft(t))

	// when an operator grants it credit, twice with the same id, then it has the credit once, immediately
	for range 2 {
		var granted map[string]any
		require.NoError(t, json.Unmarshal(s.recitalctl("accounts", "credit", c.id, "1000", "--grant", "ticket-7", "--format",
			"json"), &granted))
		require.Equal(t, map[string]any{
			"account_id": c.id, "grant": "ticket-7", "characters": 1000.0, "credit_characters": 1000.0,
		}, granted)
		require.EqualValues(t, 1_000, c.creditLeft(t))
	}

	// and the account continues to speak, while its credit decreases
	require.Equal(t, 200, say(300))
	require.EqualValues(t, 700, c.creditLeft(t))
	require.EqualValues(t, 15_300, c.usage(t))
	require.Equal(t, 402, say(701))

	// also after a restart, and after a crash
	for i, stop := range []func(*server){(*server).interrupt, (*server).kill} {
		stop(s)
		s = start(t, data)
		c = c.at(s)
		require.EqualValues(t, 700-100*i, c.creditLeft(t))
		require.Equal(t, 402, say(701))
		require.Equal(t, 200, say(100))
	}

	// until it is spent
	require.Equal(t, 200, say(500))
	require.Zero(t, c.creditLeft(t))
	require.Equal(t, 402, say(2))
	require.Contains(t, fmt.Sprint(s.requireSettledBooks().rows()), " free 15000 16000 0 1000 0",
		"used by key and by session, granted and left")
}

// requirePaymentRequired checks the refusal in both dialects.
func requirePaymentRequired(t *testing.T, c customer, route string, o order) {
	t.Helper()
	old := c.post(t, route, o)
	require.Equal(t, 402, old.status)
	require.Equal(t, "application/json", old.header.Get("Content-Type"))
	var flat map[string]any
	old.decode(t, &flat)
	message := flat["error"]
	require.IsType(t, "", message)
	require.NotEmpty(t, message)
	require.Len(t, flat, 1)

	recent := c.post(t, route, o, "lmnt-version", "1.1")
	require.Equal(t, 402, recent.status)
	var envelope map[string]any
	recent.decode(t, &envelope)
	require.Equal(t, map[string]any{
		"type":       "error",
		"error":      map[string]any{"type": "payment_required_error", "message": message},
		"request_id": recent.header.Get("request-id"),
	}, envelope)
	require.NotEmpty(t, envelope["request_id"])
}

// A paid account uses credit before overage is billed, and an account without a limit keeps it.
func TestCreditOfPaidAccounts(t *testing.T) {
	t.Parallel()
	s := share(t)
	for _, plan := range []string{"indie", "enterprise"} {
		c := s.openAccount(plan)
		s.recitalctl("accounts", "credit", c.id, "1000")
		require.Equal(t, 200, c.post(t, bytesRoute, order{"text": prose(500), "voice": "leah"}).status)
		require.EqualValues(t, 500, c.usage(t))
		require.EqualValues(t, 1_000, c.creditLeft(t), "the plan's characters come first")
		c.requireSettled(t)
	}
}
