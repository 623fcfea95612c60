package voices

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

const (
	maxPreview    = 1 << 20 // bytes, which is far more than a preview has
	renderTimeout = 20 * time.Second
)

// Sound is a preview, as MP3.
type Sound struct {
	Audio  []byte
	SHA256 string // of the audio, in hex
}

// Preview returns the preview of a voice to its owner or, if listener is "", to any client with its address: the stored
// preview or, until there is one, a temporary rendering, which concurrent requests share. Errors: domain.NotFound for a
// voice that the listener does not have; domain.Conflict for one that is not ready yet; domain.Rejected for one that
// never will be.
func (v *Voices) Preview(ctx context.Context, listener, id string) (Sound, error) {
	if !voice.ValidID(id) {
		return Sound{}, voice.ErrNotFound
	}
	state, _, err := v.load(ctx, id)
	if err != nil {
		return Sound{}, err
	}
	if listener == "" {
		listener = state.Account
	}
	if err := speaks(state, listener); err != nil {
		return Sound{}, err
	}
	sound, err := v.sound(ctx, state)
	if errors.Is(err, blobs.ErrNotFound) || keyring.Gone(err) || errors.Is(err, account.ErrClosed) { // it is being deleted
		return Sound{}, voice.ErrNotFound
	}
	return sound, err
}

func (v *Voices) sound(ctx context.Context, s voice.State) (Sound, error) {
	if s.Preview.Blob != "" {
		kept, err := v.read(ctx, s.Account, s.Preview.Blob, maxPreview)
		if !errors.Is(err, blobs.ErrNotFound) {
			return Sound{Audio: kept, SHA256: s.Preview.SHA256}, err
		}
	}
	rendered, err, _ := v.previewGroup.Do(s.Model.Blob, func() (any, error) { return v.render(s) })
	if err != nil {
		return Sound{}, err
	}
	return rendered.(Sound), nil
}

// render continues after the end of the request that began it, because others may wait for it.
func (v *Voices) render(s voice.State) (Sound, error) {
	ctx, cancel := context.WithTimeout(context.Background(), renderTimeout)
	defer cancel()
	opened, err := v.openModel(ctx, s)
	if err != nil {
		return Sound{}, err
	}
	sound, err := v.Previews.Render(ctx, opened)
	if err != nil {
		return Sound{}, fmt.Errorf("rendering the preview of a voice: %w", err)
	}
	return Sound{Audio: sound, SHA256: hashOf(sound)}, nil
}
