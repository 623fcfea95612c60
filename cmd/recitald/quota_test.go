package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

func TestAFreeAccountCannotExceedItsQuota(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := start(t, dataFolder(t))
	c := s.openAccount("free") // 15,000 characters

	// given requests of 4,000 characters on both routes, each of which the account shows at once, until one is refused
	routes := []string{bytesRoute, detailedRoute, bytesRoute, detailedRoute, bytesRoute}
	text := order{"text": prose(4000), "voice": "leah", "speed": 2}
	for i, route := range routes[:3] {
		answer := c.post(t, route, text)
		require.Equal(t, 200, answer.status)
		require.EqualValues(t, (i+1)*4000, c.usage(t), route)
	}
	for _, route := range routes[3:] {
		requirePaymentRequired(t, c, route, text)
	}

	// then refused requests are not billed, and a smaller request is still served
	require.EqualValues(t, 12_000, c.usage(t))
	text["text"] = prose(3000)
	require.Equal(t, 200, c.post(t, detailedRoute, text).status)
	require.EqualValues(t, 15_000, c.usage(t))
	requirePaymentRequired(t, c, bytesRoute, order{"text": "!", "voice": "leah"})
	books := s.requireSettledBooks()
	require.EqualValues(t, 15_000, books.charactersOf(c.id))
	require.Len(t, books.settled, 4)
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
