// Package synthesis serves the speech routes.
package synthesis

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/writeapi"
	"github.com/recital-tts/recital/writeapi/synthesis/request"
	"github.com/recital-tts/recital/writeapi/synthesis/stream"
)

// maxBody leaves room for 5,000 characters in any encoding, twice (text and original_text), so that a text that is
// somewhat too long gets a 422 that says so.
const maxBody = 256 << 10

// detailedTimeout is how long the whole of the audio may take. Published clients wait a minute.
const detailedTimeout = time.Minute

// API serves speech.
type API struct {
	Synthesiser *synthesis.Synthesiser
	Links       links.Links
}

// Routes are the rows for the public route table.
func (a *API) Routes() []web.Route {
	tag, means, refuses := web.Tag("Speech"), web.Meanings(request.Meanings()), web.Refuses(402, 404, 409, 429)
	sockets := stream.API{Synthesiser: a.Synthesiser}
	return slices.Concat(sockets.Routes(), []web.Route{
		web.Post("/v1/ai/speech/bytes", a.bytes, web.As(request.Post()), web.Forms(), web.MaxBody(maxBody), tag, web.Summary("Text to audio, streamed"),
			web.Description("The reply is the audio itself. It starts before all of the text is synthesised."),
			means, returnsAudio(audio.MP3), refuses),
		web.Post("/v1/ai/speech", a.detailed, web.As(request.Post()), web.Forms(), web.MaxBody(maxBody), web.Timeout(detailedTimeout), tag,
			web.Summary("Text to audio and word times, in JSON"),
			web.Description("The reply comes when all of the audio is made. It holds the audio in base64 and, on request, the times of the words."), means, returnsRecording(), refuses),
		web.Get("/v1/ai/speech", a.bytes, web.As(request.Get()), web.Appends(), tag, web.Summary("Text to audio, streamed, all in the address"),
			web.Description("As `POST /v1/ai/speech/bytes`, for players that can only request an address. A session of a browser is not accepted, because any page could use it."), web.KeyOnly(),
			means, returnsAudio(audio.MP3), refuses),
		web.Post("/speech/beta/synthesize", a.synthesizeBeta, web.As(request.Beta()), web.FormBody(), web.MaxBody(maxBody), tag,
			web.Summary("Text to audio, for clients of version 0"),
			web.Description("As `POST /v1/ai/speech/bytes`, with the parameters of version 0 and WAV as default."), means, returnsAudio(audio.WAV), refuses),
	}, betaRest())
}

// bytes streams the audio while synthesis runs. The head is sent when the reservation is in the log, so that a refusal is
// a status, or with delay_headers when there is audio, so that a failure until then is one, too.
func (a *API) bytes(call *web.Call, in request.Speech) (web.Reply, error) {
	order := in.WithSeed().Synthesis()
	order.KeepTimes = in.WantsTimes()
	reply, err := a.begin(call, order)
	if err != nil {
		return web.Reply{}, err
	}
	if in.DelayHeaders != nil && *in.DelayHeaders {
		if err := reply.AwaitAudio(call); err != nil {
			return web.Reply{}, err
		}
	}
	return web.Stream(order.Audio.Format.ContentType(), func(ctx context.Context, w io.Writer) error {
		return reply.Write(ctx, w)
	}), nil
}

// begin starts the synthesis for the caller and sets the headers that are known before there is audio.
func (a *API) begin(call *web.Call, order synthesis.Synthesis) (*synthesis.Reply, error) {
	order.Account, order.Plan = call.Principal.Account, plan.Type(call.Principal.Plan)
	order.Origin = writeapi.Origin(call.Caller).WithoutClient()
	reply, err := a.Synthesiser.Begin(call, order)
	if err != nil {
		return nil, explain(call, err)
	}
	web.SetHeaders(call, a.headers(call, order, reply))
	return reply, nil
}
