package main_test

import (
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

func TestTheConcurrentSynthesesOfAFreeAccountAreLimited(t *testing.T) {
	t.Parallel()
	s := start(t, dataFolder(t), "--concurrency=free=2")
	c, other, paid := s.openAccount("free"), s.openAccount("free"), s.openAccount("indie")
	short := order{"text": "Hello there.", "voice": "leah"}

	// given the maximum number of concurrent replies, to clients that read slowly
	first, second := hold(t, c, long()), hold(t, c, long())
	require.Equal(t, []string{"1", "2"}, concurrency(first.response.Header))
	require.Equal(t, []string{"2", "2"}, concurrency(second.response.Header))

	// then another request is refused, in both dialects, and is free
	for _, route := range []string{bytesRoute, detailedRoute, "/speech/beta/synthesize"} {
		refused := c.post(t, route, short)
		requireTooMany(t, refused)
		var flat map[string]string
		refused.decode(t, &flat)
		require.Equal(t, map[string]string{"error": "The plan permits 2 syntheses at once"}, flat)
	}
	refused := do(t, c.request(http.MethodGet, "/v1/ai/speech?text=Hello&voice=leah", nil, "lmnt-version", "1.1"))
	requireTooMany(t, refused)
	var envelope struct {
		Error struct{ Type, Message string }
	}
	refused.decode(t, &envelope)
	require.Equal(t, "rate_limit_error", envelope.Error.Type)
	require.Equal(t, "The plan permits 2 syntheses at once", envelope.Error.Message)

	// and other accounts are served, and paid plans have no limit
	require.Equal(t, 200, other.post(t, bytesRoute, short).status)
	var held []*held
	for range 3 {
		held = append(held, hold(t, paid, long()))
		require.Equal(t, []string{"", ""}, concurrency(held[len(held)-1].response.Header))
	}
	for _, stream := range held {
		stream.hangUp()
	}

	// and a socket session waits for a slot
	session := c.talk(t, nil)
	session.say("One two three.", 2)
	session.send(order{"type": "flush", "nonce": 1})

	// when one client disconnects, then the session speaks, and requests are served even while the session is open
	first.hangUp()
	session.until("flush_complete")
	require.Equal(t, "One two three.", session.said())
	s.eventually(func() bool { return c.post(t, bytesRoute, short).status == 200 })
	for range 5 { // sequential requests are not refused
		require.Equal(t, 200, c.post(t, bytesRoute, short).status)
		require.Equal(t, 200, c.post(t, detailedRoute, short).status)
	}
	second.hangUp()
	s.requireSettledBooks()
}

// concurrency returns the number of concurrent syntheses and the limit according to a reply.
func concurrency(header http.Header) []string {
	return []string{header.Get("x-concurrency-current"), header.Get("x-concurrency-limit")}
}

func requireTooMany(t *testing.T, refused reply) {
	t.Helper()
	require.Equal(t, 429, refused.status, refused.text())
	require.Equal(t, "1", refused.header.Get("Retry-After"))
	require.Equal(t, "true", refused.header.Get("x-should-retry"))
}

func TestResponseHeadersShowTheUsage(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := start(t, dataFolder(t))
	free, unlimited := s.openAccount("free"), s.openAccount("enterprise")
	text := prose(1000)
	routes := []func(c customer) reply{
		func(c customer) reply { return c.post(t, bytesRoute, order{"text": text, "voice": "leah"}) },
		func(c customer) reply { return c.post(t, detailedRoute, order{"text": text, "voice": "leah"}) },
		func(c customer) reply {
			return c.post(t, "/speech/beta/synthesize", order{"text": text, "voice": "leah"})
		},
		func(c customer) reply {
			request := c.request(http.MethodGet, "/v1/ai/speech", nil, "Origin", "https://shop.example")
			request.URL.RawQuery = "voice=leah&model=blizzard&text=" + url.QueryEscape(text)
			return do(t, request)
		},
	}
	number := func(answer reply, name string) int64 {
		t.Helper()
		n, err := strconv.ParseInt(answer.header.Get(name), 10, 64)
		require.NoError(t, err, name)
		return n
	}
	for i, ask := range routes {
		answer := ask(free)
		require.Equal(t, 200, answer.status, answer.text())
		used := int64(i+1) * 1000
		require.Equal(t, used, free.usage(t))
		require.EqualValues(t, 1000, number(answer, "x-character-count"))
		require.Equal(t, used, number(answer, "x-characters-used"))
		require.EqualValues(t, 15_000, number(answer, "x-characters-limit"))
		require.Equal(t, 15_000-used, number(answer, "x-characters-remaining"))

		answer = ask(unlimited)
		require.Equal(t, used, number(answer, "x-characters-used"))
		require.Empty(t, answer.header.Get("x-characters-limit"))
		require.Empty(t, answer.header.Get("x-characters-remaining"))
		require.Equal(t, []string{"", ""}, concurrency(answer.header))
		if answer.header.Get("Access-Control-Expose-Headers") != "" {
			require.Equal(t, "blizzard-2.1", answer.header.Get("x-model-version"))
			for _, name := range []string{"x-characters-used", "x-characters-limit", "x-characters-remaining", "x-model-version",
				"x-concurrency-limit", "x-concurrency-current", "x-timestamps-url"} {
				require.Contains(t, answer.header.Get("Access-Control-Expose-Headers"), name)
			}
		}
	}
}
