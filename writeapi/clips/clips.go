// Package clips serves the routes that change clips.
package clips

import (
	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

// API deletes clips.
type API struct {
	Clips      *clips.Clips
	ReadModels writeapi.ReadModels
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Delete("/v1/account/clip/{clip_id}", a.remove, web.ReadModels(readmodel.Clips), web.Tag("Account"),
			web.Summary("Delete a saved clip"),
			web.Description("Removes the clip and its audio. This cannot be undone."),
			web.Returns[writeapi.SuccessResponse](), web.Refuses(404)),
	}
}

func (a *API) remove(call *web.Call, in struct {
	ID string `path:"clip_id" doc:"The id of the clip." example:"01JB2K9V3N8QWX4T6Z0Y5R7M1C"`
}) (web.Reply, error) {
	position, err := a.Clips.Delete(call, in.ID, call.Principal.Account, writeapi.Origin(call.Caller))
	return writeapi.Done(call, a.ReadModels, position, err)
}
