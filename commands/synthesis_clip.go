package commands

import (
	"context"
	"io"
	"time"

	"github.com/recital-tts/recital/domain/clip"
)

// nameClip gives the clip its id, if one was asked for: the client may learn it before there is any audio.
func (r *Reply) nameClip() (err error) {
	clips := r.synthesiser.Clips
	if r.order.Keep == nil || clips == nil {
		return nil
	}
	r.clip, err = clip.DrawID(clips.random)
	return err
}

// recordClip begins to keep the audio of the reply, if that was asked for. A clip that cannot be kept is logged, never
// the reply's trouble: the client has paid for its audio.
func (r *Reply) recordClip(ctx context.Context) *clipAudio {
	if r.clip == "" {
		return nil
	}
	return r.synthesiser.Clips.record(ctx, r.clip)
}

// saveClip makes a clip of the audio that was handed over. It goes on when the client has gone meanwhile.
func (r *Reply) saveClip(ctx context.Context, audio *clipAudio) {
	if audio == nil {
		return
	}
	save, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	position, err := r.synthesiser.Clips.save(save, r.order, r.length(), audio)
	if err != nil {
		r.synthesiser.Clips.log.ErrorContext(ctx, "a clip was not saved", "account", r.order.Account, "error", err)
		return
	}
	r.position, r.models = position, append(r.models, clipsModel)
}

// saveWhole makes a clip of audio that is there as a whole.
func (r *Reply) saveWhole(ctx context.Context, recorded *Sound) {
	kept := r.recordClip(ctx)
	defer kept.discard()
	_, _ = recorded.WriteTo(kept.beside(io.Discard)) // Discard takes everything; the store's trouble is told by saveClip
	r.saveClip(ctx, kept)
}

// length is how long the audio lasts: samples of 16 bits, one channel.
func (r *Reply) length() time.Duration {
	return time.Duration(r.pcm/2) * time.Second / time.Duration(r.stream.SampleRate())
}
