package web_test

import (
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/process/tracing/otlp"
	"github.com/recital-tts/recital/internal/process/tracing/tracingtest"
)

func TestOnlyTheHeaderOfATrustedProxyContinuesATrace(t *testing.T) {
	t.Parallel()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for _, c := range []struct {
		name    string
		proxies []netip.Prefix
		follows bool
	}{
		{"a stranger", nil, false},
		{"a proxy", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			receiver := tracingtest.Open(t)
			exporter, err := otlp.Open(t.Context(), otlp.Config{Endpoint: receiver.URL, Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			s := start(t, web.Config{Traces: exporter.Tracer(), Proxies: c.proxies, Routes: []web.Route{
				web.Get("/asked/{id}", func(call *web.Call, _ struct{}) (web.Reply,
					error) {
					return web.JSON(web.RequestIDOf(call)), nil
				}, web.Public()),
				web.Get("/checked", func(*web.Call, struct{}) (web.Reply, error) { return web.JSON("ok"), nil }, web.Public(),
					web.WhileDraining()),
			}})
			for _, path := range []string{"/asked/someone", "/checked", "/nowhere"} {
				s.ask(http.MethodGet, path, "", "traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
			}
			require.NoError(t, exporter.Close())

			// then a matched route that is not a check has a span with its route and the request's id
			spans := receiver.Spans()
			require.Len(t, spans, 1)
			require.Equal(t, "GET /asked/{id}", spans[0].Name)
			require.NotEmpty(t, tracingtest.Attribute(spans[0], "recital.request_id"))
			require.NotContains(t, receiver.Text(), "someone")
			require.Equal(t, c.follows, hex.EncodeToString(spans[0].TraceId) == trace)
		})
	}
}
