package web

import (
	"net/http"

	"github.com/recital-tts/recital/internal/http/web/conditional"
)

// Content is a body that clients may keep, and send back conditions about.
type Content struct {
	Tag          string // the entity tag, in quotes: the same for the same bytes
	CacheControl string
	Size         int64 // in bytes
	Ranges       bool  // parts can be asked for
	// Body returns the reply with a part of the body: all of it unless Ranges is set. An error takes its place.
	Body func(conditional.Part) (Reply, error)
}

// Serve replies with what the conditions of the request ask for: the body, a part of it (206), that the client has it
// (304), or that it has no such part (416).
func (c Content) Serve(call *Call, given conditional.Headers) (Reply, error) {
	call.SetHeader("ETag", c.Tag)
	call.SetHeader("Cache-Control", c.CacheControl)
	if c.Ranges {
		call.SetHeader("Accept-Ranges", "bytes")
	}
	if given.Matches(c.Tag) {
		return Reply{}.WithStatus(http.StatusNotModified), nil
	}
	if !c.Ranges {
		return c.Body(conditional.Part{Length: c.Size})
	}
	part, partial, err := given.Part(c.Tag, c.Size)
	if err != nil {
		call.SetHeader("Content-Range", conditional.Unsatisfied(c.Size))
		return Reply{}, &Error{Status: http.StatusRequestedRangeNotSatisfiable, Message: "There is no such range"}
	}
	reply, err := c.Body(part)
	if partial {
		reply = reply.WithStatus(http.StatusPartialContent).WithHeader("Content-Range", part.ContentRange(c.Size))
	}
	return reply, err
}
