package web_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
)

type orderRequest struct {
	web.IdempotencyKey
	PriceID string `body:"price_id" required:"true"`
	Coupon  string `body:"coupon"`
}

func repetition(call *web.Call, in orderRequest) (web.Reply, error) {
	r, err := web.RepetitionOf(call, in)
	return web.JSON(map[string]string{"key": r.Key, "content": r.Content}), err
}

// ids authenticates every account by its id.
type ids struct{}

func (ids) APIKey(_ context.Context, key string) (web.Principal, error) {
	return web.Principal{Account: key}, nil
}

func TestARepetitionIsNamedByAccountRouteAndKey(t *testing.T) {
	s := start(t, web.Config{
		Authenticator: ids{}, Routes: []web.Route{web.Post("/order", repetition), web.Post("/change", repetition)},
	})
	ask := func(path, body string, headers ...string) (key, content string) {
		t.Helper()
		got := s.ask("POST", path, body, append([]string{
			"X-API-Key", "acc-1", "Content-Type", "application/json",
		}, headers...)...)
		require.Equal(t, 200, got.StatusCode, got.body)
		both := got.json(t)
		return both["key"].(string), both["content"].(string)
	}
	const body = `{"price_id":"price_1"}`
	key, content := ask("/order", body, "Idempotency-Key", "k1")
	require.Len(t, key, 64)
	require.Len(t, content, 64)

	again, same := ask("/order", `{"unknown": 1, "price_id": "price_1"}`, "Idempotency-Key", "k1")
	require.Equal(t, []string{key, content}, []string{again, same}, "unbound fields are not part of the content")

	again, other := ask("/order", `{"price_id":"price_2"}`, "Idempotency-Key", "k1")
	require.Equal(t, key, again)
	require.NotEqual(t, content, other)

	for name, headers := range map[string][2]string{"another key": {"/order", "k2"}, "another route": {"/change", "k1"}} {
		again, _ := ask(headers[0], body, "Idempotency-Key", headers[1])
		require.NotEqual(t, key, again, name)
	}
	again, same = ask("/order", body, "Idempotency-Key", "k1", "X-API-Key", "acc-2")
	require.NotEqual(t, key, again, "another account")
	require.Equal(t, content, same)

	key, content = ask("/order", body)
	require.Empty(t, key+content)
}

func TestAnIdempotencyKeyHasOnlyVisibleCharacters(t *testing.T) {
	s := start(t, web.Config{Routes: []web.Route{web.Post("/order", repetition)}})
	for key, status := range map[string]int{
		"":                       422,
		"two words":              422,
		"tab\tbed":               422,
		"é":                      422,
		"k":                      200,
		"!~":                     200,
		strings.Repeat("k", 255): 200,
		strings.Repeat("k", 256): 422,
	} {
		got := s.ask("POST", "/order", `{"price_id":"p"}`, "X-API-Key", goodKey, "Content-Type", "application/json",
			"Idempotency-Key", key)
		require.Equal(t, status, got.StatusCode, "%q: %s", key, got.body)
		if status == 422 {
			require.Contains(t, got.body, `"idempotency-key"`)
		}
	}
}
