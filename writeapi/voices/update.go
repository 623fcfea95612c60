package voices

import (
	"github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/internal/http/web"
	shown "github.com/recital-tts/recital/internal/speech/voices"
	"github.com/recital-tts/recital/writeapi"
)

// updateVoiceRequest says what of a voice is changed: null is nothing, and an empty text clears one.
type updateVoiceRequest struct {
	voiceRequest
	Name        *string  `body:"name" maxlen:"200" doc:"The new name."`
	Description *string  `body:"description" maxlen:"5000" doc:"The new description."`
	Gender      *string  `body:"gender" maxlen:"64" doc:"The new gender."`
	Starred     *bool    `body:"starred" doc:"All that can be changed of a system voice." example:"true"`
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
	if response.Voice, err = a.show(call, updated); err != nil {
		return web.Reply{}, err
	}
	writeapi.AwaitVisible(call, a.ReadModels, updated.Position)
	return web.JSON(response), nil
}
