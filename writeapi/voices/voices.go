// Package voices serves the voices. At present these are the system's; voices of accounts will come with cloning.
package voices

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/recital-tts/recital/internal/links"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/internal/web/conditional"
)

// API serves voices.
type API struct {
	Previews Previews
	Links    links.Links
}

// Previews makes the previews of voices.
type Previews interface {
	// Preview returns the preview of a voice, as MP3.
	Preview(ctx context.Context, voice speech.Voice) ([]byte, error)
}

// Routes are the rows for the public route table.
func (a *API) Routes() []web.Route {
	tag := web.Tag("Voices")
	return []web.Route{
		web.Get("/v1/ai/voice/list", a.list, tag, web.Summary("The voices that the account can speak with"), web.Returns[[]voice]()),
		web.Get("/v1/ai/voice/{id}", a.get, tag, web.Summary("One voice"), web.Returns[voice](), web.Refuses(404)),
		web.Get("/v1/ai/voice/{id}/preview", a.preview, web.Public(), tag, web.Summary("How a voice sounds, MP3"),
			web.ReturnsMedia([]string{"audio/mpeg"}, web.Sends("etag", "cache-control")), web.ReturnsNothing(304, web.Sends("etag")), web.Refuses(404)),
		web.Get("/speech/beta/voices", a.beta, tag, web.Summary("The voices by id, for clients of version 0"), web.Returns[betaResponse]()),
	}
}

// voice is the documented Voice.
type voice struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	State       string   `json:"state" literal:"preparing,pending,training,ready,broken,cancelled"`
	Owner       string   `json:"owner" literal:"system,me,all"`
	Type        string   `json:"type" literal:"instant,professional,intrinsic"`
	Description string   `json:"description" nullable:"true"`
	Gender      string   `json:"gender" nullable:"true"`
	Starred     bool     `json:"starred" nullable:"true"`
	Tags        []string `json:"tags" nullable:"true"`
	PreviewURL  string   `json:"preview_url" nullable:"true" format:"uri" minlen:"1"`
}

func (a *API) show(call *web.Call, v speech.Voice) voice {
	return voice{
		ID: v.ID, Name: v.Name, State: "ready", Owner: "system", Type: "intrinsic", Description: v.Description, Gender: v.Gender,
		Tags: []string{}, PreviewURL: a.Links.VoicePreview(call.Header("Host"), v.ID),
	}
}

type listRequest struct {
	Starred *bool  `query:"starred" doc:"only starred voices"`
	Owner   string `query:"owner" default:"all" maxlen:"64" values:"system,me,all" doc:"whose voices; several with commas, too"`
}

// list gives the system voices. Nobody has voices of their own or stars yet: so starred=true and owner=me find none.
// starred=false is no filter, because clients send it by default.
func (a *API) list(call *web.Call, in listRequest) (web.Reply, error) {
	owners := strings.Split(in.Owner, ",")
	for _, owner := range owners {
		if !slices.Contains([]string{"system", "me", "all"}, owner) {
			return web.Reply{}, web.Invalid(web.Item{
				Type: "literal_error", Loc: []any{"query", "owner"}, Msg: "Input should be 'system', 'me' or 'all'",
				Ctx: map[string]any{"expected": "'system', 'me' or 'all'"},
			})
		}
	}
	found := []voice{}
	if in.Starred != nil && *in.Starred || !slices.Contains(owners, "system") && !slices.Contains(owners, "all") {
		return web.JSON(found), nil
	}
	for _, v := range speech.Voices() {
		found = append(found, a.show(call, v))
	}
	return web.JSON(found), nil
}

type voiceRequest struct {
	ID string `path:"id" maxlen:"64"`
}

func (a *API) get(call *web.Call, in voiceRequest) (web.Reply, error) {
	v, err := speech.FindVoice(in.ID)
	if err != nil {
		return web.Reply{}, err
	}
	return web.JSON(a.show(call, v)), nil
}

// preview needs no key: browsers play it from the address alone.
func (a *API) preview(call *web.Call, in voiceRequest) (web.Reply, error) {
	v, err := speech.FindVoice(in.ID)
	if err != nil {
		return web.Reply{}, err
	}
	sound, err := a.Previews.Preview(call, v)
	if err != nil {
		return web.Reply{}, err
	}
	sum := sha256.Sum256(sound)
	content := web.Content{
		Tag: `"` + hex.EncodeToString(sum[:16]) + `"`, CacheControl: "public, max-age=86400", Size: int64(len(sound)),
		Body: func(conditional.Part) (web.Reply, error) { return web.Bytes("audio/mpeg", sound), nil },
	}
	return content.Serve(call, conditional.Headers{IfNoneMatch: call.Header("If-None-Match")})
}

type betaResponse struct {
	Voices map[string]voice `json:"voices"`
}

func (a *API) beta(call *web.Call, _ struct{}) (web.Reply, error) {
	response := betaResponse{Voices: map[string]voice{}}
	for _, v := range speech.Voices() {
		response.Voices[v.ID] = a.show(call, v)
	}
	return web.JSON(response), nil
}
