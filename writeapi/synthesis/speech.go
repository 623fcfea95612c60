// Package synthesis serves the speech routes.
package synthesis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/speech"
	port "github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/writeapi"
	"github.com/recital-tts/recital/writeapi/synthesis/request"
	"github.com/recital-tts/recital/writeapi/synthesis/stream"
)

// maxBody leaves room for 5,000 characters in any encoding, twice (text and original_text), so that a text that is
// somewhat too long gets a 422 with that reason.
const maxBody = 256 << 10

// detailedTimeout bounds the time for all of the audio. Published clients wait a minute.
const detailedTimeout = time.Minute

// API serves speech.
type API struct {
	Synthesiser *synthesis.Synthesiser
	Links       links.Links
	// OpenAIVoices maps the names that clients of OpenAI's interface use, in lower case, to ids of system voices.
	OpenAIVoices map[string]string
	// Catalogue has the voices that every account may use; nil means the system voices.
	Catalogue  *speech.Catalogue
	VoiceNames VoiceNames
}

// VoiceNames finds voices by their names.
type VoiceNames interface {
	// Named returns the ids of an account's own voices with a name. The search is bounded: it returns domain.Invalid for
	// an account with too many voices.
	Named(ctx context.Context, account, name string) (ids []string, err error)
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	tag, means, refuses := web.Tag("Speech"), web.Meanings(request.Meanings()), web.Refuses(402, 404, 409, 429)
	sockets := stream.API{Synthesiser: a.Synthesiser}
	return slices.Concat(sockets.Routes(), []web.Route{
		web.Post("/v1/ai/speech/bytes", a.bytes, web.As(request.Post()), web.Forms(), web.MaxBody(maxBody), tag,
			web.Summary("Text to audio, streamed"),
			web.Description("The reply is the audio itself. It starts before all of the text is synthesised."),
			means, returnsAudio(audio.MP3), refuses),
		web.Post("/v1/ai/speech", a.detailed, web.As(request.Post()), web.Forms(), web.MaxBody(maxBody),
			web.Timeout(detailedTimeout), tag,
			web.Summary("Text to audio and word times, in JSON"),
			web.Description("The reply is sent when the audio is complete. It has the audio in base64 and, on "+
				"request, the times of the words."), means, returnsRecording(), refuses),
		web.Get("/v1/ai/speech", a.bytes, web.As(request.Get()), web.Appends(), tag,
			web.Summary("Text to audio, streamed, all in the address"),
			web.Description("As `POST /v1/ai/speech/bytes`, for players that can only request an address. Sessions of "+
				"browsers are not accepted, because any page could use them."), web.KeyOnly(),
			means, returnsAudio(audio.MP3), refuses),
		web.Post("/speech/beta/synthesize", a.synthesizeBeta, web.As(request.Beta()), web.FormBody(), web.MaxBody(maxBody),
			tag,
			web.Summary("Text to audio, for clients of version 0"),
			web.Description("As `POST /v1/ai/speech/bytes`, with the parameters of version 0 and WAV as default."), means,
			returnsAudio(audio.WAV), refuses),
	}, a.openAI(), betaRest())
}

// bytes streams the audio while synthesis runs. The head is sent when the reservation is in the log, so that a refusal
// is a status, or with delay_headers when the first audio is available, so that an earlier failure is one, too.
func (a *API) bytes(call *web.Call, in request.Speech) (web.Reply, error) {
	order := in.WithSeed().Synthesis()
	order.StoreTimes = in.WantsTimes()
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

// begin starts the synthesis for the caller and sets the headers that are known before the audio.
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

// synthesizeBeta replies with the audio, by default as WAV.
func (a *API) synthesizeBeta(call *web.Call, in request.Speech) (web.Reply, error) {
	in.Language = request.Language{Engine: speech.AutoLanguage}
	return a.bytes(call, in)
}

// betaRest returns routes for all other addresses of the beta area. The interface does not specify their purpose.
func betaRest() []web.Route {
	type anything struct {
		Path string `path:"path" doc:"The rest of the address." example:"models"`
	}
	nothing := func(*web.Call, anything) (web.Reply, error) {
		return web.Reply{}, &web.Error{Status: http.StatusNotFound, Message: "Not Found", Detail: true}
	}
	options := []web.Option{web.Public(), web.AppendsNothing(), web.Tag("Speech"),
		web.Summary("All other addresses of version 0"),
		web.Description("Always 404."), web.Refuses(404)}
	const path = "/speech/beta/{path:path}"
	return []web.Route{
		web.Get(path, nothing, options...), web.Put(path, nothing, options...),
		web.Post(path, nothing, options...), web.Delete(path, nothing, options...),
	}
}

// headers are the headers that are known before the audio.
type headers struct {
	GenerationID  string  `header:"x-generation-id" doc:"The id of the synthesis, for feedback."`
	ModelVersion  string  `header:"x-model-version" doc:"The model that speaks, with its version."`
	Seed          int64   `header:"x-seed" doc:"The seed with which the audio can be reproduced."`
	ClipID        *string `header:"x-clip-id" doc:"The id of the clip in which the result is saved, with \x60debug\x60 or a session; a reply in JSON has it only if the clip was saved."`
	TimestampsURL *string `header:"x-timestamps-url" format:"uri" doc:"Where the word times can be read, for 10 minutes after the audio has ended."`
	Warning       *string `header:"x-warning" doc:"The parts of the request that could not be fulfilled."`

	// Usage of the account's period if all of the text is delivered, including other replies in progress.
	CharacterCount      int64  `header:"x-character-count" ge:"0" doc:"The characters of the text: Unicode code points."`
	CharactersUsed      int64  `header:"x-characters-used" ge:"0" doc:"The usage of the period if all of this text is spoken."`
	CharactersLimit     *int64 `header:"x-characters-limit" ge:"0" doc:"The plan's characters in a period, if limited."`
	CharactersRemaining *int64 `header:"x-characters-remaining" ge:"0" doc:"The remaining characters in the period, if limited."`

	ConcurrencyCurrent *int `header:"x-concurrency-current" ge:"0" doc:"The number of concurrent syntheses of the account, if limited."`
	ConcurrencyLimit   *int `header:"x-concurrency-limit" ge:"0" doc:"The maximum of concurrent syntheses, if limited."`
}

func (a *API) headers(call *web.Call, order synthesis.Synthesis, reply *synthesis.Reply) headers {
	allowance := reply.Allowance()
	h := headers{
		GenerationID: reply.ID(), ModelVersion: modelVersion(order.Model), Seed: reply.Seed(),
		ClipID: writeapi.OrNull(reply.Clip()), Warning: writeapi.OrNull(reply.Warning()),
		CharacterCount: reply.Characters(), CharactersUsed: allowance.Settled + allowance.Reserved,
	}
	if id := reply.WordTimes(); id != "" {
		h.TimestampsURL = new(a.Links.WordTimes(call.Header("Host"), id))
	}
	if remaining, limited := allowance.Remaining(); limited {
		h.CharactersLimit, h.CharactersRemaining = allowance.Limit, &remaining
	}
	if current, limit := reply.Concurrency(); limit > 0 {
		h.ConcurrencyCurrent, h.ConcurrencyLimit = &current, &limit
	}
	return h
}

// modelVersion returns the model that speaks, with its version, which the request may omit.
func modelVersion(model string) string {
	switch model {
	case "":
		return port.ModelAurora
	case port.ModelBlizzard:
		return port.ModelBlizzard21
	}
	return model
}

// returnsAudio declares the headers and the content types of the formats, the default first.
func returnsAudio(byDefault audio.Format) web.Option {
	types := []string{byDefault.ContentType()}
	for _, format := range audio.Formats() {
		types = append(types, format.ContentType())
	}
	return web.ReturnsMedia(types, web.Means("The audio, sent during the synthesis"), web.SendsHeaders[headers]())
}

func returnsRecording() web.Option {
	return web.Returns[detailedResponse](web.Means("All of the audio"), web.SendsHeaders[headers](),
		web.Sends("x-recital-position"), web.MaySend("x-recital-stale"))
}

const (
	// busyPause is the pause suggested to a client with too many concurrent syntheses: most are shorter.
	busyPause = time.Second
	// spoolPause is the pause suggested if the spool is full. Slow clients occupy it for longer.
	spoolPause = 5 * time.Second
)

// explain translates refusals of synthesis for HTTP. Other errors are returned unchanged.
func explain(call *web.Call, err error) error {
	var busy *synthesis.BusyError
	var tooLong *synthesis.TooLongError
	var markup *port.MarkupError
	switch {
	case errors.As(err, &markup):
		return call.Invalid("text", markup.Error())
	case errors.As(err, &busy):
		return web.TooManyRequests("The plan permits "+strconv.Itoa(busy.Limit)+" syntheses at once", busyPause)
	case errors.As(err, &tooLong):
		return call.Invalid("text", describe(tooLong))
	case errors.Is(err, synthesis.ErrNoShare):
		return web.TooManyRequests("Too many clips and replies in JSON of the account are being made, or wait to be read",
			spoolPause)
	case errors.Is(err, synthesis.ErrNoRoom):
		return &web.Error{Status: http.StatusServiceUnavailable, Message: "Too many clips and replies in JSON are being " +
			"made, or wait to be read", RetryAfter: spoolPause}
	}
	return err
}

// describe returns the combination that is too large, and possible remedies.
func describe(e *synthesis.TooLongError) string {
	pace := fmt.Sprintf("at speed %g", e.Speed)
	if e.Length > 0 {
		pace = fmt.Sprintf("in %g seconds", e.Length)
	}
	return fmt.Sprintf("the reply would be larger than 256 MiB: %d characters %s, as %s of %d Hz; "+
		"shorten the text, speak faster, choose a smaller format or sample rate, or stream the audio", e.Characters, pace,
		e.Audio.Format, e.Audio.SampleRate)
}
