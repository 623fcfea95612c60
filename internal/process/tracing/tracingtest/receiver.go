// Package tracingtest provides tests with a receiver of traces.
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

// Receiver receives spans in the OpenTelemetry protocol over HTTP.
type Receiver struct {
	URL string

	mu    sync.Mutex
	spans []*otlp.Span
	text  []byte // all received bytes
}

// Open returns a receiver, which is closed at the end of the test.
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

// Spans returns the spans received so far.
func (r *Receiver) Spans() []*otlp.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}

// Text returns all bytes received so far. They contain texts in plain form.
func (r *Receiver) Text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.text)
}

// Attribute returns a text attribute of a span, or "".
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
