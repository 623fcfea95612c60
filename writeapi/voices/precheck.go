package voices

import (
	"errors"
	"time"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/writeapi"
)

// precheckTimeout covers the decoding of the longest recording on a busy machine.
const precheckTimeout = 5 * time.Minute

type precheckRequest struct {
	File web.File `body:"file" alias:"files,files[],file_field" required:"true" doc:"The recording." example:"the bytes of recording.wav"`
}

type precheckCloneResponse struct {
	DNSMOS float64 `json:"dnsmos" ge:"1" le:"5" doc:"The quality of the speech, estimated as a mean opinion score: 1 is bad, 5 is excellent."`
	Start  float64 `json:"start_s" ge:"0" doc:"Where the speech begins, in seconds from the start of the recording."`
	End    float64 `json:"end_s" ge:"0" doc:"Where the speech ends, in seconds from the start of the recording."`
}

type precheckHeaders struct {
	Warning *string `header:"x-warning" doc:"Why no good voice can be made from the recording."`
}

func (a *API) precheck(call *web.Call, in precheckRequest) (web.Reply, error) {
	place, err := writeapi.TakePlace(call, a.Places, "checked")
	if err != nil {
		return web.Reply{}, err
	}
	defer place.Release()
	found, err := a.Checker.Check(call, in.File.Content)
	if unusable, is := errors.AsType[*audio.UnusableError](err); is {
		return web.Reply{}, call.Invalid("file", unusable.Message)
	}
	if err != nil {
		return web.Reply{}, err
	}
	if found.Warning != "" {
		call.SetHeader("x-warning", found.Warning)
	}
	return web.JSON(precheckCloneResponse{DNSMOS: found.DNSMOS, Start: found.Start, End: found.End}), nil
}
