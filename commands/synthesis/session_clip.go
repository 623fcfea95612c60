package synthesis

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// maxClipText bounds the text of a clip, which is in one event, in bytes.
const maxClipText = 512 << 10

// keeping is a Listener that also stores the audio that it passes on. A nil one does not store.
type keeping struct {
	Listener
	draft clips.Draft
	audio *clips.Audio
	text  strings.Builder // of the parts that were delivered
}

// Audio implements Listener.
func (k *keeping) Audio(c Chunk) error {
	if err := k.Listener.Audio(c); err != nil {
		return err
	}
	_, err := k.audio.Beside(io.Discard).Write(c.Audio) // an error of the spool is reported by saveClip
	return err
}

func (k *keeping) said(text string) {
	if k != nil {
		k.text.WriteString(text)
	}
}

func (k *keeping) discard() {
	if k != nil {
		k.audio.Close()
	}
}

// keep begins the session's clip with the first unit, if one is to be saved. It fails if the clip cannot be saved.
func (s *Session) keep(ctx context.Context) error {
	store := s.synthesiser.Clips
	if s.keeping != nil || store == nil || !s.synthesis.kept() {
		return nil
	}
	draft, err := store.Draft(ctx, s.synthesis.Account, s.synthesis.content())
	if err != nil {
		return err
	}
	collected, err := store.Record(draft, 0)
	if err != nil {
		return err
	}
	s.keeping = &keeping{Listener: s.to, draft: draft, audio: collected}
	s.to = s.keeping
	return nil
}

// saveClip saves the delivered audio after any end of the session, because every session ends by its client's choice. A
// clip that cannot be saved is logged.
func (s *Session) saveClip(ctx context.Context) {
	if s.keeping == nil || s.keeping.text.Len() == 0 {
		return
	}
	save := context.WithoutCancel(ctx)
	log := s.synthesiser.Logger.With("account", s.synthesis.Account)
	if s.keeping.text.Len() > maxClipText {
		log.WarnContext(ctx, "a clip was not saved: the text of its session is too long")
		return
	}
	spoken := s.synthesis
	spoken.Text = s.keeping.text.String()
	draft, err := s.synthesiser.Clips.Redraft(save, s.keeping.draft, spoken.content())
	if err != nil {
		log.ErrorContext(ctx, "a clip was not saved", "error", err)
		return
	}
	position, err := s.synthesiser.Clips.Save(save, spoken.recording(draft, time.Duration(s.now())*time.Millisecond),
		s.keeping.audio, spoken.Origin)
	if err != nil {
		log.ErrorContext(ctx, "a clip was not saved", "error", err)
		return
	}
	s.position, s.models = position, append(s.models, readmodel.Clips)
}
