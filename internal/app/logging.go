package app

import (
	"context"
	"io"
	"log/slog"

	"github.com/recital-tts/recital/internal/http/web"
)

func newLogger(cfg Config, out io.Writer) *slog.Logger {
	var level slog.Level
	if level.UnmarshalText([]byte(cfg.LogLevel)) != nil {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.New(requestIDs{slog.NewJSONHandler(out, options)})
	}
	return slog.New(requestIDs{slog.NewTextHandler(out, options)})
}

// requestIDs adds the id of the request, for which something is logged, to lines that do not have it.
type requestIDs struct{ slog.Handler }

const requestIDName = "request_id"

// Handle implements slog.Handler.
func (h requestIDs) Handle(ctx context.Context, line slog.Record) error {
	if id := web.RequestIDOf(ctx); id != "" && !hasAttr(line, requestIDName) {
		line = line.Clone()
		line.AddAttrs(slog.String(requestIDName, id))
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (h requestIDs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestIDs{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h requestIDs) WithGroup(name string) slog.Handler { return requestIDs{h.Handler.WithGroup(name)} }

func hasAttr(line slog.Record, name string) (has bool) {
	line.Attrs(func(a slog.Attr) bool {
		has = a.Key == name
		return !has
	})
	return has
}
