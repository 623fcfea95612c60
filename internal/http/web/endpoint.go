package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web/bind"
)

// chain returns the handlers of a route, in order.
func (s *Server) chain(e *endpoint) []fiber.Handler {
	if e.IsSocket() {
		return []fiber.Handler{e.enter, step(s.admit), last(s.upgrade)}
	}
	respond := s.answer
	if e.Uploads > 0 {
		respond = s.answerWithUpload
	}
	return []fiber.Handler{
		e.enter, step(s.admit), step(s.authenticate), step(s.limitRate), step(checkBody), step(before), last(respond),
	}
}

// step returns a handler that ends the chain with an error.
func step(check func(*visit) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if err := check(visitOf(c)); err != nil {
			return err
		}
		return c.Next()
	}
}

func last(respond func(*visit) error) fiber.Handler {
	return func(c *fiber.Ctx) error { return respond(visitOf(c)) }
}

// enter sets the visit's route to Fiber's match. Fiber reuses the memory of the path's parameters, so they are copied.
func (e *endpoint) enter(c *fiber.Ctx) error {
	v := visitOf(c)
	v.endpoint, v.plan = e, e.plan
	v.enterRoute(e.Route)
	if len(e.params) > 0 {
		v.params = make(map[string]string, len(e.params))
	}
	for i, name := range e.params {
		v.params[name] = strings.Clone(c.Params(c.Route().Params[i]))
	}
	v.life.extend(e.Timeout)
	return c.Next()
}

// before refuses requests that can be refused by their head.
func before(v *visit) error {
	if v.Route.Before == nil {
		return nil
	}
	return v.Route.Before(v.Call)
}

func (s *Server) answer(v *visit) error {
	reply, err := s.run(v, v.endpoint)
	if err != nil {
		return err
	}
	return s.send(v, reply)
}

// admit refuses all requests but health checks while the server drains, and on connections beyond the limit.
func (s *Server) admit(v *visit) error {
	drains := s.draining.Err() != nil
	if s.leaving.Load() || drains {
		v.http.SetConnectionClose()
	}
	switch {
	case v.Route.WhileDraining:
		return nil
	case connOf(v.http).Extra():
		return errConnections
	case drains:
		return errShutdown
	}
	return nil
}

// checkBody refuses compressed bodies, which could exhaust memory cheaply, and checks the limit of headerReceived
// again.
func checkBody(v *visit) error {
	if encoding := v.Header("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return &Error{Status: http.StatusUnsupportedMediaType, Message: "Compressed request bodies are not supported"}
	}
	if v.plan.TakesBody() && len(v.body) > v.Route.MaxBody {
		return errTooLarge
	}
	return nil
}

// run calls the handler. If it returns NotFound on a route that reads views, it is called again once their read models
// have reached the log's head, so that a result is never missing only because they lag.
func (s *Server) run(v *visit, e *endpoint) (reply Reply, err error) {
	defer recoverTo(&err)
	handle := func() (Reply, error) { return s.handleInput(v, e) }
	reply, err = handle()
	if !s.mayBeLate(v.Call, err) {
		return reply, err
	}
	if err := s.awaitHead(v.Call); err != nil {
		return Reply{}, err
	}
	return handle()
}

// handleInput binds the inputs and calls the handler.
func (s *Server) handleInput(v *visit, e *endpoint) (Reply, error) {
	return e.handle(v.Call, func(in reflect.Value) error {
		if err := bindInputs(in, v, e); err != nil {
			return err
		}
		if err := s.recordAct(v.Call, e, in.Interface()); err != nil {
			return err
		}
		return s.waitForPosition(v.Call)
	})
}

func bindInputs(in reflect.Value, v *visit, e *endpoint) error {
	if in.NumField() == 0 {
		return nil
	}
	items, err := e.plan.Bind(in, bindRequest(v, e))
	if err != nil {
		return err
	}
	if len(items) > 0 {
		return &invalidError{items: items}
	}
	return nil
}

// bindRequest returns a request of copies, because fasthttp reuses its buffers.
func bindRequest(v *visit, e *endpoint) *bind.Request {
	request := &v.http.Request
	r := &bind.Request{Forms: e.Forms, AnyContentType: e.AnyContentType}
	r.Path = func(name string) (string, bool) {
		raw := v.params[name]
		if plain, err := url.PathUnescape(raw); err == nil {
			return plain, true
		}
		return raw, true
	}
	r.Query = func(name string) []string {
		var values []string
		for _, value := range request.URI().QueryArgs().PeekMulti(name) {
			values = append(values, string(value))
		}
		return values
	}
	r.Header = func(name string) (string, bool) {
		lines := request.Header.PeekAll(name)
		return string(bytes.Join(lines, []byte(", "))), len(lines) > 0
	}
	if e.plan.TakesBody() {
		r.ContentType = string(request.Header.ContentType())
		r.Body, r.Form = v.body, v.form
	}
	return r
}

// mayBeLate reports whether a read may have returned NotFound because the read models lag.
func (s *Server) mayBeLate(call *Call, err error) bool {
	return domain.CodeOf(err) == domain.NotFound && len(call.Route.Views) > 0 && s.cfg.Positions != nil
}

func (s *Server) awaitHead(call *Call) error {
	ctx, cancel := context.WithTimeout(call, s.cfg.Limits.PositionWait)
	defer cancel()
	err := s.cfg.Positions.Current(ctx, call.Route.ReadModels)
	if err == nil || call.Err() != nil {
		return err
	}
	return &Error{
		Status: http.StatusServiceUnavailable, Message: "The read models are behind, what was asked for may not show yet",
		RetryAfter: time.Second,
	}
}

// waitForPosition lets a client read its own writes on any instance.
func (s *Server) waitForPosition(call *Call) error {
	position := call.Header(headerMinPosition)
	if position == "" || s.cfg.Positions == nil || call.Route.Method != fiber.MethodGet {
		return nil
	}
	ctx, cancel := context.WithTimeout(call, s.cfg.Limits.PositionWait)
	defer cancel()
	err := s.cfg.Positions.Wait(ctx, position, call.Route.ReadModels)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrBadPosition):
		return &Error{
			Status: http.StatusBadRequest, Message: "The header " + headerMinPosition + " is not a position of the log",
		}
	case errors.Is(err, ErrStandsStill), isContextError(err) && call.Err() == nil:
		return &Error{
			Status: http.StatusGatewayTimeout, Message: "The position was not reached in time", RetryAfter: time.Second,
		}
	}
	return fmt.Errorf("waiting for a position: %w", err)
}

// send writes a handler's reply.
func (s *Server) send(v *visit, reply Reply) error {
	response := &v.http.Response
	switch {
	case reply.stream == nil:
		body, err := reply.bytes()
		if err != nil {
			return err
		}
		response.SetBodyRaw(body)
	case v.http.IsHead():
		// no stream: fasthttp would write the end of its chunks after the head, where the next answer begins
		if reply.length != nil {
			response.Header.SetContentLength(int(*reply.length))
		}
	default:
		if err := s.startStream(v, reply); err != nil {
			return err
		}
	}
	if reply.status != 0 {
		response.SetStatusCode(reply.status)
	}
	if reply.contentType != "" {
		response.Header.SetContentType(reply.contentType)
	}
	for _, header := range reply.headers {
		if strings.EqualFold(header[0], "Set-Cookie") {
			response.Header.Add(header[0], header[1])
			continue
		}
		response.Header.Set(header[0], header[1])
	}
	return nil
}

func (s *Server) startStream(v *visit, reply Reply) error {
	stop, err := s.watchStream(v)
	if err != nil {
		return err
	}
	body := &streamBody{life: v.life, write: reply.stream, limit: cmp.Or(v.Call.Route.Stream, s.cfg.Limits.Stream)}
	if v.Call.Route.Stream > 0 {
		go s.cutAtDrain(v.life)
	}
	body.done = func(bytes int64, err error) {
		stop()
		resumed := v.Call.Route.Stream > 0 && errors.Is(err, errShutdown)
		if err != nil && !errors.Is(err, errClientGone) && !isRevocation(err) && !resumed {
			s.logError(v, "stream cut", err)
		}
		s.close(v, bytes, err)
	}
	v.stream = body
	v.http.Response.ImmediateHeaderFlush = true
	length := -1 // in chunks
	if reply.length != nil {
		length = int(*reply.length)
	}
	v.http.Response.SetBodyStream(body, length)
	return nil
}

func (s *Server) cutAtDrain(life *lifetime) {
	select {
	case <-s.draining.Done():
		life.cancel(errShutdown)
	case <-life.Done():
	}
}
