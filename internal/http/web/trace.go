package web

import (
	"context"
	"net/http"

	"github.com/recital-tts/recital/internal/http/web/quota"
)

// trace begins the trace of a request, unless it is a check of this instance. What a stranger says about traces counts for
// nothing: the header of a trusted proxy does.
func (s *Server) trace(v *visit, path string) (ctx context.Context) {
	ctx = context.Background()
	if s.cfg.Traces == nil {
		return ctx
	}
	e := s.table.match(v.Method(), path)
	if e == nil || e.WhileDraining {
		return ctx
	}
	parent := ""
	if s.trusts(quota.Address(v.http.RemoteAddr())) {
		parent = v.Header("traceparent")
	}
	ctx, v.span = s.cfg.Traces.Request(ctx, e.Method+" "+e.Path, parent)
	return ctx
}

// endTrace ends the trace of a request as it was answered.
func (v *visit) endTrace(told Observation) {
	v.span.Set("http.request.method", told.Method)
	v.span.Set("http.route", told.Route)
	v.span.Count("http.response.status_code", told.Status)
	v.span.Set("recital.request_id", v.RequestID)
	if told.Aborted || told.Status >= http.StatusInternalServerError {
		v.span.Fail()
	}
	v.span.End(nil)
}

type requestIDKey struct{}

// RequestIDOf returns the id of the request that a context belongs to, as in the header request-id, or "".
func RequestIDOf(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
