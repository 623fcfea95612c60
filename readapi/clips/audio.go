package clips

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/conditional"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

type audioRequest struct {
	ID        string `path:"clip_id" doc:"The id of the clip." example:"01JB2K9V3N8QWX4T6Z0Y5R7M1C"`
	Signature string `query:"sig" required:"true" doc:"The signature, as in the url of the clip." example:"c2lnbmF0dXJl"`
	conditional.Headers
}

// audio plays a clip. It verifies the signature first, so that the ids of clips cannot be probed; a signature is valid
// until the clip is deleted.
func (a *API) audio(call *web.Call, in audioRequest) (web.Reply, error) {
	if !a.Links.Verify(links.ClipAudio, in.ID, in.Signature) {
		return web.Reply{}, domain.Refuse(domain.Denied, "The signature is not valid for this clip")
	}
	reply, err := a.play(call, in)
	switch {
	case errors.Is(err, blobs.ErrNotFound):
		return reply, domain.Refuse(domain.NotFound, "The audio of the clip is missing")
	case keyring.Gone(err):
		return reply, domain.Refuse(domain.NotFound, "The audio of the clip can no longer be read")
	}
	return reply, err
}

// tag returns an entity tag (RFC 9110, 8.8.3): the same for the same bytes.
func tag(audio blobs.Address) string { return `"` + audio.Name()[:32] + `"` }

func (a *API) play(call *web.Call, in audioRequest) (web.Reply, error) {
	row, err := byID.One(call, a.Models, errNoClip, in.ID)
	if err != nil {
		return web.Reply{}, err
	}
	content := web.Content{
		// A deleted clip must not be played from a cache.
		Tag: tag(blobs.Address(row.Blob)), CacheControl: "private, no-cache",
		Size: row.Bytes, Ranges: true,
		Body: func(part conditional.Part) (web.Reply, error) { return a.part(call, row, part) },
	}
	return content.Serve(call, in.Headers)
}

// part opens the audio before the head of the reply is sent, so that an error can still be the reply.
func (a *API) part(call *web.Call, row readmodel.ClipRow, part conditional.Part) (web.Reply, error) {
	reader, err := a.Sealed.Open(call, row.Account, blobs.Address(row.Blob), part.Offset, part.Length)
	if err != nil {
		return web.Reply{}, fmt.Errorf("playing a clip: %w", err)
	}
	context.AfterFunc(call, func() { _ = reader.Close() }) // also if the stream never starts
	return web.Stream(row.MediaType,
		func(_ context.Context, w io.Writer) error { return send(w, reader, part) }).WithLength(part.Length), nil
}

// sendPiece is the number of bytes of a blob in memory at a time.
const sendPiece = 64 << 10

func send(w io.Writer, reader io.Reader, part conditional.Part) error {
	piece := make([]byte, min(part.Length, sendPiece))
	if _, err := io.CopyBuffer(w, struct{ io.Reader }{reader}, piece); err != nil {
		return fmt.Errorf("playing a clip: %w", err)
	}
	return nil
}
