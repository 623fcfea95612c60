package otlp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/recital-tts/recital/internal/process/tracing"
	"github.com/recital-tts/recital/internal/process/tracing/otlp"
	"github.com/recital-tts/recital/internal/process/tracing/tracingtest"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"

func TestSpansArriveWithTheirParents(t *testing.T) {
	receiver := tracingtest.Open(t)
	exporter, err := otlp.Open(t.Context(), otlp.Config{
		Endpoint: receiver.URL, Instance: "here", Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	tracer := exporter.Tracer()

	// when a request has two parts, one of which fails, while the other one runs elsewhere
	ctx, request := tracer.Request(t.Context(), "GET /v1/account", parent+"01")
	inner, part := tracing.Start(ctx, "append")
	part.Set("recital.stream", "account")
	tracing.Note(inner, "first audio")
	_, elsewhere := tracing.Start(tracing.Carry(t.Context(), ctx), "elsewhere")
	elsewhere.End(nil)
	part.End(fmt.Errorf("appending for ada@example.com: %w", context.Canceled))
	request.End(nil)
	// and another request is not sampled
	ctx, unsampled := tracer.Request(t.Context(), "POST /v1/ai/speech", parent+"00")
	_, none := tracing.Start(ctx, "append")
	none.End(nil)
	unsampled.End(nil)
	require.NoError(t, exporter.Close())

	// then the receiver gets all spans of the first, below the caller's span, with kinds of errors, and none of the other
	spans := receiver.Spans()
	require.Len(t, spans, 3)
	root := spans[2]
	require.Equal(t, "GET /v1/account", root.Name)
	require.Equal(t, "00f067aa0ba902b7", fmt.Sprintf("%x", root.ParentSpanId))
	require.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", fmt.Sprintf("%x", root.TraceId))
	require.Len(t, tracingtest.Below(root, spans), 2)
	require.Equal(t, v1.Status_STATUS_CODE_ERROR, spans[1].Status.Code)
	require.Equal(t, fmt.Sprintf("%T", context.Canceled), tracingtest.Attribute(spans[1], "error.type"))
	require.Equal(t, "account", tracingtest.Attribute(spans[1], "recital.stream"))
	require.Equal(t, "first audio", spans[1].Events[0].Name)
	require.NotContains(t, receiver.Text(), "ada@example.com")
	require.Contains(t, receiver.Text(), "service.name")
}

func TestAMissingReceiverDoesNoHarm(t *testing.T) {
	var log bytes.Buffer
	exporter, err := otlp.Open(t.Context(), otlp.Config{
		Endpoint: "http://127.0.0.1:1", Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	require.NoError(t, err)
	for range 10_000 {
		_, span := exporter.Tracer().Request(t.Context(), "GET /v1/account", "")
		span.End(errors.New("a failure"))
	}
	ended := make(chan error, 1)
	go func() { ended <- exporter.Close() }()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the exporter does not close")
	}
	require.LessOrEqual(t, bytes.Count(log.Bytes(), []byte("the receiver does not accept traces")), 1)
}

func TestInvalidEndpoints(t *testing.T) {
	for _, endpoint := range []string{
		"", "127.0.0.1:4318", "grpc://collector:4317", "http://", "https://me:hidden@collector",
		"http://collector?key=hidden",
	} {
		require.Error(t, otlp.Check(endpoint), endpoint)
		require.NotContains(t, otlp.Check(endpoint).Error(), "hidden")
	}
	require.NoError(t, otlp.Check("https://collector.example:4318/recital"))
}
