package web_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
)

// streamingTo serves a stream to clients with a key.
func streamingTo(t *testing.T, r web.Revocations, write web.StreamWriter) *site {
	t.Helper()
	return start(t, web.Config{Limits: web.Limits{WriteTimeout: time.Hour}, Revocations: r, Routes: []web.Route{
		web.Get("/stream", func(*web.Call, none) (web.Reply, error) { return web.Stream("audio/mpeg", write), nil }),
		web.Get("/ok", ok),
	}})
}

const streamRequest = "GET /stream HTTP/1.1\r\nHost: x\r\nx-api-key: " + goodKey + "\r\n\r\n"

func TestARevokedKeyEndsItsStreams(t *testing.T) {
	for name, write := range map[string]web.StreamWriter{
		"that wait": func(ctx context.Context, w io.Writer) error {
			if _, err := io.WriteString(w, "audio"); err != nil {
				return err
			}
			<-ctx.Done()
			return nil // even if the writer returns no error
		},
		"that write": func(_ context.Context, w io.Writer) error {
			for {
				if _, err := io.WriteString(w, "audio"); err != nil {
					return err
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			// given a stream under way
			r := &revocations{watched: map[string]func(){}}
			ended := make(chan error, 1)
			s := streamingTo(t, r, func(ctx context.Context, w io.Writer) error {
				err := write(ctx, w)
				ended <- context.Cause(ctx)
				return err
			})
			conn := s.sendRaw(t, streamRequest)
			reader := newReader(conn)
			_, err := reader.Peek(1)
			require.NoError(t, err)

			// when its key is revoked
			r.end("key…")

			// then the writer gets the reason, the client sees that the body is incomplete, and no error is logged
			require.ErrorContains(t, <-ended, "The API key was revoked")
			all, _ := io.ReadAll(reader) // a reset, or the end
			require.True(t, strings.HasPrefix(string(all), "HTTP/1.1 200 OK"))
			require.False(t, strings.HasSuffix(string(all), "0\r\n\r\n"), "a clean end")
			require.Eventually(t, func() bool { return strings.Contains(s.logs.String(), `"aborted":true`) }, patience,
				time.Millisecond)
			require.NotContains(t, s.logs.String(), "ERROR")
			require.Eventually(t, r.isLeftAlone, patience, time.Millisecond)
		})
	}
}

func TestARevokedKeyEndsAnUnreadStream(t *testing.T) {
	r := &revocations{watched: map[string]func(){}}
	ended := make(chan error, 1)
	s := streamingTo(t, r, func(_ context.Context, w io.Writer) error {
		for {
			if _, err := io.WriteString(w, strings.Repeat("audio", 1<<16)); err != nil {
				ended <- err
				return err
			}
		}
	})
	conn := s.sendRaw(t, streamRequest)
	_, err := newReader(conn).Peek(1)
	require.NoError(t, err)
	r.end("key…")
	require.Error(t, <-ended)
}

func TestAKeyThatIsRevokedBeforeItsStreamIsRefused(t *testing.T) {
	r := &revocations{watched: map[string]func(){}, already: true}
	s := streamingTo(t, r, func(context.Context, io.Writer) error {
		t.Error("the writer ran")
		return nil
	})
	answer := s.ask("GET", "/stream", "", "x-api-key", goodKey)
	require.Equal(t, 401, answer.StatusCode)
	require.Contains(t, answer.body, "The API key was revoked")
	require.True(t, r.isLeftAlone())
}

func TestAStreamThatHasEndedIsNotWatched(t *testing.T) {
	r := &revocations{watched: map[string]func(){}}
	s := streamingTo(t, r, func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "audio")
		return err
	})
	require.Equal(t, "audio", s.ask("GET", "/stream", "", "x-api-key", goodKey).body)
	require.Eventually(t, r.isLeftAlone, patience, time.Millisecond)
	require.Equal(t, 200, s.ask("GET", "/ok", "", "x-api-key", goodKey).StatusCode)
	require.Equal(t, 1, r.stopped, "only streams are watched")
}
