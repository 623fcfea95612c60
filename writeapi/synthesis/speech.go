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
// somewhat too long gets a 422 that says so.
const maxBody = 256 << 10

// detailedTimeout bounds the time for all of the audio. Published clients wait a minute.
const detailedTimeout = time.Minute

// API serves speech.
type API struct {
	Synthesiser *synthesis.Synthesiser
	Links       links.Links
	// OpenAIVoices has the ids of system voices by the names that clients of OpenAI's interface use, in lower case.
	OpenAIVoices map[string]string
	// Catalogue has the voices that every account may speak with; nil has the system voices.
	Catalogue  *speech.Catalogue
	VoiceNames VoiceNames
}

// VoiceNames finds voices by their names.
type VoiceNames interface {
	// Named returns the ids of an account's own voices that have a name. The search is bounded: an account may have too
	// many voices for it, which is domain.Invalid.
	Named(ctx context.Context, account, name string) (ids []string, err error)
}

// Routes are the rows for the public route table.
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
			web.Description("The reply comes when all of the audio is made. It holds the audio in base64 and, on "+
				"request, the times of the words."), means, returnsRecording(), refuses),
		web.Get("/v1/ai/speech", a.bytes, web.As(request.Get()), web.Appends(), tag,
			web.Summary("Text to audio, streamed, all in the address"),
			web.Description("As `POST /v1/ai/speech/bytes`, for players that can only request an address. A session of a "+
				"browser is not accepted, because any page could use it."), web.KeyOnly(),
			means, returnsAudio(audio.MP3), refuses),
		web.Post("/speech/beta/synthesize", a.synthesizeBeta, web.As(request.Beta()), web.FormBody(), web.MaxBody(maxBody),
			tag,
			web.Summary("Text to audio, for clients of version 0"),
			web.Description("As `POST /v1/ai/speech/bytes`, with the parameters of version 0 and WAV as default."), means,
			returnsAudio(audio.WAV), refuses),
	}, a.openAI(), betaRest())
}

// bytes streams the audio while synthesis runs. The head is sent when the reservation is in the log, so that a refusal
// is a status, or with delay_headers when there is audio, so that a failure until then is one, too.
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

// synthesizeBeta answers the audio, WAV unless the client says otherwise.
func (a *API) synthesizeBeta(call *web.Call, in request.Speech) (web.Reply, error) {
	in.Language = request.Language{Engine: speech.AutoLanguage}
	return a.bytes(call, in)
}

// betaRest returns routes for all other addresses of the beta area, of which the interface does not tell the purpose.
func betaRest() []web.Route {
	type anything struct {
		Path string `path:"path" doc:"The rest of the address." example:"models"`
	}
	nothing := func(*web.Call, anything) (web.Reply, error) {
		return web.Reply{}, &web.Error{Status: http.StatusNotFound, Message: "Not Found", Detail: true}
	}
	options := []web.Option{web.Public(), web.AppendsNothing(), web.Tag("Speech"),
		web.Summary("Nothing: all other addresses of version 0"),
		web.Description("Always 404."), web.Refuses(404)}
	const path = "/speech/beta/{path:path}"
	return []web.Route{
		web.Get(path, nothing, options...), web.Put(path, nothing, options...),
		web.Post(path, nothing, options...), web.Delete(path, nothing, options...),
	}
}

// headers are the headers that are known before there is audio.
type headers struct {
	GenerationID  string  `header:"x-generation-id" doc:"Names the synthesis, for feedback."`
	ModelVersion  string  `header:"x-model-version" doc:"The model that speaks, with its version."`
	Seed          int64   `header:"x-seed" doc:"The seed that gives the same audio again."`
	ClipID        *string `header:"x-clip-id" doc:"The clip that the result is saved as, when \x60debug\x60 was asked for, or with a session; a reply in JSON has it only if the clip was saved."`
	TimestampsURL *string `header:"x-timestamps-url" format:"uri" doc:"Where the word times can be read, for 10 minutes after the audio has ended."`
	Warning       *string `header:"x-warning" doc:"What of the request could not be done in full."`

	// What the account has used in its period when all of the text is handed over, other replies under way included.
	CharacterCount      int64  `header:"x-character-count" ge:"0" doc:"The characters of the text: Unicode code points."`
	CharactersUsed      int64  `header:"x-characters-used" ge:"0" doc:"What the account has used in its period when all of this text is spoken."`
	CharactersLimit     *int64 `header:"x-characters-limit" ge:"0" doc:"What the plan permits in a period, where that is limited."`
	CharactersRemaining *int64 `header:"x-characters-remaining" ge:"0" doc:"What is left in the period, where that is limited."`

	ConcurrencyCurrent *int `header:"x-concurrency-current" ge:"0" doc:"How many syntheses of the account run now, where that is limited."`
	ConcurrencyLimit   *int `header:"x-concurrency-limit" ge:"0" doc:"How many may run at once, where that is limited."`
}

func (a *API) headers(call *web.Call, order synthesis.Synthesis, reply *synthesis.Reply) headers {
	allowance := reply.Allowance()
	h := headers{
		GenerationID: reply.ID(), ModelVersion: modelVersion(order.Model), Seed: reply.Seed(),
		ClipID: notEmpty(reply.Clip()), Warning: notEmpty(reply.Warning()),
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

func notEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// modelVersion is the model that speaks, with its version: the request may name one without.
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
	return web.ReturnsMedia(types, web.Means("The audio, sent while it is made"), web.SendsHeaders[headers]())
}

func returnsRecording() web.Option {
	return web.Returns[detailedResponse](web.Means("All of the audio"), web.SendsHeaders[headers](),
		web.Sends("x-recital-position"), web.MaySend("x-recital-stale"))
}

const (
	// busyPause is when a client that has too many syntheses at once should ask again: most last shorter.
	busyPause = time.Second
	// spoolPause is when there may be a place for a collected reply again, which slow clients hold for longer.
	spoolPause = 5 * time.Second
)

// explain puts what synthesis refuses into terms of HTTP. Other errors stay as they are.
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

// describe names the combination that is too long, and what would help.
func describe(e *synthesis.TooLongError) string {
	pace := fmt.Sprintf("at speed %g", e.Speed)
	if e.Length > 0 {
		pace = fmt.Sprintf("in %g seconds", e.Length)
	}
	return fmt.Sprintf("the reply would be larger than 256 MiB: %d characters %s, as %s of %d Hz; "+
		"shorten the text, speak faster, choose a smaller format or sample rate, or stream the audio", e.Characters, pace,
		e.Audio.Format, e.Audio.SampleRate)
}
