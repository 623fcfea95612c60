package main_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// revokeKey revokes the key with itself.
func (c customer) revokeKey(t *testing.T) reply {
	t.Helper()
	return do(t, c.request(http.MethodDelete, "/v1/account/api_key/"+account.MaskAPIKey(c.key), nil))
}

// asks returns the status of GET /v1/account with the key.
func (c customer) asks(t *testing.T) int {
	t.Helper()
	return do(t, c.request(http.MethodGet, "/v1/account", nil)).status
}

func TestStreamsEndWhenTheirKeyIsRevokedOnAnotherInstance(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given two sockets and a stream of a key
	on := outsideServices(t)
	here, there := on.launchTwo(t)
	c, stranger := here.openAccount("indie"), here.openAccount("indie")
	there.eventually(func() bool { return c.at(there).asks(t) == 200 && stranger.at(there).asks(t) == 200 })
	typed := c.at(there).talk(t, nil)
	plain := c.at(there).talkPlainly(t)
	other := stranger.at(there).talk(t, nil)
	stream := hold(t, c.at(there), long())
	_, err := io.CopyN(io.Discard, stream.response.Body, 1<<20) // more than the first sentence
	require.NoError(t, err)

	// when the key is revoked on the other instance
	require.Equal(t, 200, c.revokeKey(t).status)

	// then both instances refuse it
	there.eventually(func() bool { return c.at(there).asks(t) == 401 })
	require.Equal(t, 401, c.asks(t))

	// and the sockets report it and are closed, each in its dialect
	told, code := typed.lastWords()
	require.Equal(t, websocket.ClosePolicyViolation, code)
	require.Contains(t, told, `"type":"authentication_error"`)
	require.Contains(t, told, "The API key was revoked")
	told, code = plain.lastWords()
	require.Equal(t, websocket.CloseProtocolError, code)
	require.JSONEq(t, `{"error":"The API key was revoked"}`, told)

	// and the stream's client notices the interruption, and delivered segments are counted
	require.Error(t, stream.rest().err)
	var all books
	there.eventually(func() bool {
		all = foldLog(t, esdb.Config{ConnectionString: on.events})
		return all.openReservations() == 0
	})
	counted, settled := all.settled[stream.generation]
	require.True(t, settled, "the reservation was settled and did not expire")
	require.Positive(t, counted)
	require.Less(t, counted, long().characters)
	require.Equal(t, counted+int64(len(greeting)), all.charactersOf(c.id))

	// and others continue
	other.say("Others go on.", 2)
	other.send(order{"type": "finish"})
	require.Equal(t, websocket.CloseNormalClosure, other.end())
	for _, s := range []*server{here, there} {
		require.NotContains(t, read(t, s.log), "rk_")
	}
}

func TestARevokedKeyStaysRevokedWhenRecitaldStartsAgain(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	data := dataFolder(t)
	s := start(t, data)
	first := s.operator()
	require.Equal(t, 200, first.asks(t))
	require.Equal(t, 200, first.revokeKey(t).status)
	require.Equal(t, 401, first.asks(t))
	require.Equal(t, 401, first.revokeKey(t).status)
	s.interrupt()

	// when it restarts with the key's file
	s = start(t, data)

	// then it serves, prints the remedy, and the key remains revoked
	require.Contains(t, s.said(), "API key      was revoked; delete "+filepath.Join(data, "dev-api-key"))
	require.Equal(t, 401, first.at(s).asks(t))
	require.Equal(t, 200, s.openAccount("free").asks(t))
	s.interrupt()

	// when the file is deleted, then there is a new key for the same account
	require.NoError(t, os.Remove(filepath.Join(data, "dev-api-key")))
	s = start(t, data)
	require.NotEqual(t, first.key, s.key)
	require.Equal(t, 200, s.operator().asks(t))
	require.Equal(t, 401, first.at(s).asks(t))
	s.requireReadModelsFollowLog()
}

const greeting = "Let me in."

// talkPlainly opens a session in dialect 1.0.
func (c customer) talkPlainly(t *testing.T) *talk {
	t.Helper()
	ws, _, err := websocket.DefaultDialer.DialContext(t.Context(),
		"ws"+strings.TrimPrefix(c.server.address, "http")+"/v1/ai/speech/stream", nil)
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	k := &talk{t: t, ws: ws}
	k.send(order{"X-API-Key": c.key, "voice": "leah", "protocol_version": 2}, order{"text": greeting},
		order{"command": "flush", "nonce": 1})
	k.until("") // its response to the flush has no type
	return k
}

// lastWords returns the last text frame before the close frame, and the close frame's code.
func (k *talk) lastWords() (told string, code int) {
	k.t.Helper()
	require.NoError(k.t, k.ws.SetReadDeadline(time.Now().Add(patience)))
	for {
		kind, message, err := k.ws.ReadMessage()
		var closed *websocket.CloseError
		if errors.As(err, &closed) {
			require.Contains(k.t, closed.Text, "The API key was revoked")
			return told, closed.Code
		}
		require.NoError(k.t, err)
		if kind == websocket.TextMessage {
			told = string(message)
		}
	}
}
