// Package stream serves the WebSocket route of speech: text arrives in pieces, and audio is sent while it is
// synthesised. It implements the four dialects of the published clients on top of synthesis.Session.
package stream

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
	"github.com/recital-tts/recital/writeapi/synthesis/request"
)

// maxMessage is the maximum size of a message, in bytes.
const maxMessage = 256 << 10

// API serves speech over WebSockets.
type API struct {
	Synthesiser *synthesis.Synthesiser
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	decode := web.Decoder[request.Speech](request.Socket())
	serve := func(ctx context.Context, conn *web.Conn) error {
		f := &frames{conn: conn}
		return f.end(ctx, a.serve(ctx, f, decode))
	}
	return []web.Route{
		web.Socket("/v1/ai/speech/stream", serve, web.MaxBody(maxMessage), web.Tag("Speech"),
			web.Summary("Text to audio while the text grows, over WebSocket"),
			web.Description(protocol), messages),
		web.Socket("/speech/beta/synthesize_streaming", serve, web.MaxBody(maxMessage), web.Tag("Speech"),
			web.Summary("Text to audio while the text grows, for clients of version 0"),
			web.Description("As `/v1/ai/speech/stream`, for clients that know this address."), messages),
	}
}

// serve serves one session. The client is authenticated before any error in the rest of the first message is reported.
func (a *API) serve(ctx context.Context, f *frames, decode func([]byte) (request.Speech, error)) error {
	first, err := f.conn.Read()
	if err != nil {
		return err
	}
	in, invalid := decode(first)
	var isObject bool
	if f.dialect, isObject = dialectOf(first); !isObject {
		return invalid
	}
	principal, err := f.conn.Authenticate(in.Key)
	if err != nil {
		return err
	}
	if invalid != nil {
		return invalid
	}
	order := in.Synthesis()
	order.Account, order.Plan = principal.Account, plan.Type(principal.Plan)
	order.Origin = writeapi.Origin(f.conn.Caller).WithoutClient()
	f.times = wantsTimes(in, f.dialect)
	session, err := a.Synthesiser.Converse(ctx, order, f.times, f.conn.Draining())
	if err != nil {
		return err
	}
	if err := f.ready(); err != nil {
		return err
	}
	return converse(ctx, f, session)
}

// converse listens and speaks concurrently, until either ends. The error that ended the listening is the reason for
// both.
func converse(ctx context.Context, f *frames, session *synthesis.Session) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var listening sync.WaitGroup
	defer listening.Wait()
	defer f.conn.StopReading()
	defer cancel(nil)
	listening.Go(func() { cancel(listen(ctx, f.conn, session)) })
	err := session.Speak(ctx, f)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// listen passes on the client's messages. It always returns an error: web.ErrClosed after the client's end.
func listen(ctx context.Context, conn *web.Conn, session *synthesis.Session) error {
	var p parser
	for {
		raw, err := conn.Read()
		if err != nil {
			return err
		}
		m, err := p.parse(raw)
		if err != nil {
			return err
		}
		if err := p.ends(m.action); err != nil {
			return err
		}
		if err := carryOut(ctx, session, m); err != nil {
			return err
		}
	}
}

func carryOut(ctx context.Context, session *synthesis.Session, m message) error {
	if err := session.Add(ctx, m.text); err != nil {
		return err
	}
	switch m.action {
	case flush:
		return session.Flush(ctx, m.nonce)
	case reset:
		return session.Reset(ctx, m.nonce)
	case finish:
		return session.Finish(ctx)
	}
	return nil
}

// end closes the session in its dialect: an error is sent before the close frame.
func (f *frames) end(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case err == nil, errors.Is(err, web.ErrClosed):
		return err
	case errors.Is(err, synthesis.ErrDrained):
		return web.ErrGoingAway
	case cause != nil:
		err = cause
	}
	told := web.Explain(err)
	return &web.CloseError{Code: f.code(err, told.Status), Last: f.failure(told), Err: err}
}

// code returns the close code for an error. The published service closes with 1002 for a refusal in 1.0.
func (f *frames) code(err error, status int) int {
	code := web.CloseCode(err)
	if code != web.ClosePolicy {
		return code
	}
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity:
		return web.CloseProtocol
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		if !f.dialect.hasTypes() {
			return web.CloseProtocol
		}
	}
	return code
}
