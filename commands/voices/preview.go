package voices

import (
	"bytes"
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// PreviewProcess is the name of the to-do list of ready voices without a preview.
const PreviewProcess = "render_voice_preview"

// RenderPreview renders and stores the preview of a voice that has none.
func (v *Voices) RenderPreview(ctx context.Context, id string, cause uuid.UUID) (eventlog.Position, error) {
	state, position, err := v.load(ctx, id)
	if err != nil || !state.NeedsPreview() {
		return position, err
	}
	opened, err := v.openModel(ctx, state)
	if err != nil {
		return eventlog.Position{}, err
	}
	sound, err := v.Previews.Render(ctx, opened)
	if err != nil {
		return eventlog.Position{}, fmt.Errorf("rendering the preview of a voice: %w", err)
	}
	blob, err := v.put(ctx, state.Account, id, bytes.NewReader(sound), int64(len(sound)))
	if err != nil {
		return eventlog.Position{}, fmt.Errorf("keeping the preview of a voice: %w", err)
	}
	made := voice.Preview{Blob: string(blob.Address), SHA256: hashOf(sound), Bytes: blob.Size}
	state, position, err = v.do(ctx, id, voice.RecordPreview{Preview: made, At: v.now()}, journal.CausedBy(cause))
	if err == nil && !state.Needs(made.Blob) { // another instance was first, or the voice is deleted
		v.remove(ctx, made.Blob)
	}
	return position, err
}
