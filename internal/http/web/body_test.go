package web_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
)

const maxUpload = 10 << 20

// uploads starts a server with a route that returns its body.
func uploads(t *testing.T, limits web.Limits) *site {
	echo := func(_ *web.Call, in rawIn) (web.Reply, error) { return web.Bytes("text/plain", in.Body), nil }
	return start(t, web.Config{Limits: limits, Routes: []web.Route{
		web.Post("/echo", echo, web.Public(), web.MaxBody(maxUpload)),
		web.Post("/small", size, web.Public(), web.MaxBody(100)),
		web.Get("/check", ok, web.Public(), web.WhileDraining()),
	}})
}

func announce(length int) string {
	return fmt.Sprintf("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", length)
}

const announceChunked = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

// TestAnnouncedBodiesCannotUseUpTheMemory announces 600 MiB and sends almost none of it.
func TestAnnouncedBodiesCannotUseUpTheMemory(t *testing.T) {
	for name, head := range map[string]string{
		"with a length": announce(maxUpload),
		"chunked":       announceChunked + fmt.Sprintf("%x\r\n", maxUpload),
	} {
		t.Run(name, func(t *testing.T) {
			s := uploads(t, web.Limits{})
			var peers []*peer
			for range 60 {
				p := s.from("127.0.0.1")
				p.send(head + strings.Repeat("x", 80))
				peers = append(peers, p)
			}
			// each needs 16 MiB, so there is space for four, and the others are refused
			refused := make(chan *http.Response, len(peers))
			for _, p := range peers {
				go func() { response, _ := http.ReadResponse(p.reader, nil); refused <- response }()
			}
			for range 56 {
				response := <-refused
				require.NotNil(t, response)
				require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
				require.Equal(t, "1", response.Header.Get("Retry-After"))
				require.True(t, response.Close)
				require.Regexp(t, requestID, response.Header.Get("request-id"))
				body, err := io.ReadAll(response.Body)
				require.NoError(t, err)
				require.JSONEq(t, `{"error":"Too many request bodies of this address are under way"}`, string(body))
			}
			runtime.GC()
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			require.Less(t, stats.HeapAlloc, uint64(128<<20), "the heap has the announced size")

			// other addresses are served, and so is this one without a body
			s.from("127.0.0.2").requireOK(announce(maxUpload) + strings.Repeat("x", maxUpload))
			s.from("127.0.0.1").requireOK(askCheck)

			// when the attacker disconnects, the share is free again
			for _, p := range peers {
				p.Close()
			}
			for range 4 {
				<-refused
			}
			require.Eventually(t, func() bool {
				response := s.from("127.0.0.1").ask(announce(maxUpload) + strings.Repeat("x", maxUpload))
				return response != nil && response.StatusCode == 200
			}, time.Minute, 10*time.Millisecond)
		})
	}
}

func TestBodiesOfAllAddressesHaveOneBudget(t *testing.T) {
	const ordinary = 256 << 10
	s := start(t, web.Config{Limits: web.Limits{Bodies: 2 * ordinary, AddressBodies: ordinary}, Routes: []web.Route{
		web.Post("/echo", size, web.Public(), web.MaxBody(ordinary)),
		web.Get("/check", ok, web.Public(), web.WhileDraining()),
	}})
	for _, address := range []string{"127.0.0.1", "127.0.0.2"} {
		s.from(address).requireRoomFor(ordinary)
	}
	s.from("127.0.0.3").requireNoRoomFor(1)
	s.from("127.0.0.3").requireOK(askCheck)
}

// Announced large bodies, on routes without credentials, do not prevent ordinary requests.
func TestLargeBodiesLeaveRoomForOrdinaryOnes(t *testing.T) {
	s := uploads(t, web.Limits{Bodies: 64 << 20, AddressBodies: 32 << 20})
	for _, address := range []string{"127.0.0.1", "127.0.0.2"} {
		s.from(address).requireRoomFor(maxUpload)
	}
	s.from("127.0.0.3").requireNoRoomFor(maxUpload)
	s.from("127.0.0.3").requireOK("POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx")
}

// requireRoomFor announces a body, which must be accepted.
func (p *peer) requireRoomFor(length int) {
	p.t.Helper()
	asking := p.ask(strings.Replace(announce(length), "Host", "Expect: 100-continue\r\nHost", 1))
	require.NotNil(p.t, asking)
	require.Equal(p.t, 100, asking.StatusCode)
}

func (p *peer) requireNoRoomFor(length int) {
	p.t.Helper()
	response := p.ask(announce(length))
	require.NotNil(p.t, response)
	require.Equal(p.t, http.StatusServiceUnavailable, response.StatusCode)
	require.Equal(p.t, "1", response.Header.Get("Retry-After"))
}

// TestABodyCountsUntilItsReplyIsRead uses a client that does not read the reply.
func TestABodyCountsUntilItsReplyIsRead(t *testing.T) {
	s := uploads(t, web.Limits{Bodies: 32 << 20, AddressBodies: 16 << 20})
	slow := s.from("127.0.0.1")
	slow.send(announce(maxUpload) + strings.Repeat("x", maxUpload))
	first, err := slow.reader.Peek(12)
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 200", string(first))
	response := s.from("127.0.0.1").ask(announce(maxUpload))
	require.NotNil(t, response)
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode)

	// when the client has read it, the connection is served again
	require.Equal(t, 200, slow.reply().StatusCode)
	slow.requireOK(announce(maxUpload) + strings.Repeat("y", maxUpload))
	slow.requireOK(announceChunked + "3\r\nabc\r\n0\r\n\r\n")
	slow.requireOK(askCheck)
}

func TestARouteWhoseBodiesNeverFitIsAnErrorAtStart(t *testing.T) {
	_, err := web.NewServer(web.Config{
		Logger: slog.New(slog.DiscardHandler), Limits: web.Limits{Bodies: 32 << 20},
		Routes: []web.Route{web.Post("/echo", size, web.Public(), web.MaxBody(maxUpload))},
	})
	require.ErrorContains(t, err, "POST /echo: a body may need 16777216 bytes, which exceeds the share of an "+
		"address")
}

func TestInterimRepliesAreSentOnRequest(t *testing.T) {
	s := uploads(t, web.Limits{})
	const head = "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
	asking := s.from("127.0.0.1")
	asking.send(head + "Expect: 100-continue\r\n\r\n")
	require.Equal(t, 100, asking.reply().StatusCode)
	require.Equal(t, 200, asking.ask("ab").StatusCode)
	require.Equal(t, 200, asking.ask(head+"\r\nab").StatusCode, "there is none without Expect")

	refused := s.from("127.0.0.1").ask("POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 200\r\nExpect: " +
		"100-continue\r\n\r\n")
	require.Equal(t, 413, refused.StatusCode)
	old := s.from("127.0.0.1").ask("POST /small HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nab")
	require.Equal(t, 200, old.StatusCode)
}

// TestAmbiguousLengthsAreRefused checks framing: a proxy in front may read another body than this server, and the rest
// of it would be the next request (RFC 9112, section 6.1).
func TestAmbiguousLengthsAreRefused(t *testing.T) {
	s := uploads(t, web.Limits{})
	const chunks, next = "0\r\n\r\n", "GET /check HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, head := range map[string]string{
		"both, the length first": "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
		"both, the length last":  "transfer-encoding: Chunked\r\ncontent-length: 0\r\n\r\n" + chunks,
		"identity":               "Transfer-Encoding: identity\r\n\r\n",
		"identity and a length":  "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nab",
		"another coding":         "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunks,
		"two codings":            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
		"two lengths":            "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab",
		"a list of lengths":      "Content-Length: 2, 2\r\n\r\nab",
		"a signed length":        "Content-Length: +2\r\n\r\nab",
		"a space in the name":    "Content-Length : 2\r\n\r\nab",
		"bare line feeds":        "Content-Length: 0\nTransfer-Encoding: chunked\n\n" + chunks,
		"a folded line":          "X: y\r\n Content-Length: 2\r\nTransfer-Encoding:\r\n chunked\r\n\r\n" + chunks,
	} {
		for _, method := range []string{"POST /small", "GET /check"} {
			t.Run(name+", "+method, func(t *testing.T) {
				p := s.from("127.0.0.1")
				response := p.ask(method + " HTTP/1.1\r\nHost: x\r\n" + head + next)
				require.NotNil(t, response)
				require.Equal(t, http.StatusBadRequest, response.StatusCode)
				require.True(t, response.Close)
				require.Equal(t, "application/json", response.Header.Get("Content-Type"))
				require.Nil(t, p.reply(), "the following bytes were handled as a request")
			})
		}
	}
}

// FuzzFraming checks that net/http and this server agree on the end of requests that both accept.
func FuzzFraming(f *testing.F) {
	for _, seed := range []string{
		"Content-Length: 2", "Transfer-Encoding: chunked", "Transfer-Encoding: identity",
		"Content-Length: 1\r\nTransfer-Encoding: chunked",
		"X: y\r\n Content-Length: 2", "Content-Length: 02", "Transfer-Encoding: \x0bchunked", "Content-Length:\t2\nX: y",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		request := "POST / HTTP/1.1\r\nHost: x\r\n" + lines + "\r\n\r\n"
		length, ok := web.BodyOf(request)
		other, err := http.ReadRequest(newReader(strings.NewReader(request)))
		if !ok || err != nil {
			return
		}
		if len(other.TransferEncoding) > 0 {
			other.ContentLength = -1
		}
		require.EqualValues(t, other.ContentLength, length)
	})
}
