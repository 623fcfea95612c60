package app

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
)

func TestLinesOfARequestHaveItsID(t *testing.T) {
	var lines bytes.Buffer
	log := newLogger(Config{LogFormat: "json"}, &lines)
	server, err := web.NewServer(web.Config{Logger: log, Routes: []web.Route{
		web.Get("/asked", func(call *web.Call, _ struct{}) (web.Reply, error) {
			log.With("part", "ledger").WarnContext(call, "a part of the service has something to say")
			return web.JSON("done"), nil
		}, web.Public()),
	}})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()

	transport := &http.Transport{} // the default one also requests the description
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+"/asked",
		nil)
	require.NoError(t, err)
	answer, err := transport.RoundTrip(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	transport.CloseIdleConnections()
	require.NoError(t, server.Shutdown(t.Context()))
	require.NoError(t, <-ended)
	log.InfoContext(t.Context(), "no request")

	// then both lines of the request have its id, once
	decoder := json.NewDecoder(&lines)
	for _, id := range []any{answer.Header.Get("request-id"), answer.Header.Get("request-id"), nil} {
		var line map[string]any
		require.NoError(t, decoder.Decode(&line))
		require.Equal(t, id, line["request_id"], line["msg"])
	}
	require.False(t, decoder.More())
}
