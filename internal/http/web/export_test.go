package web

import (
	"bufio"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// StartDraining begins to drain, and does not wait.
func (s *Server) StartDraining() { s.drain() }

// Draining reports whether the server drains.
func (s *Server) Draining() bool { return s.draining.Err() != nil }

// RowFor returns the row with the limits of a request's body.
func (s *Server) RowFor(method, uri string) string {
	return rowOf(s.table.match(method, rawPath([]byte(uri))))
}

func rowOf(e *endpoint) string {
	if e == nil {
		return ""
	}
	return e.Method + " " + e.Path
}

// FiberRow returns a function that returns the row of a request according to Fiber, "" for none.
func (s *Server) FiberRow() func(method, path string) string {
	var row string
	var ctx fasthttp.RequestCtx
	app := fiber.New(s.app.Config())
	s.table.register(app, func(e *endpoint) []fiber.Handler {
		return []fiber.Handler{func(*fiber.Ctx) error { row = rowOf(e); return nil }}
	})
	app.Use(func(*fiber.Ctx) error { return nil })
	serve := app.Handler()
	return func(method, path string) string {
		row = ""
		ctx.Request.Reset()
		ctx.Response.Reset()
		ctx.ResetUserValues()
		ctx.Request.Header.SetMethod(method)
		ctx.Request.Header.SetHost("recital.example")
		ctx.Request.SetRequestURI(path)
		serve(&ctx)
		return row
	}
}

// BodyOf returns the length of a request's body according to its head, -1 for a chunked one. ok reports whether the
// head is accepted.
func BodyOf(request string) (length int, ok bool) {
	var header fasthttp.RequestHeader
	if err := header.Read(bufio.NewReaderSize(strings.NewReader(request), 64<<10)); err != nil {
		return 0, false
	}
	length, framing := header.ContentLength(), readFraming(header.RawHeaders())
	if length <= 0 && length != chunked && framing.plain() {
		return 0, true
	}
	return length, framing.check(length == chunked) == nil
}
