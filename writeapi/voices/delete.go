package voices

import (
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

type deleteVoiceResponse struct {
	Success bool `json:"success" doc:"Always true."`
}

func (a *API) remove(call *web.Call, in voiceRequest) (web.Reply, error) {
	position, err := a.Voices.Delete(call, call.Principal.Account, in.ID, writeapi.Origin(call.Caller))
	if err != nil {
		return web.Reply{}, err
	}
	writeapi.AwaitVisible(call, a.ReadModels, position)
	return web.JSON(deleteVoiceResponse{Success: true}), nil
}
