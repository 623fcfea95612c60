package journal

import (
	"context"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/process/tracing"
)

// Span is a command in the trace of a request. It is the zero Span where there is no trace.
type Span struct{ span tracing.Span }

// Trace begins the span of a command. Execute calls it; a caller of Cached.Batch calls it for each command.
func Trace(ctx context.Context, command string) (context.Context, Span) {
	ctx, span := tracing.Start(ctx, "command")
	span.Set("recital.command", command)
	return ctx, Span{span}
}

// End ends the span. What the domain refuses is an answer, and no failure.
func (s Span) End(conflicts int, err error) {
	if conflicts > 0 {
		s.span.Count("recital.conflicts", conflicts)
	}
	if code := domain.CodeOf(err); code != "" && code != domain.Unavailable {
		s.span.Set("recital.refusal", string(code))
		err = nil
	}
	s.span.End(err)
}
