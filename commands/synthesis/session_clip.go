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

// clipRecorder is a Listener that also collects the audio that it passes on. A nil one collects nothing.
type clipRecorder struct {
	Listener
	draft clips.Draft
	audio *clips.Audio
	text  strings.Builder // of the delivered parts
}

// Audio implements Listener.
func (r *clipRecorder) Audio(c Chunk) error {
	if err := r.Listener.Audio(c); err != nil {
		return err
	}
	_, err := r.audio.Tee(io.Discard).Write(c.Audio) // saveClip reports an error of the spool
	return err
}

func (r *clipRecorder) addText(text string) {
	if r != nil {
		r.text.WriteString(text)
	}
}

func (r *clipRecorder) discard() {
	if r != nil {
		r.audio.Close()
	}
}

// keep begins the session's clip with the first unit, if one is to be saved. It fails if the clip cannot be saved.
func (s *Session) keep(ctx context.Context) error {
	store := s.synthesiser.Clips
	if s.recorder != nil || store == nil || !s.synthesis.saves() {
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
	s.recorder = &clipRecorder{Listener: s.to, draft: draft, audio: collected}
	s.to = s.recorder
	return nil
}

// saveClip saves the delivered audio after any end of the session, because a client can end a session at any time. A
// failure is logged.
func (s *Session) saveClip(ctx context.Context) {
	if s.recorder == nil || s.recorder.text.Len() == 0 {
		return
	}
	save := context.WithoutCancel(ctx)
	log := s.synthesiser.Logger.With("account", s.synthesis.Account)
	if s.recorder.text.Len() > maxClipText {
		log.WarnContext(ctx, "a clip was not saved: the text of its session is too long")
		return
	}
	spoken := s.synthesis
	spoken.Text = s.recorder.text.String()
	draft, err := s.synthesiser.Clips.Redraft(save, s.recorder.draft, spoken.content())
	if err != nil {
		log.ErrorContext(ctx, "a clip was not saved", "error", err)
		return
	}
	position, err := s.synthesiser.Clips.Save(save, spoken.recording(draft, time.Duration(s.now())*time.Millisecond),
		s.recorder.audio, spoken.Origin)
	if err != nil {
		log.ErrorContext(ctx, "a clip was not saved", "error", err)
		return
	}
	s.position, s.models = position, append(s.models, readmodel.Clips)
}
