// Package tracing adds spans to the trace of a request. For a context without a trace, because none are exported or
// this one is not sampled, its functions have no effect and do not allocate.
//
// Attributes contain no personal data, account ids or texts: they are names in this code, counts, and the id of the
// request, which links to its log lines and events.
package tracing

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const scope = "github.com/recital-tts/recital"

// Tracer begins the traces of requests. A nil Tracer begins none.
type Tracer struct{ tracer trace.Tracer }

// New returns a Tracer with a provider.
func New(provider trace.TracerProvider) *Tracer { return &Tracer{provider.Tracer(scope)} }

// Request begins the span of a request. The parent is a traceparent header (W3C Trace Context). Without a valid one,
// the trace begins here.
func (t *Tracer) Request(ctx context.Context, name, parent string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	if parent != "" {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
	}
	return started(t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer)))
}

// Start begins a span in the trace of ctx. The caller must end it.
func Start(ctx context.Context, name string) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, Span{}
	}
	return started(parent.TracerProvider().Tracer(scope).Start(ctx, name))
}

func started(ctx context.Context, span trace.Span) (context.Context, Span) {
	if !span.IsRecording() {
		return ctx, Span{}
	}
	return ctx, Span{span}
}

// Carry returns the context to with the trace of from.
func Carry(to, from context.Context) context.Context {
	span := trace.SpanFromContext(from)
	if !span.IsRecording() {
		return to
	}
	return trace.ContextWithSpan(to, span)
}

// Note adds an event to the span of ctx.
func Note(ctx context.Context, what string) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.AddEvent(what)
	}
}

// Span is a part of a trace. The zero Span records nothing. It is safe for concurrent use.
type Span struct{ span trace.Span }

// Recorded reports whether the span is recorded. If not, its attributes need not be computed.
func (s Span) Recorded() bool { return s.span != nil }

// Set sets a text.
func (s Span) Set(key, value string) {
	if s.Recorded() {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// Count sets a number.
func (s Span) Count(key string, n int) {
	if s.Recorded() {
		s.span.SetAttributes(attribute.Int(key, n))
	}
}

// Fail marks the span as failed.
func (s Span) Fail() {
	if s.Recorded() {
		s.span.SetStatus(codes.Error, "")
	}
}

// End ends the span, with the type of the error if there is one. Ending it again has no effect.
func (s Span) End(err error) {
	if !s.Recorded() {
		return
	}
	if err != nil {
		s.Fail()
		s.Set("error.type", kindOf(err))
	}
	s.span.End()
}

// kindOf returns the type of the innermost error. Messages are not traced, because they may contain personal data.
func kindOf(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return fmt.Sprintf("%T", err)
		}
		err = inner
	}
}
