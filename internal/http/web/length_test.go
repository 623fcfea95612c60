package web_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
)

// A stream of a known length is sent without chunks, and the connection is kept. A stream with another length is cut.
func TestStreamsOfAKnownLength(t *testing.T) {
	text := strings.Repeat("audio", 50_000)
	write := func(length int64, pieces ...string) func(*web.Call, none) (web.Reply, error) {
		return func(*web.Call, none) (web.Reply, error) {
			return web.Stream("audio/mpeg", func(_ context.Context, w io.Writer) error {
				for _, piece := range pieces {
					if piece == "fails" {
						return errors.New("the source broke")
					}
					if _, err := io.WriteString(w, piece); err != nil {
						return err
					}
				}
				return nil
			}).WithLength(length), nil
		}
	}
	all := int64(len(text))
	s := start(t, web.Config{Routes: []web.Route{
		web.Get("/right", write(all, text[:70_000], text[70_000:]), web.Public()),
		web.Get("/empty", write(0), web.Public()),
		web.Get("/short", write(all, text[:70_000]), web.Public()),
		web.Get("/broken", write(all, text[:70_000], "fails"), web.Public()),
		web.Get("/ok", ok, web.Public()),
	}})
	for path, want := range map[string]string{"/right": text, "/empty": ""} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodGet} { // on one connection
			request, err := http.NewRequest(method, s.url+path, nil)
			require.NoError(t, err)
			response, err := s.client.Do(request)
			require.NoError(t, err)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.EqualValues(t, len(want), response.ContentLength, path)
			require.Empty(t, response.TransferEncoding)
			require.Equal(t, "audio/mpeg", response.Header.Get("Content-Type"))
			if method == http.MethodGet {
				require.Equal(t, want, string(body))
			}
		}
	}
	for _, path := range []string{"/short", "/broken"} {
		response, err := s.client.Get(s.url + path)
		require.NoError(t, err)
		_, err = io.ReadAll(response.Body)
		require.Error(t, err, path)
		require.NoError(t, response.Body.Close())
	}
	response, err := s.client.Get(s.url + "/ok")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
}
