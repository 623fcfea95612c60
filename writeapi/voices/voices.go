// Package voices serves the routes that change voices, and their previews.
package voices

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"

	"github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/conditional"
	"github.com/recital-tts/recital/internal/http/web/quota"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/precheck"
	shown "github.com/recital-tts/recital/internal/speech/voices"
	"github.com/recital-tts/recital/writeapi"
)

// API creates and changes voices, serves their previews, and checks recordings before a voice is made from them.
type API struct {
	Voices     *voices.Voices
	Previews   Previews // of the system voices
	Shower     shown.Shower
	Links      links.Links
	ReadModels writeapi.ReadModels
	MaxUpload  int64 // bytes of a request with recordings
	Checker    precheck.Checker
	Places     *quota.Budget // of concurrent checks, of each address
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	// GET /v1/account counts voices in the read model of accounts.
	tag, waits := web.Tag("Voices"), web.ReadModels(readmodel.Voices, readmodel.Account)
	sends := web.Sends("accept-ranges", "etag", "cache-control")
	mp3 := []string{"audio/mpeg"}
	return []web.Route{
		web.Put("/v1/ai/voice/{id}", a.update, web.FreeChange(), web.AnyContentType(), waits, tag,
			web.Summary("Change the description of a voice, or star it"),
			web.Description("Only the fields in the body are changed. A system voice can only be starred: a request with "+
				"`starred` succeeds, and ignores its other fields; one without returns 403."),
			web.Returns[updateVoiceResponse](), web.Refuses(400, 403, 404)),
		web.Delete("/v1/ai/voice/{id}", a.remove, waits, tag, web.Summary("Delete a voice permanently"),
			web.Description("The work on it ends, and its recordings are erased."),
			web.Returns[deleteVoiceResponse](), web.Refuses(403, 404)),
		web.Get("/v1/ai/voice/{id}/preview", a.preview, web.Optional(), tag, web.Summary("A preview of a voice, as MP3"),
			web.Description("The preview of a system voice is public. The preview of an account's voice is "+
				"available to its owner and to clients with its `preview_url`."),
			web.ReturnsMedia(mp3, sends), web.ReturnsMedia(mp3, web.Status(206), sends, web.Sends("content-range")),
			web.ReturnsNothing(304, sends), web.Refuses(404, 409, 416)),
		web.Post("/v1/ai/voice/{id}/preview/invalidate", a.invalidatePreview, web.FreeChange(), waits, tag,
			web.Summary("Re-render the preview of a voice"),
			web.Description("The stored preview is dropped, and rendered again."),
			web.Returns[writeapi.SuccessResponse](), web.Refuses(403, 404)),
		web.Post("/v1/ai/voice", a.creator(), web.Uploads(a.MaxUpload), web.Before(a.room), web.MaxBody(maxFields),
			web.Timeout(createTimeout), web.FreeChange(), waits, tag, web.Summary("A voice made from recordings"),
			web.Description(description),
			web.Returns[shown.Voice](web.Sends("x-recital-position"), web.MaySend("x-recital-stale")),
			web.Refuses(400, 402, 404, 408, 409)),
		web.Post("/v1/ai/voice/precheck", a.precheck, web.AppendsNothing(), web.Uploads(a.MaxUpload), web.MaxBody(maxFields),
			web.Timeout(precheckTimeout), tag, web.Summary("Check whether a recording is suitable for a voice"),
			web.Description("The recording is not stored. `dnsmos` is an estimate of the mean opinion score, 1 to 5; `start_s` and "+
				"`end_s` are where the speech begins and ends. `x-warning` is sent if no good voice can be made from a "+
				"recording, because it has no speech, sounds like music, or has noise that `enhance` would not remove."),
			web.Returns[precheckCloneResponse](web.SendsHeaders[precheckHeaders]()),
			web.Refuses(http.StatusRequestTimeout, http.StatusTooManyRequests)),
	}
}

type voiceRequest struct {
	ID string `path:"id" doc:"The id of the voice." example:"leah"`
}

// show returns a voice of the caller's account, or of the system.
func (a *API) show(call *web.Call, v voices.Voice) (shown.Voice, error) {
	host, account := call.Header("Host"), call.Principal.Account
	if v.State.Phase == "" {
		var starred []string
		if v.Starred {
			starred = []string{v.ID}
		}
		system := a.Shower.System(host, starred)
		return system[slices.IndexFunc(system, func(s shown.Voice) bool { return s.ID == v.ID })], nil
	}
	return a.Shower.Owned(call, host, shown.Owned{
		ID: v.ID, Account: account, Type: string(v.State.Type), State: string(v.State.Phase), Reason: v.State.Message,
		Sealed: v.State.Sealed, Starred: v.Starred,
	})
}

type deleteVoiceResponse struct {
	Success bool `json:"success" doc:"Always true."`
}

func (a *API) remove(call *web.Call, in voiceRequest) (web.Reply, error) {
	position, err := a.Voices.Delete(call, call.Principal.Account, in.ID, writeapi.Origin(call.Caller))
	return writeapi.Visible(call, a.ReadModels, deleteVoiceResponse{Success: true}, position, err)
}

// updateVoiceRequest has the changed fields of a voice: null changes none, and an empty text clears one.
type updateVoiceRequest struct {
	voiceRequest
	Name        *string  `body:"name" maxlen:"200" doc:"The new name."`
	Description *string  `body:"description" maxlen:"5000" doc:"The new description."`
	Gender      *string  `body:"gender" maxlen:"64" doc:"The new gender."`
	Starred     *bool    `body:"starred" doc:"The only field that applies to a system voice." example:"true"`
	Tags        []string `body:"tags" maxitems:"100" maxlen:"64" nullable:"true" doc:"At most 100, of at most 64 characters each."`
}

type updateVoiceResponse struct {
	Voice shown.Voice `json:"voice" doc:"The voice after the change."`
}

func (a *API) update(call *web.Call, in updateVoiceRequest) (web.Reply, error) {
	change := voices.Change{Name: in.Name, Description: in.Description, Gender: in.Gender, Starred: in.Starred}
	if in.Tags != nil {
		change.Tags = &in.Tags
	}
	updated, err := a.Voices.Update(call, call.Principal.Account, in.ID, change, writeapi.Origin(call.Caller))
	if err != nil {
		return web.Reply{}, err
	}
	response := updateVoiceResponse{}
	response.Voice, err = a.show(call, updated)
	return writeapi.Visible(call, a.ReadModels, response, updated.Position, err)
}

// Previews renders the previews of the system voices.
type Previews interface {
	// Preview returns the preview of a voice, as MP3.
	Preview(ctx context.Context, voice speech.Voice) ([]byte, error)
}

type previewRequest struct {
	voiceRequest
	Signature string `query:"sig" doc:"As in preview_url."`
	conditional.Headers
}

// preview serves a preview to any player that has only its address.
func (a *API) preview(call *web.Call, in previewRequest) (web.Reply, error) {
	if system, found := a.Shower.Catalogue.Lookup(in.ID); found {
		sound, err := a.Previews.Preview(call, system)
		if err != nil {
			return web.Reply{}, err
		}
		sum := sha256.Sum256(sound)
		return play(call, in.Headers, sound, hex.EncodeToString(sum[:]), "public, max-age=86400")
	}
	listener := call.Principal.Account
	switch {
	case a.Links.Verify(links.VoicePreview, in.ID, in.Signature):
		listener = "" // any client with the address
	case listener == "":
		_, err := a.Shower.Catalogue.Find(in.ID)
		return web.Reply{}, err
	}
	sound, err := a.Voices.Preview(call, listener, in.ID)
	if err != nil {
		return web.Reply{}, err
	}
	// a deleted voice must not be played from a cache
	return play(call, in.Headers, sound.Audio, sound.SHA256, "private, no-cache")
}

func play(call *web.Call, given conditional.Headers, sound []byte, sha256, cacheControl string) (web.Reply, error) {
	content := web.Content{
		Tag: `"` + sha256[:32] + `"`, CacheControl: cacheControl, Size: int64(len(sound)), Ranges: true,
		Body: func(part conditional.Part) (web.Reply, error) {
			return web.Bytes("audio/mpeg", sound[part.Offset:part.Offset+part.Length]), nil
		},
	}
	return content.Serve(call, given)
}

func (a *API) invalidatePreview(call *web.Call, in voiceRequest) (web.Reply, error) {
	position, err := a.Voices.InvalidatePreview(call, call.Principal.Account, in.ID, writeapi.Origin(call.Caller))
	return writeapi.Done(call, a.ReadModels, position, err)
}
