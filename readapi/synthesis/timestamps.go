// Package synthesis serves what can be read about a synthesis after its reply.
package synthesis

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/speech/wordtimes"
)

// API serves the word times of replies that are audio alone, by the address in their headers. It reads no read model:
// see package wordtimes.
type API struct {
	Shelf *wordtimes.Store
	Links links.Links
	// LongestReply is how long after its headers a reply may still come to its end.
	LongestReply time.Duration
	Now          func() time.Time
}

// Routes returns the rows for the public route table. Who has the address may read what it leads to.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Get("/v1/ai/speech/timestamps/{id}", a.read, web.Public(), web.Tag("Speech"),
			web.Summary("The word times of a reply, by the address in its header x-timestamps-url"),
			web.Description("The signature in the address admits, so no credential is needed. Until the audio has ended, and "+
				"10 minutes after it, the reply is a 404."),
			web.Returns[timestampsResponse](web.Sends("cache-control")), web.Refuses(403, 404)),
	}
}

// timestampsResponse has the list under the names of both dialects.
type timestampsResponse struct {
	Timestamps []timing `json:"timestamps" doc:"The word times."`
	Durations  []timing `json:"durations" doc:"The same list, under the name of version 1.0."`
}

type timing struct {
	Text     string  `json:"text" doc:"A word, white space or punctuation; empty for the silence at the start and the end."`
	Start    float64 `json:"start" doc:"Seconds from the start of the audio."`
	Duration float64 `json:"duration" doc:"Seconds that it lasts."`
}

// read verifies the signature first, so that nobody learns which word times exist. They hold a caller's text, so no
// cache may keep them.
func (a *API) read(call *web.Call, in struct {
	ID        string `path:"id" doc:"The id of the speech, as in the address." example:"01JB2K9V3N8QWX4T6Z0Y5R7M1C"`
	Signature string `query:"sig" required:"true" doc:"The signature, as in the address." example:"c2lnbmF0dXJl"`
}) (web.Reply, error) {
	call.SetHeader("Cache-Control", "no-store")
	if !a.Links.Verify(links.WordTimes, in.ID, in.Signature) {
		return web.Reply{}, domain.Refuse(domain.Denied, "The address is not one that was given out for word times")
	}
	times, err := a.Shelf.Find(call, in.ID)
	if errors.Is(err, wordtimes.ErrNotFound) {
		return web.Reply{}, a.missing(in.ID)
	}
	if err != nil {
		return web.Reply{}, fmt.Errorf("reading word times: %w", err)
	}
	list := make([]timing, len(times))
	for i, one := range times {
		list[i] = timing(one)
	}
	return web.JSON(timestampsResponse{Timestamps: list, Durations: list}), nil
}

// missing returns the error for word times that are not there. While the audio may still be under way, the client
// should try again.
func (a *API) missing(id string) error {
	drawn, _ := wordtimes.Drawn(id)
	if a.Now().Sub(drawn) >= a.LongestReply {
		return &web.Error{Status: http.StatusNotFound,
			Message: "There are no word times any more: they can be read for 10 minutes"}
	}
	again := true
	return &web.Error{
		Status: http.StatusNotFound, Message: "There are no word times here: they come when the audio has " +
			"ended, and go after 10 minutes",
		RetryAfter: time.Second, Retry: &again,
	}
}
