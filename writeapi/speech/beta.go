package speech

import (
	"net/http"

	"github.com/recital-tts/recital/internal/web"
)

// beta is the request of clients of version 0, a form.
type beta struct {
	Text   string   `body:"text" required:"true" minlen:"1" maxlen:"5000"`
	Voice  string   `body:"voice" required:"true" minlen:"1" maxlen:"64"`
	Format string   `body:"format" default:"wav" literal:"aac,mp3,raw,wav,ulaw,webm,pcm_s16le,pcm_f32le" synonyms:"mulaw=ulaw"`
	Speed  float64  `body:"speed" default:"1" ge:"0.25" le:"2"`
	Seed   *int64   `body:"seed"`
	Length *float64 `body:"length" ge:"0.1" le:"300"`
	Extras string   `body:"extras"` // "alignment" asks for the word times
}

// synthesizeBeta answers the audio, WAV unless the client says otherwise.
func (a *API) synthesizeBeta(call *web.Call, in beta) (web.Reply, error) {
	times := in.Extras != ""
	return a.bytes(call, request{
		Text: in.Text, Voice: in.Voice, Language: "auto", Format: in.Format, Speed: in.Speed, Seed: in.Seed, Length: in.Length,
		ReturnTimestamps: &times,
	})
}

// betaRest are all other addresses of the beta area. Nothing is known of what was there.
func betaRest() []web.Route {
	type anything struct {
		Path string `path:"path"`
	}
	nothing := func(*web.Call, anything) (web.Reply, error) {
		return web.Reply{}, &web.Error{Status: http.StatusNotFound, Message: "Not Found", Detail: true}
	}
	options := []web.Option{web.Public(), web.Tag("Speech"), web.Summary("Nothing: all other addresses of version 0"), web.Refuses(404)}
	const path = "/speech/beta/{path:path}"
	return []web.Route{
		web.Get(path, nothing, options...), web.Put(path, nothing, options...),
		web.Post(path, nothing, options...), web.Delete(path, nothing, options...),
	}
}
