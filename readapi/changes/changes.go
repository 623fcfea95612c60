// Package changes serves a stream of an account's changes.
package changes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/recital-tts/recital/internal/events/changes"
	"github.com/recital-tts/recital/internal/http/web"
)

// API serves the stream of changes.
type API struct {
	Changes   *changes.Notifier
	Heartbeat time.Duration // between two lines of a stream without changes; default 20 s
	Length    time.Duration // of a stream, after which the client resumes; default 1 h
}

// lastWrite is time for the last write after the length of a stream.
const lastWrite = time.Minute

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	a.Heartbeat, a.Length = cmp.Or(a.Heartbeat, 20*time.Second), cmp.Or(a.Length, time.Hour)
	return []web.Route{
		web.Get("/v1/account/events", a.listen, web.Resumed(a.Length+lastWrite), web.Tag("Account"),
			web.Summary("Changes of the account, as they happen"), web.Description(description()),
			web.ReturnsMedia([]string{"text/event-stream"}, web.Means("Server-sent events, until the client leaves"),
				web.SendsHeaders[streamHeaders]()),
			web.Refuses(http.StatusTooManyRequests, http.StatusServiceUnavailable)),
	}
}

func description() string {
	var parts []string
	for _, part := range changes.Parts {
		parts = append(parts, "`"+string(part)+"`")
	}
	return "Server-sent events that name the changed data: the event is " + strings.Join(parts, ", ") + ", or `" +
		string(changes.Reset) + "` for all of them, which comes first. The data is `{\"position\": \"…\"}`: a request " +
		"with this `x-recital-min-position` shows the change. Changes of one kind may be combined. The ids " +
		"resume the stream, on any instance. A stream ends after an hour, and when its API key or session does."
}

type streamHeaders struct {
	Buffering string `header:"x-accel-buffering" literal:"no" doc:"Makes proxies forward each event immediately."`
}

type listenInput struct {
	LastEventID string `header:"last-event-id" maxlen:"64" doc:"The id of the last received event. Browsers send it when they reconnect."`
	After       string `query:"after" maxlen:"64" doc:"The same for a first connection, because pages cannot set the header."`
}

func (a *API) listen(call *web.Call, in listenInput) (web.Reply, error) {
	stream, err := a.Changes.Listen(call.Principal.Account, cmp.Or(in.LastEventID, in.After))
	switch {
	case errors.Is(err, changes.ErrAccountStreams):
		return web.Reply{}, web.TooManyRequests("The account has too many open streams of events", tryLater)
	case err != nil:
		return web.Reply{}, &web.Error{
			Status: http.StatusServiceUnavailable, Message: "There are too many open streams of events", RetryAfter: tryLater,
		}
	}
	context.AfterFunc(call, stream.Close) // whether the reply is written or not
	write := func(ctx context.Context, w io.Writer) error { return a.write(ctx, w, stream) }
	web.SetHeaders(call, streamHeaders{Buffering: "no"})
	return web.Stream("text/event-stream", write).WithHeader("Cache-Control", "no-store"), nil
}

// tryLater is the time after which a refused client may connect again.
const tryLater = 10 * time.Second

// opening tells the browser to reconnect after this many milliseconds.
const opening = "retry: 2000\n\n"

// write writes changes until the stream reaches its maximum length. Then the client resumes.
func (a *API) write(ctx context.Context, w io.Writer, stream *changes.Stream) error {
	if _, err := io.WriteString(w, opening); err != nil {
		return err
	}
	for end := time.Now().Add(a.Length); ; {
		patience := min(a.Heartbeat, time.Until(end))
		if patience <= 0 {
			return nil
		}
		delivered, position, err := stream.Next(ctx, patience)
		if err != nil {
			return fmt.Errorf("waiting for changes: %w", err)
		}
		var out strings.Builder
		for _, change := range delivered {
			fmt.Fprintf(&out, "id: %s\nevent: %s\ndata: {\"position\":\"%[1]s\"}\n\n", change.Position, change.Part)
		}
		if len(delivered) == 0 {
			out.WriteString(":\n")
			if position != nil { // an id without data is no event, but moves the client on
				fmt.Fprintf(&out, "id: %s\n", position)
			}
			out.WriteString("\n")
		}
		if _, err := io.WriteString(w, out.String()); err != nil {
			return err
		}
	}
}
