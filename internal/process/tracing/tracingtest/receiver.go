// Package tracingtest is a receiver of traces.
package tracingtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Receiver takes spans as the OpenTelemetry protocol over HTTP has them.
type Receiver struct {
	URL string

	mu    sync.Mutex
	spans []*otlp.Span
	text  []byte // all that was received
}

// Open returns a receiver, which ends with the test.
func Open(t testing.TB) *Receiver {
	r := &Receiver{}
	server := httptest.NewServer(http.HandlerFunc(r.receive))
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

func (r *Receiver) receive(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	var batch collector.ExportTraceServiceRequest
	if err != nil || request.URL.Path != "/v1/traces" || proto.Unmarshal(body, &batch) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, body...)
	for _, resource := range batch.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
}

// Spans returns what was received so far.
func (r *Receiver) Spans() []*otlp.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}

// Text returns all bytes that were received so far. Texts lie in them as they are.
func (r *Receiver) Text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.text)
}

// Attribute returns a text of a span, or "".
func Attribute(span *otlp.Span, key string) string {
	for _, a := range span.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// Below returns the spans that descend from a span.
func Below(span *otlp.Span, all []*otlp.Span) (below []*otlp.Span) {
	for _, other := range all {
		if string(other.ParentSpanId) == string(span.SpanId) {
			below = append(append(below, other), Below(other, all)...)
		}
	}
	return below
}
