package synthesis

import (
	"context"
	"io"
	"strings"

	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/writeapi/synthesis/request"
)

// openAI returns the routes of OpenAI's interface, which is another dialect of bytes.
func (a *API) openAI() []web.Route {
	tag := web.Tag("OpenAI-compatible")
	return []web.Route{
		web.Post("/v1/audio/speech", a.speakOpenAI, web.OpenAIRoute(), web.MaxBody(maxBody), tag,
			web.Summary("Text to audio, streamed, for OpenAI's clients"),
			web.Description("As `POST /v1/ai/speech/bytes`. Unsupported parts of the request are named in `x-warning`."),
			returnsOpenAIAudio(), web.Refuses(402, 404, 409, 429)),
		web.Get("/v1/models", models, web.OpenAIRoute(), tag,
			web.Summary("The models, for OpenAI's clients"),
			web.Description("The values of the parameter `model`, the default first."),
			web.Returns[modelList](web.Means("All models"))),
	}
}

func returnsOpenAIAudio() web.Option {
	types := []string{
		audio.MP3.ContentType(), audio.OggOpus.ContentType(), audio.AAC.ContentType(), audio.FLAC.ContentType(),
		audio.WAV.ContentType(), request.PCMType, eventStream,
	}
	return web.ReturnsMedia(types, web.Means("The audio, or events with its pieces, sent during the synthesis"),
		web.SendsHeaders[headers]())
}

// speakOpenAI serves a request in OpenAI's terms like bytes.
func (a *API) speakOpenAI(call *web.Call, in request.OpenAI) (web.Reply, error) {
	id, err := a.openAIVoice(call, in)
	if err != nil {
		return web.Reply{}, err
	}
	translated, warnings := in.Speech(id)
	reply, err := a.begin(call, translated.WithSeed().Synthesis())
	if err != nil {
		return web.Reply{}, err
	}
	if own := reply.Warning(); own != "" {
		warnings = append(warnings, own)
	}
	if len(warnings) > 0 {
		call.SetHeader("x-warning", strings.Join(warnings, "; "))
	}
	if in.StreamFormat == "sse" {
		return web.Stream(eventStream, func(ctx context.Context, w io.Writer) error {
			return writeEvents(ctx, w, reply)
		}), nil
	}
	return web.Stream(in.ContentType(), func(ctx context.Context, w io.Writer) error {
		return reply.Write(ctx, w)
	}), nil
}

// openAIVoice returns the id of the voice that a client names: a system voice takes precedence over an own voice. An
// unknown name is returned as it is.
func (a *API) openAIVoice(call *web.Call, in request.OpenAI) (string, error) {
	if id := in.SystemVoice(a.OpenAIVoices, a.Catalogue); id != "" {
		return id, nil
	}
	if voice.ValidID(in.Voice) {
		return in.Voice, nil
	}
	ids, err := a.VoiceNames.Named(call, call.Principal.Account, in.Voice)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return in.Voice, nil
	case len(ids) > 1:
		return "", call.Invalid("voice", "several voices of the account have this name: use the id of one")
	}
	return ids[0], nil
}

type modelList struct {
	Object string  `json:"object" literal:"list" doc:"Always \x60list\x60."`
	Data   []model `json:"data" doc:"The models."`
}

type model struct {
	ID      string `json:"id" doc:"The id of the model, for the parameter model."`
	Object  string `json:"object" literal:"model" doc:"Always \x60model\x60."`
	Created int64  `json:"created" doc:"When version 1 of the models was published, in seconds since 1970."`
	OwnedBy string `json:"owned_by" doc:"Always \x60recital\x60."`
}

// modelsCreated is the start of 22 November 2026, UTC.
const modelsCreated = 1795305600

func models(*web.Call, struct{}) (web.Reply, error) {
	list := modelList{Object: "list"}
	for _, id := range speech.Models() {
		list.Data = append(list.Data, model{ID: id, Object: "model", Created: modelsCreated, OwnedBy: "recital"})
	}
	return web.JSON(list), nil
}
