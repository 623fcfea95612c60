package main_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// long returns a request for 16 MB of audio, which is far more than the kernel buffers for a client that does not read.
func long() speech { return speech{bytesRoute, "pcm_s16le", 5000} }

// held is a stream with a client that has read the first bytes and then stops reading, which blocks the server.
type held struct {
	attempt
	response *http.Response
}

func hold(t *testing.T, c customer, s speech) *held {
	t.Helper()
	client := slowly()
	response, err := client.Do(c.request(http.MethodPost, s.route, s.order().encode()).WithContext(t.Context()))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = response.Body.Close()
		client.CloseIdleConnections()
	})
	h := &held{attempt{speech: s, account: c.id, status: response.StatusCode,
		generation: response.Header.Get("X-Generation-Id")}, response}
	require.Equal(t, 200, h.status)
	h.body = make([]byte, 4<<10)
	_, err = io.ReadFull(response.Body, h.body)
	require.NoError(t, err)
	return h
}

// rest reads the rest of the stream.
func (h *held) rest() attempt {
	more, err := io.ReadAll(h.response.Body)
	h.body, h.err = append(h.body, more...), err
	return h.attempt
}

// hangUp disconnects without reading the rest.
func (h *held) hangUp() { _ = h.response.Body.Close() }
