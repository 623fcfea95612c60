package app

import (
	"context"
	"strings"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/tracing"
	"github.com/recital-tts/recital/internal/process/tracing/otlp"
)

// openTraces exports traces where an endpoint for them is set. Otherwise there is no tracer, and nothing is recorded.
func (a *App) openTraces(ctx context.Context) error {
	if a.cfg.TraceEndpoint == "" {
		return nil
	}
	exporter, err := otlp.Open(ctx, otlp.Config{Endpoint: a.cfg.TraceEndpoint, Instance: a.instance(), Logger: a.log})
	if err != nil {
		return err
	}
	a.onClose("the export of traces", exporter.Close)
	a.traces = exporter.Tracer()
	return nil
}

func (c Config) checkTraces() error {
	if c.TraceEndpoint == "" {
		return nil
	}
	return otlp.Check(c.TraceEndpoint)
}

// tracedLog shows appends in the traces of their requests.
type tracedLog struct{ eventlog.Log }

// Append implements eventlog.Log.
func (l tracedLog) Append(ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed) (eventlog.Appended, error) {
	ctx, span := tracing.Start(ctx, "append")
	kind, _, _ := strings.Cut(stream, "-") // the rest is an id
	span.Set("recital.stream", kind)
	span.Count("recital.events", len(events))
	done, err := l.Log.Append(ctx, stream, expected, events)
	span.End(err)
	return done, err
}
