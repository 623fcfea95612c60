package web_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
)

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReader(r) }

// streaming serves one stream at /stream.
func streaming(t *testing.T, limits web.Limits, write web.StreamWriter, options ...web.Option) *site {
	return start(t, web.Config{Limits: limits, Routes: []web.Route{
		web.Get("/stream", func(*web.Call, none) (web.Reply, error) {
			return web.Stream("audio/mpeg", write).WithHeader("x-generation-id", "g1"), nil
		}, append(options, web.Public())...),
		web.Get("/ok", ok, web.Public()),
	}})
}

func TestTheFirstChunkArrivesBeforeTheWriterEnds(t *testing.T) {
	release := make(chan struct{})
	s := streaming(t, web.Limits{}, func(_ context.Context, w io.Writer) error {
		if _, err := io.WriteString(w, "first"); err != nil {
			return err
		}
		<-release // closed by the client once it has the first chunk
		_, err := io.WriteString(w, "second")
		return err
	})
	response, err := s.client.Get(s.url + "/stream")
	require.NoError(t, err)
	defer response.Body.Close()
	first := make([]byte, 5)
	_, err = io.ReadFull(response.Body, first)
	require.NoError(t, err)
	require.Equal(t, "first", string(first))
	close(release)
	rest, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "second", string(rest))
	require.Equal(t, "audio/mpeg", response.Header.Get("Content-Type"))
	require.Equal(t, "g1", response.Header.Get("x-generation-id"))
}

func TestTheHeadArrivesBeforeTheFirstChunk(t *testing.T) {
	release := make(chan struct{})
	s := streaming(t, web.Limits{}, func(context.Context, io.Writer) error { <-release; return nil })
	response, err := s.client.Get(s.url + "/stream")
	require.NoError(t, err)
	defer response.Body.Close()
	close(release)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Empty(t, body, "an empty stream ends cleanly")
}

func TestEveryWriteIsAChunk(t *testing.T) {
	large := strings.Repeat("x", 100_000)
	s := streaming(t, web.Limits{}, func(_ context.Context, w io.Writer) error {
		for _, piece := range []string{"a", "", "bc", large} {
			if _, err := io.WriteString(w, piece); err != nil {
				return err
			}
		}
		return nil
	})
	conn := s.sendRaw(t, "GET /stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	all, err := io.ReadAll(conn)
	require.NoError(t, err)
	_, body, found := bytes.Cut(all, []byte("\r\n\r\n"))
	require.True(t, found)
	require.Equal(t, fmt.Sprintf("1\r\na\r\n2\r\nbc\r\n%x\r\n%s\r\n0\r\n\r\n", len(large), large),
		strings.ToLower(string(body)))
}

func TestABrokenStreamIsCut(t *testing.T) {
	for name, failure := range map[string]func() error{
		"an error": func() error { return errors.New("the worker of bob died") },
		"a panic":  func() error { panic("text of bob") },
		"a fault":  func() error { var empty []int; return fmt.Errorf("%d", empty[len(empty)]) },
	} {
		t.Run(name, func(t *testing.T) {
			s := streaming(t, web.Limits{}, func(_ context.Context, w io.Writer) error {
				_, _ = io.WriteString(w, "audio")
				return failure()
			})
			response, err := s.client.Get(s.url + "/stream")
			require.NoError(t, err)
			defer response.Body.Close()
			require.Equal(t, 200, response.StatusCode)
			body, err := io.ReadAll(response.Body)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "never a clean end")
			require.Equal(t, "audio", string(body))
			require.Eventually(t, func() bool { return strings.Contains(s.logs.String(), `"aborted":true`) }, patience,
				time.Millisecond)
			require.NotContains(t, s.logs.String(), "text of bob")
			require.Equal(t, 200, s.ask("GET", "/ok", "").StatusCode, "the server keeps serving")
		})
	}
}

func TestAWriterEndsWhenItsClientDisconnects(t *testing.T) {
	ended := make(chan error, 1)
	s := streaming(t, web.Limits{}, func(ctx context.Context, w io.Writer) error {
		if _, err := io.WriteString(w, "audio"); err != nil {
			return err
		}
		<-ctx.Done() // without a write during the disconnection
		_, err := io.WriteString(w, "more")
		ended <- err
		return err
	})
	response, err := s.client.Get(s.url + "/stream")
	require.NoError(t, err)
	_, err = io.ReadFull(response.Body, make([]byte, 5))
	require.NoError(t, err)
	response.Body.Close()
	require.ErrorContains(t, <-ended, "client has gone")
	require.Eventually(t, func() bool { return strings.Contains(s.logs.String(), `"status":499`) }, patience,
		time.Millisecond)
	require.NotContains(t, s.logs.String(), "stream cut", "a disconnection is not a failure")
}

func TestAStalledReaderIsCut(t *testing.T) {
	var written atomic.Int64
	ended := make(chan error, 1)
	s := streaming(t, web.Limits{WriteTimeout: 100 * time.Millisecond}, func(_ context.Context, w io.Writer) error {
		for {
			n, err := w.Write(make([]byte, 32<<10))
			written.Add(int64(n))
			if err != nil {
				ended <- err
				return err
			}
		}
	})
	s.sendRaw(t, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
	require.Error(t, <-ended, "the writer gets no error")
	require.Less(t, written.Load(), int64(64<<20), "the writer is not blocked")
}

func TestAStreamMayLastLongerThanTheHandlersDeadline(t *testing.T) {
	const deadline = 100 * time.Millisecond
	s := streaming(t, web.Limits{WriteTimeout: deadline, ReadTimeout: deadline},
		func(ctx context.Context, w io.Writer) error {
			for begun := time.Now(); time.Since(begun) < 4*deadline; {
				if _, err := io.WriteString(w, "x"); err != nil {
					return err
				}
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(deadline / 4):
				}
			}
			return nil
		}, web.Timeout(deadline))
	a := s.ask("GET", "/stream", "")
	require.Equal(t, 200, a.StatusCode)
	require.NotEmpty(t, a.body)
}

func TestAStreamIsBounded(t *testing.T) {
	s := streaming(t, web.Limits{Stream: 50 * time.Millisecond}, func(ctx context.Context, _ io.Writer) error {
		<-ctx.Done()
		return ctx.Err()
	})
	response, err := s.client.Get(s.url + "/stream")
	require.NoError(t, err)
	defer response.Body.Close()
	_, err = io.ReadAll(response.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestHeadDoesNotStartAStream(t *testing.T) {
	var started atomic.Bool
	s := streaming(t, web.Limits{}, func(context.Context, io.Writer) error { started.Store(true); return nil })
	conn := s.sendRaw(t, "HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\nGET /ok HTTP/1.1\r\nHost: x\r\nConnection: "+
		"close\r\n\r\n")
	all, err := io.ReadAll(conn)
	require.NoError(t, err)
	head, next, found := strings.Cut(string(all), "\r\n\r\n")
	require.True(t, found)
	require.True(t, strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n"))
	require.Contains(t, head, "Content-Type: audio/mpeg")
	require.True(t, strings.HasPrefix(next, "HTTP/1.1 200 OK\r\n"),
		"bytes between the head and the next reply: %q", next)
	require.False(t, started.Load())
}

func TestAWriterCannotBeUsedAfterItsEnd(t *testing.T) {
	kept := make(chan io.Writer, 1)
	s := streaming(t, web.Limits{}, func(_ context.Context, w io.Writer) error { kept <- w; return nil })
	require.Equal(t, 200, s.ask("GET", "/stream", "").StatusCode)
	_, err := io.WriteString(<-kept, "late")
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

func TestTheHandlersWorkContinuesInTheStream(t *testing.T) {
	s := start(t, web.Config{Routes: []web.Route{
		web.Get("/stream", func(c *web.Call, _ none) (web.Reply, error) {
			started, cancel := context.WithCancel(c)
			return web.Stream("text/plain", func(_ context.Context, w io.Writer) error {
				defer cancel()
				if started.Err() != nil {
					return started.Err()
				}
				_, err := io.WriteString(w, c.Header("x-name")+c.RequestID)
				return err
			}), nil
		}, web.Public()),
	}})
	a := s.ask("GET", "/stream", "", "x-name", "leah-")
	require.Equal(t, "leah-"+a.Header.Get("request-id"), a.body)
}

func TestADrainRefusesNewRequestsAndFinishesOldOnes(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	var s *site
	s = start(t, web.Config{
		Routes: []web.Route{
			web.Get("/slow", func(*web.Call, none) (web.Reply, error) {
				return web.Stream("text/plain", func(_ context.Context, w io.Writer) error {
					close(entered)
					<-release
					_, err := io.WriteString(w, "done")
					return err
				}), nil
			}, web.Public()),
			web.Get("/ok", ok, web.Public()),
			web.Get("/ready_check", func(*web.Call, none) (web.Reply, error) {
				if s.Draining() {
					return web.JSON(map[string]string{"status": "draining"}).WithStatus(503), nil
				}
				return web.JSON(map[string]string{"status": "ready"}), nil
			}, web.Public(), web.WhileDraining()),
		},
	})
	require.Equal(t, 200, s.ask("GET", "/ready_check", "").StatusCode)
	slow := make(chan string, 1)
	go func() {
		response, err := s.client.Get(s.url + "/slow")
		if err != nil {
			slow <- err.Error()
			return
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		slow <- fmt.Sprint(string(body), err)
	}()
	<-entered
	s.StartDraining()
	refused := s.ask("GET", "/ok", "")
	require.Equal(t, 503, refused.StatusCode)
	require.Equal(t, "1", refused.Header.Get("Retry-After"))
	require.True(t, refused.Close)
	require.JSONEq(t, `{"status":"draining"}`, s.ask("GET", "/ready_check", "").body)
	close(release)
	require.Equal(t, "done<nil>", <-slow)
	require.NoError(t, s.Shutdown(context.Background()))
}

func TestShutdownWaitsForStreams(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	s := streaming(t, web.Limits{}, func(_ context.Context, w io.Writer) error {
		close(entered)
		<-release
		_, err := io.WriteString(w, "whole")
		return err
	})
	silent, err := net.Dial("tcp", s.addr) // a connection without a request does not delay the shutdown
	require.NoError(t, err)
	defer silent.Close()
	body := make(chan string, 1)
	go func() { body <- read(s.client.Get(s.url + "/stream")) }()
	<-entered
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(context.Background()) }()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", s.addr)
		if err == nil {
			conn.Close()
		}
		return err != nil
	}, 10*time.Second, time.Millisecond, "new connections are refused")
	select {
	case <-down:
		t.Fatal("Shutdown did not wait for the stream")
	default:
	}
	close(release)
	require.Equal(t, "whole<nil>", <-body)
	require.NoError(t, <-down)
}

func read(response *http.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return fmt.Sprint(string(body), err)
}

func TestShutdownCutsWhatRemains(t *testing.T) {
	ended := make(chan error, 1)
	entered := make(chan struct{})
	s := streaming(t, web.Limits{}, func(ctx context.Context, w io.Writer) error {
		_, _ = io.WriteString(w, "part")
		close(entered)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil // even a writer that calls this an end cannot end the body cleanly
	})
	response, err := s.client.Get(s.url + "/stream")
	require.NoError(t, err)
	defer response.Body.Close()
	<-entered
	short, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Shutdown(short), context.DeadlineExceeded)
	require.ErrorContains(t, <-ended, "shutting down")
	_, err = io.ReadAll(response.Body)
	require.Error(t, err, "the client sees that the body is incomplete")
	require.NoError(t, s.Shutdown(context.Background()), "a second time is harmless")
}

// Clients resume such an endless stream elsewhere, so a drain does not wait for it.
func TestAStreamThatIsResumedIsCutByADrain(t *testing.T) {
	entered := make(chan struct{})
	s := start(t, web.Config{Routes: []web.Route{
		web.Get("/follow", func(*web.Call, none) (web.Reply, error) {
			return web.Stream("text/plain", func(ctx context.Context, w io.Writer) error {
				_, err := io.WriteString(w, "first")
				close(entered)
				<-ctx.Done()
				return errors.Join(err, ctx.Err())
			}), nil
		}, web.Public(), web.Resumed(time.Hour)),
	}})
	response, err := s.client.Get(s.url + "/follow")
	require.NoError(t, err)
	defer response.Body.Close()
	<-entered
	s.StartDraining()
	body, err := io.ReadAll(response.Body)
	require.Equal(t, "first", string(body))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "the client sees that it is incomplete")
	require.NotContains(t, s.logs.String(), "stream cut", "that is not a failure")
}
