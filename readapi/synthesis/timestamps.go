// Package synthesis serves data about a synthesis after its reply.
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

// API serves the word times of audio-only replies, by the address in their headers. It uses no read model: see package
// wordtimes.
type API struct {
	Times *wordtimes.Store
	Links links.Links
	// LongestReply is the maximum time between the headers and the end of a reply.
	LongestReply time.Duration
	Now          func() time.Time
}

// Routes returns the rows for the public route table. The address of word times is enough to read them.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Get("/v1/ai/speech/timestamps/{id}", a.read, web.Public(), web.Tag("Speech"),
			web.Summary("The word times of a reply, by the address in its header x-timestamps-url"),
			web.Description("The signature in the address replaces a credential. Until the audio has ended, and from "+
				"10 minutes after that, the reply is a 404."),
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
	Duration float64 `json:"duration" doc:"The duration in seconds."`
}

// read verifies the signature first, so that the ids of word times cannot be probed. Word times contain a caller's
// text, so no cache may keep them.
func (a *API) read(call *web.Call, in struct {
	ID        string `path:"id" doc:"The id of the speech, as in the address." example:"01JB2K9V3N8QWX4T6Z0Y5R7M1C"`
	Signature string `query:"sig" required:"true" doc:"The signature, as in the address." example:"c2lnbmF0dXJl"`
}) (web.Reply, error) {
	call.SetHeader("Cache-Control", "no-store")
	if !a.Links.Verify(links.WordTimes, in.ID, in.Signature) {
		return web.Reply{}, domain.Refuse(domain.Denied, "The signature is not valid for these word times")
	}
	times, err := a.Times.Find(call, in.ID)
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

// missing returns the error for missing word times. While the audio may still be under way, the client should try
// again.
func (a *API) missing(id string) error {
	drawn, _ := wordtimes.Drawn(id)
	if a.Now().Sub(drawn) >= a.LongestReply {
		return &web.Error{Status: http.StatusNotFound,
			Message: "The word times have expired: they can be read for 10 minutes"}
	}
	again := true
	return &web.Error{
		Status: http.StatusNotFound, Message: "There are no word times yet: they can be read from the end of the " +
			"audio on, for 10 minutes",
		RetryAfter: time.Second, Retry: &again,
	}
}
