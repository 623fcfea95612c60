package web_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/conditional"
)

func TestConditionsAndRangesOfContent(t *testing.T) {
	const text = "0123456789"
	type in struct{ conditional.Headers }
	serve := func(ranges bool) func(*web.Call, in) (web.Reply, error) {
		return func(call *web.Call, in in) (web.Reply, error) {
			return web.Content{Tag: `"a"`, CacheControl: "no-cache", Size: int64(len(text)), Ranges: ranges,
				Body: func(p conditional.Part) (web.Reply, error) {
					return web.Stream("text/plain", func(_ context.Context, w io.Writer) error {
						_, err := io.WriteString(w, text[p.Offset:p.Offset+p.Length])
						return err
					}).WithLength(p.Length), nil
				}}.Serve(call, in.Headers)
		}
	}
	s := start(t, web.Config{Routes: []web.Route{
		web.Get("/parts", serve(true), web.Public()), web.Get("/whole", serve(false), web.Public()),
	}})
	for _, c := range []struct {
		path    string
		headers http.Header
		status  int
		body    string
		content string // Content-Range
	}{
		{"/parts", nil, 200, text, ""},
		{"/parts", http.Header{"Range": {"bytes=2-4"}}, 206, "234", "bytes 2-4/10"},
		{"/parts", http.Header{"Range": {"bytes=10-"}}, 416, `{"error":"There is no such range"}`, "bytes */10"},
		{"/parts", http.Header{"Range": {"bytes=10-"}, "If-None-Match": {`"b"`, `W/"a"`}}, 304, "", ""},
		{"/parts", http.Header{"Range": {"bytes=0-1", "bytes=3-4"}}, 200, text, ""},
		{"/whole", http.Header{"Range": {"bytes=2-4"}}, 200, text, ""},
		{"/whole", http.Header{"If-None-Match": {"*"}}, 304, "", ""},
	} {
		request, err := http.NewRequest(http.MethodGet, s.url+c.path, nil)
		require.NoError(t, err)
		if c.headers != nil {
			request.Header = c.headers
		}
		response, err := s.client.Do(request)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, c.status, response.StatusCode, c.headers)
		require.Equal(t, c.body, string(body))
		require.Equal(t, c.content, response.Header.Get("Content-Range"))
		require.Equal(t, []string{`"a"`, "no-cache"}, []string{
			response.Header.Get("ETag"), response.Header.Get("Cache-Control"),
		})
	}
}

type songHeaders struct {
	Seed    int64   `header:"x-song-seed"`
	Warning *string `header:"x-song-warning"`
	Mood    *string `header:"x-song-mood"`
}

func TestHeadersAreDeclaredWhereTheyAreSet(t *testing.T) {
	sing := func(call *web.Call, _ none) (web.Reply, error) {
		web.SetHeaders(call, songHeaders{Seed: -7, Mood: new("glad")})
		return web.JSON("la"), nil
	}
	s := start(t, web.Config{Routes: []web.Route{
		web.Get("/song", sing, web.Public(), web.Returns[string](web.SendsHeaders[songHeaders](), web.Sends("etag"))),
	}})
	a := s.ask("GET", "/song", "", "Origin", "https://example.com")
	require.Equal(t, "-7", a.Header.Get("x-song-seed"))
	require.Equal(t, "glad", a.Header.Get("x-song-mood"))
	require.Empty(t, a.Header.Values("x-song-warning"))
	require.Equal(t, "etag, request-id, retry-after, x-recital-position, x-recital-stale, x-request-id, x-should-retry, "+
		"x-song-mood, x-song-seed, x-song-warning", a.Header.Get("Access-Control-Expose-Headers"))
}
