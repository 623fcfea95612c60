package voices

import (
	"errors"
	"net/http"
	"time"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/quota"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/precheck"
	"github.com/recital-tts/recital/writeapi"
)

// Prechecker checks recordings before a voice is made from them.
type Prechecker struct {
	Checker   precheck.Checker
	Places    *quota.Budget // of concurrent recordings, of each address
	MaxUpload int64         // bytes of a request
}

// precheckTimeout covers the decoding of the longest recording on a busy machine.
const precheckTimeout = 5 * time.Minute

// Routes returns the rows for the public route table.
func (p *Prechecker) Routes() []web.Route {
	return []web.Route{
		web.Post("/v1/ai/voice/precheck", p.check, web.AppendsNothing(), web.Uploads(p.MaxUpload), web.MaxBody(maxFields),
			web.Timeout(precheckTimeout),
			web.Tag("Voices"), web.Summary("Check whether a recording is suitable for a voice"),
			web.Description("The recording is not stored. `dnsmos` is an estimate of the mean opinion score, 1 to 5; `start_s` and "+
				"`end_s` are where the speech begins and ends. `x-warning` is sent if no good voice can be made from a "+
				"recording, because it has no speech, sounds like music, or has noise that `enhance` would not remove."),
			web.Returns[precheckCloneResponse](web.SendsHeaders[precheckHeaders]()),
			web.Refuses(http.StatusRequestTimeout, http.StatusTooManyRequests)),
	}
}

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

func (p *Prechecker) check(call *web.Call, in precheckRequest) (web.Reply, error) {
	place, err := writeapi.TakePlace(call, p.Places, "checked")
	if err != nil {
		return web.Reply{}, err
	}
	defer place.Release()
	found, err := p.Checker.Check(call, in.File.Content)
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
