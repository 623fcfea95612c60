package openapi

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/bind"
)

// standardHeaders are fields of HTTP. All others are described where they are set.
type standardHeaders struct {
	AcceptRanges          string `header:"accept-ranges" doc:"Parts of the body can be asked for."`
	ContentRange          string `header:"content-range" doc:"Which part of how many bytes the body is."`
	ContentEncoding       string `header:"content-encoding" doc:"gzip where the client takes it."`
	Location              string `header:"location" doc:"Where it is."`
	ETag                  string `header:"etag" doc:"Changes with the body."`
	CacheControl          string `header:"cache-control" doc:"How long the reply may be kept."`
	ContentSecurityPolicy string `header:"content-security-policy" doc:"What the page may load."`
}

// knownHeaders are those that outcomes may name: of HTTP and of the edge itself.
func knownHeaders() (map[string]bind.Field, error) {
	known := map[string]bind.Field{}
	for _, t := range []reflect.Type{
		reflect.TypeFor[standardHeaders](), reflect.TypeFor[web.ReplyHeaders](), reflect.TypeFor[web.RefusalHeaders](), reflect.TypeFor[web.WriteHeaders](),
	} {
		fields, err := web.Outcome{Headers: []reflect.Type{t}}.HeaderFields()
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			known[f.Name] = f
		}
	}
	return known, nil
}

// addHeaders adds those that the outcome declares, and those that every reply to a write or of a view may have.
func (w *writer) addHeaders(told *response, r *web.Route, o web.Outcome) error {
	declared, err := o.HeaderFields()
	if err != nil {
		return err
	}
	for _, f := range declared {
		if told.Headers[f.Name], err = w.header(f, !f.Pointer); err != nil {
			return err
		}
	}
	may := o.MaySend
	switch {
	case len(r.ReadModels) > 0 && (r.Appends || r.Method != http.MethodGet):
		may = slices.Concat(may, []string{"x-recital-position", "x-recital-stale"})
	case len(r.Views) > 0:
		may = slices.Concat(may, []string{"x-recital-position"})
	}
	return errors.Join(
		w.addKnown(told, true, append([]string{"request-id"}, o.Sends...)),
		w.addKnown(told, false, may),
	)
}

func (w *writer) addKnown(told *response, always bool, names []string) (err error) {
	for _, name := range names {
		f, ok := w.headers[name]
		if !ok {
			return fmt.Errorf("the header %s is not described", name)
		}
		if told.Headers[name], err = w.header(f, always); err != nil {
			return err
		}
	}
	return nil
}

// header describes a field. A set of one value is a constant.
func (w *writer) header(f bind.Field, always bool) (*header, error) {
	s, err := w.components.schemaOf(f.Type)
	if err != nil {
		return nil, fmt.Errorf("the header %s: %w", f.Name, err)
	}
	constrain(s, f)
	if len(s.Enum) == 1 {
		s.Const, s.Enum = s.Enum[0], nil
	}
	return &header{Description: f.Doc, Required: always, Schema: s}, nil
}
