package voices

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/conditional"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/writeapi"
)

// Previews makes the previews of the system voices.
type Previews interface {
	// Preview returns the preview of a voice, as MP3.
	Preview(ctx context.Context, voice speech.Voice) ([]byte, error)
}

type previewRequest struct {
	voiceRequest
	Signature string `query:"sig" doc:"As in preview_url."`
	conditional.Headers
}

// preview plays a voice in whatever plays audio by its address alone.
func (a *API) preview(call *web.Call, in previewRequest) (web.Reply, error) {
	if system, found := speech.LookupVoice(in.ID); found {
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
		listener = "" // whoever has the address
	case listener == "":
		_, err := speech.FindVoice(in.ID)
		return web.Reply{}, err
	}
	sound, err := a.Voices.Preview(call, listener, in.ID)
	if err != nil {
		return web.Reply{}, err
	}
	return play(call, in.Headers, sound.Audio, sound.SHA256, "private, no-cache") // a deleted voice must not be played from a cache
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
	if err != nil {
		return web.Reply{}, err
	}
	writeapi.AwaitVisible(call, a.ReadModels, position)
	return web.JSON(writeapi.SuccessResponse{Success: true}), nil
}
