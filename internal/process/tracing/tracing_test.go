package tracing_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/tracing"
)

func TestWithoutATraceNothingIsAllocated(t *testing.T) {
	type key struct{}
	outside, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "a request's"))
	defer cancel()
	var none *tracing.Tracer
	require.Zero(t, testing.AllocsPerRun(100, func() {
		ctx, request := none.Request(outside, "GET /v1/account", "")
		ctx, span := tracing.Start(ctx, "append")
		span.Set("recital.stream", "account")
		span.Count("recital.events", 1)
		tracing.Note(ctx, "first audio")
		span.End(context.Canceled)
		request.End(nil)
		if ctx != outside || tracing.Carry(outside, ctx) != outside || span.Recorded() {
			t.Fatal("the context has changed")
		}
	}))
}
