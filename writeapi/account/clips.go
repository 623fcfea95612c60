package account

import (
	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/writeapi"
)

// Clips deletes what accounts have saved.
type Clips struct {
	Clips      *commands.Clips
	ReadModels commands.ReadModels
}

// Routes are the rows for the public route table.
func (c *Clips) Routes() []web.Route {
	return []web.Route{
		web.Delete("/v1/account/clip/{clip_id}", c.remove, web.ReadModels("clips"), web.Tag("Account"), web.Summary("Delete a saved clip"),
			web.Returns[successResponse](), web.Refuses(404)),
	}
}

type successResponse struct {
	Success bool `json:"success"`
}

func (c *Clips) remove(call *web.Call, in struct {
	ID string `path:"clip_id"`
}) (web.Reply, error) {
	position, err := c.Clips.Delete(call, in.ID, call.Principal.Account, writeapi.ActorOf(call.Principal))
	if err != nil {
		return web.Reply{}, err
	}
	writeapi.AwaitVisible(call, c.ReadModels, position)
	return web.JSON(successResponse{Success: true}), nil
}
