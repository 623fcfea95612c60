package clips

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/blobs"
	"github.com/recital-tts/recital/internal/links"
	"github.com/recital-tts/recital/internal/readmodel"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/internal/web/conditional"
	"github.com/recital-tts/recital/readapi"
)

type audioRequest struct {
	ID        string `path:"clip_id"`
	Signature string `query:"sig" required:"true"`
	conditional.Headers
}

// audio plays a clip. The signature is verified first, so that nobody learns which clips exist; it is valid as long as the
// clip exists.
func (a *API) audio(call *web.Call, in audioRequest) (web.Reply, error) {
	if !a.Links.Verify(links.ClipAudio, in.ID, in.Signature) {
		return web.Reply{}, domain.Refuse(domain.Denied, "The address is not one that was given out for this clip")
	}
	sound, err := a.find(call, in.ID)
	if err != nil {
		return web.Reply{}, err
	}
	content := web.Content{
		Tag: sound.tag(), CacheControl: "private, no-cache", // a deleted clip must not be played from a cache
		Size: sound.Size, Ranges: true,
		Body: func(part conditional.Part) web.Reply { return a.play(sound, part) },
	}
	return content.Serve(call, in.Headers)
}

var audioQuery = `select ` + readmodel.Columns[audioRow](readmodel.ClipsView, "") + fromClips + ` where clip_id = $1`

type audioRow struct {
	Blob      blobs.Address `col:"blob"`
	MediaType string        `col:"media_type"`
}

// sound is the audio of a clip.
type sound struct {
	blobs.Blob
	mediaType string
}

// tag returns an entity tag (RFC 9110, 8.8.3): the same for the same bytes.
func (s sound) tag() string { return `"` + s.Address.Hash()[:32] + `"` }

func (a *API) find(call *web.Call, id string) (sound, error) {
	row, err := readOne[audioRow](call, a.Models, readapi.Query{SQL: audioQuery, Arguments: []any{id}, Doing: "looking a clip's audio up"})
	if err != nil {
		return sound{}, err
	}
	s := sound{mediaType: row.MediaType}
	s.Blob, err = a.Blobs.Stat(call, row.Blob)
	if errors.Is(err, blobs.ErrNotFound) {
		return s, domain.Refuse(domain.NotFound, "The audio of the clip is not there")
	}
	if err != nil {
		return s, fmt.Errorf("looking a clip's audio up: %w", err)
	}
	return s, nil
}

func (a *API) play(s sound, part conditional.Part) web.Reply {
	return web.Stream(s.mediaType, func(ctx context.Context, w io.Writer) error {
		return a.send(ctx, w, s.Address, part)
	}).WithLength(part.Length)
}

// sendPiece is how much of a blob is in memory at once, in bytes.
const sendPiece = 64 << 10

func (a *API) send(ctx context.Context, w io.Writer, address blobs.Address, part conditional.Part) error {
	reader, err := a.Blobs.Open(ctx, address, part.Offset, part.Length)
	if err != nil {
		return fmt.Errorf("playing a clip: %w", err)
	}
	defer reader.Close()
	piece := make([]byte, min(part.Length, sendPiece))
	if _, err := io.CopyBuffer(w, struct{ io.Reader }{reader}, piece); err != nil {
		return fmt.Errorf("playing a clip: %w", err)
	}
	return nil
}
