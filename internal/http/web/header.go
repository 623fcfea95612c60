package web

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/recital-tts/recital/internal/http/web/bind"
)

// Names of headers.
const (
	headerRequestID    = "request-id"
	headerRequestIDToo = "x-request-id"
	headerMinPosition  = "x-recital-min-position"
	headerDialect      = "lmnt-version"
	headerAPIKey       = "x-api-key"
)

// ReplyHeaders are on every reply.
type ReplyHeaders struct {
	RequestID string `header:"request-id" doc:"Names the request in logs."`
}

// RefusalHeaders may be on every refusal.
type RefusalHeaders struct {
	RetryAfter  *int    `header:"retry-after" ge:"1" doc:"After how many seconds to ask again."`
	ShouldRetry *string `header:"x-should-retry" literal:"true,false" doc:"Whether the same request may succeed later."`
}

// WriteHeaders may be on every reply to a write; the position is on replies that show views, too.
type WriteHeaders struct {
	Position *string `header:"x-recital-position" doc:"The position in the log that the write has reached, or that the read shows, for x-recital-min-position."`
	Stale    *string `header:"x-recital-stale" literal:"true" doc:"Reads may not show the write yet."`
}

// SetHeaders sets the headers that a struct holds; a nil pointer is not sent. Package bind explains the tags of its
// fields, and SendsHeaders declares it.
func SetHeaders[T any](call *Call, headers T) { setHeaders(&call.http.Response.Header, headers) }

func setHeaders[T any](response *fasthttp.ResponseHeader, headers T) {
	bind.EachHeader(reflect.ValueOf(headers), response.Set)
}

// headerFields are the headers that a struct declares.
func headerFields(t reflect.Type) ([]bind.Field, error) {
	plan, err := bind.Compile(t)
	if err != nil {
		return nil, err
	}
	fields := plan.Fields()
	for _, f := range fields {
		if f.Source != "header" {
			return nil, fmt.Errorf("the field %s of %s is no header", f.Name, t)
		}
	}
	return fields, nil
}

// exposedHeaders lists, for CORS, what scripts in browsers may read: the headers of the edge itself, and those that the
// routes declare.
func exposedHeaders(routes []Route) (string, error) {
	structs := []reflect.Type{
		reflect.TypeFor[ReplyHeaders](), reflect.TypeFor[RefusalHeaders](), reflect.TypeFor[WriteHeaders](),
	}
	names := map[string]bool{headerRequestIDToo: true}
	for i := range routes {
		for _, o := range routes[i].Outcomes {
			structs = append(structs, o.Headers...)
			for _, name := range slices.Concat(o.Sends, o.MaySend) {
				names[name] = true
			}
		}
	}
	for _, t := range structs {
		fields, err := headerFields(t)
		if err != nil {
			return "", fmt.Errorf("reading declared headers: %w", err)
		}
		for _, f := range fields {
			names[f.Name] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", "), nil
}
