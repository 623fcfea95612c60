// Package speech serves the speech routes.
package speech

import (
	"context"
	"encoding/base64"
	"io"
	"math/rand/v2"
	"strconv"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/internal/audio"
	port "github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/writeapi"
)

// maxBody leaves room for 5,000 characters in any encoding, twice (text and original_text), so that a text that is
// somewhat too long is told so.
const maxBody = 256 << 10

// API serves speech.
type API struct {
	Synthesiser *commands.Synthesiser
}

// Routes are the rows for the public route table.
func (a *API) Routes() []web.Route {
	tag := web.Tag("Speech")
	return []web.Route{
		web.Post("/v1/ai/speech/bytes", a.bytes, web.Forms(), web.MaxBody(maxBody), tag, web.Summary("Text to audio, streamed")),
		web.Post("/v1/ai/speech", a.detailed, web.Forms(), web.MaxBody(maxBody), tag,
			web.Summary("Text to audio and word times, in JSON")),
	}
}

// bytes streams the audio while synthesis runs. The head waits for the reservation, so that a refusal is a status.
func (a *API) bytes(call *web.Call, in request) (web.Reply, error) {
	reply, format, err := a.begin(call, in)
	if err != nil {
		return web.Reply{}, err
	}
	return web.Stream(format.ContentType(), func(ctx context.Context, w io.Writer) error {
		return reply.Write(ctx, w)
	}), nil
}

type detailedResponse struct {
	Audio      string        `json:"audio"` // base64
	Seed       int64         `json:"seed"`
	Durations  []port.Timing `json:"durations,omitempty"`  // dialect 1.0
	Timestamps []port.Timing `json:"timestamps,omitempty"` // dialect 1.1: the same list
}

// detailed answers when all of the audio is there.
func (a *API) detailed(call *web.Call, in request) (web.Reply, error) {
	reply, _, err := a.begin(call, in)
	if err != nil {
		return web.Reply{}, err
	}
	recording, err := reply.Whole(call)
	if err != nil {
		return web.Reply{}, err
	}
	call.SetPosition(recording.Position.String())
	if recording.Stale {
		call.SetStale()
	}
	response := detailedResponse{Audio: base64.StdEncoding.EncodeToString(recording.Audio), Seed: in.seed()}
	if in.wantsTimes() {
		response.Durations, response.Timestamps = recording.Timings, recording.Timings
	}
	return web.JSON(response), nil
}

func (a *API) begin(call *web.Call, in request) (*commands.Reply, audio.Format, error) {
	order, err := in.synthesis()
	if err != nil {
		return nil, "", err
	}
	order.Account = call.Principal.Account
	order.Actor = writeapi.ActorOf(call.Principal)
	reply, err := a.Synthesiser.Begin(call, order)
	if err != nil {
		return nil, "", err
	}
	call.SetHeader("x-generation-id", reply.ID())
	call.SetHeader("x-character-count", strconv.FormatInt(reply.Characters(), 10))
	return reply, order.Audio.Format, nil
}

// seed is the one that the client asked for, or one to ask for the same audio again.
func (r request) seed() int64 {
	if r.Seed != nil {
		return *r.Seed
	}
	return int64(rand.Int32())
}
