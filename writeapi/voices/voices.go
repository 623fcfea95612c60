// Package voices serves the routes that change voices, and their previews.
package voices

import (
	"slices"

	"github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/http/web"
	shown "github.com/recital-tts/recital/internal/speech/voices"
	"github.com/recital-tts/recital/writeapi"
)

// API changes voices, and has them heard.
type API struct {
	Voices     *voices.Voices
	Previews   Previews // of the system voices
	Shower     shown.Shower
	Links      links.Links
	ReadModels writeapi.ReadModels
}

// Routes are the rows for the public route table.
func (a *API) Routes() []web.Route {
	tag, waits := web.Tag("Voices"), web.ReadModels(readmodel.Voices)
	sends := web.Sends("accept-ranges", "etag", "cache-control")
	mp3 := []string{"audio/mpeg"}
	return []web.Route{
		web.Put("/v1/ai/voice/{id}", a.update, web.AnyContentType(), waits, tag, web.Summary("Change what is said about a voice, or star it"),
			web.Description("Only what the body names is changed. A system voice can only be starred: a request with `starred` succeeds, and the rest of it is not recorded; one without is a 403."),
			web.Returns[updateVoiceResponse](), web.Refuses(400, 403, 404)),
		web.Delete("/v1/ai/voice/{id}", a.remove, waits, tag, web.Summary("Delete a voice, for good"),
			web.Description("What is being done to make it ends, and its recordings are erased."), web.Returns[deleteVoiceResponse](), web.Refuses(403, 404)),
		web.Get("/v1/ai/voice/{id}/preview", a.preview, web.Optional(), tag, web.Summary("How a voice sounds, MP3"),
			web.Description("A system voice is everybody's. That of an account is heard by its owner, and by whoever has its `preview_url`."),
			web.ReturnsMedia(mp3, sends), web.ReturnsMedia(mp3, web.Status(206), sends, web.Sends("content-range")), web.ReturnsNothing(304, sends), web.Refuses(404, 409, 416)),
		web.Post("/v1/ai/voice/{id}/preview/invalidate", a.invalidatePreview, waits, tag, web.Summary("Have the preview of a voice rendered again"),
			web.Description("The stored preview is dropped, and rendered anew."),
			web.Returns[writeapi.SuccessResponse](), web.Refuses(403, 404)),
	}
}

type voiceRequest struct {
	ID string `path:"id" doc:"The id of the voice." example:"leah"`
}

// show shows a voice of the caller's account, or of the system.
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
		ID: v.ID, Account: account, Type: string(v.State.Type), State: string(v.State.Phase), Reason: v.State.Message, Sealed: v.State.Sealed, Starred: v.Starred,
	})
}
