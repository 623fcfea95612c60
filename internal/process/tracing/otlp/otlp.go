// Package otlp exports traces by the OpenTelemetry protocol over HTTP.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/recital-tts/recital/internal/process/tracing"
)

// Config configures an exporter. Other settings (headers, timeouts, certificates, the sampler, the service's name) are
// in the variables OTEL_… of the OpenTelemetry specification.
type Config struct {
	Endpoint string // URL of the receiver, without /v1/traces
	Instance string // of the service
	Logger   *slog.Logger
}

// closeTimeout is the time limit of Close for exporting the remaining spans.
const closeTimeout = 2 * time.Second

// Exporter exports spans in the background. An unavailable receiver does not affect the creators of spans: spans that
// exceed a queue of 2,048 are dropped.
type Exporter struct{ provider *sdk.TracerProvider }

// Check returns an error for an invalid endpoint.
func Check(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return errors.New("the endpoint of traces must be http(s)://HOST:PORT, or that with a path")
	}
	return nil
}

// Open returns an exporter, without connecting yet. The caller must close it.
func Open(ctx context.Context, conf Config) (*Exporter, error) {
	if err := Check(conf.Endpoint); err != nil {
		return nil, err
	}
	address, err := url.JoinPath(conf.Endpoint, "v1/traces")
	if err != nil {
		return nil, fmt.Errorf("exporting traces: %w", err)
	}
	client, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(address))
	if err != nil {
		return nil, fmt.Errorf("exporting traces: %w", err)
	}
	described, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "recital"),
			attribute.String("service.instance.id", conf.Instance)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describing the service for traces: %w", err)
	}
	return &Exporter{sdk.NewTracerProvider(sdk.WithBatcher(&reporting{SpanExporter: client, log: conf.Logger}),
		sdk.WithResource(described))}, nil
}

// Tracer returns a Tracer that uses the exporter.
func (e *Exporter) Tracer() *tracing.Tracer { return tracing.New(e.provider) }

// Close exports the remaining spans within closeTimeout, and drops the rest.
func (e *Exporter) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := e.provider.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("closing the export of traces: %w", err)
	}
	return nil
}

// reporting logs when the receiver stops and resumes accepting spans. The library would report each failure, and only
// for the whole process.
type reporting struct {
	sdk.SpanExporter
	log     *slog.Logger
	failing atomic.Bool
}

// ExportSpans implements sdk.SpanExporter.
func (r *reporting) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	if failing := err != nil; r.failing.Swap(failing) != failing {
		if failing {
			r.log.Warn("the receiver does not accept traces; they are dropped until it does", "error", err)
		} else {
			r.log.Info("the receiver accepts traces again")
		}
	}
	return nil
}
