package synthesis

import (
	"net/http"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/writeapi/synthesis/request"
)

// synthesizeBeta answers the audio, WAV unless the client says otherwise.
func (a *API) synthesizeBeta(call *web.Call, in request.Speech) (web.Reply, error) {
	in.Language = request.Language{Engine: speech.AutoLanguage}
	return a.bytes(call, in)
}

// betaRest are all other addresses of the beta area. Nothing is known of what was there.
func betaRest() []web.Route {
	type anything struct {
		Path string `path:"path" doc:"The rest of the address." example:"models"`
	}
	nothing := func(*web.Call, anything) (web.Reply, error) {
		return web.Reply{}, &web.Error{Status: http.StatusNotFound, Message: "Not Found", Detail: true}
	}
	options := []web.Option{web.Public(), web.AppendsNothing(), web.Tag("Speech"), web.Summary("Nothing: all other addresses of version 0"),
		web.Description("Always 404."), web.Refuses(404)}
	const path = "/speech/beta/{path:path}"
	return []web.Route{
		web.Get(path, nothing, options...), web.Put(path, nothing, options...),
		web.Post(path, nothing, options...), web.Delete(path, nothing, options...),
	}
}
