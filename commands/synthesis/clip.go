package synthesis

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/readmodel"
	"github.com/recital-tts/recital/internal/speech"
)

// Keepsake is what a clip has in addition to what a Synthesis says.
type Keepsake struct {
	Debug            bool   // saves the result as a clip; that of a session is saved in any case
	Language         string // in the words of the request; "" where it was to be detected
	OriginalText     string
	OriginalLanguage string
}

// kept reports whether the result is saved as a clip: its owner finds what was spoken in the browser there.
func (s Synthesis) kept() bool { return s.Keep.Debug || s.Origin.Actor.Session != "" }

// draftClip prepares the clip, if one is to be saved: the client may learn its id before there is any audio, and nothing is
// spoken where the clip could not be saved.
func (r *Reply) draftClip(ctx context.Context) (err error) {
	if !r.synthesis.kept() || r.synthesiser.Clips == nil {
		return nil
	}
	r.clip, err = r.synthesiser.Clips.Draft(ctx, r.synthesis.Account, r.synthesis.content())
	return err
}

// recordClip begins to store the audio of the reply, if it is to be saved. A clip that cannot be saved is logged and
// does not fail the reply: the client has paid for its audio.
func (r *Reply) recordClip(ctx context.Context) *clips.Audio {
	if r.clip.ID == "" {
		return nil
	}
	return r.synthesiser.Clips.Record(ctx, r.clip)
}

// saveClip saves the delivered audio as a clip. It continues if the client disconnects meanwhile.
func (r *Reply) saveClip(ctx context.Context, kept *clips.Audio) {
	if kept == nil {
		return
	}
	save, cancel := context.WithTimeout(context.WithoutCancel(ctx), SettleTimeout)
	defer cancel()
	position, err := r.synthesiser.Clips.Save(save, r.synthesis.recording(r.clip, r.length()), kept, r.synthesis.Origin)
	if err != nil {
		r.synthesiser.Logger.ErrorContext(ctx, "a clip was not saved", "account", r.synthesis.Account, "error", err)
		return
	}
	r.saved, r.position, r.models = true, position, append(r.models, readmodel.Clips)
}

// saveWhole saves audio that is complete as a clip.
func (r *Reply) saveWhole(ctx context.Context) error {
	kept := r.recordClip(ctx)
	defer kept.Discard()
	if _, err := r.whole.WriteTo(kept.Beside(io.Discard)); err != nil { // an error of the store is reported by saveClip
		return fmt.Errorf("reading a reply: %w", err)
	}
	r.saveClip(ctx, kept)
	return nil
}

// length returns the duration of the audio: samples of 16 bits, one channel.
func (r *Reply) length() time.Duration {
	return time.Duration(r.pcm/2) * time.Second / time.Duration(r.stream.SampleRate())
}

// recording returns the recording of the synthesis for a clip.
func (s Synthesis) recording(draft clips.Draft, length time.Duration) clips.Recording {
	return clips.Recording{
		Draft: draft, Voice: s.Voice.ID, Language: s.spokenLanguage(), Speed: s.Speed, Audio: s.Audio,
		Characters: s.characters(), Length: length, Seed: s.Seed, Debug: s.Keep.Debug, Settings: s.settings(),
	}
}

func (s Synthesis) content() clip.Content {
	return clip.Content{
		Text: s.Text, Language: s.Keep.Language, OriginalText: s.Keep.OriginalText, OriginalLanguage: s.Keep.OriginalLanguage, Solver: s.Prosody.Solver,
	}
}

func (s Synthesis) settings() clip.Settings {
	settings := clip.Settings{
		Model:       s.Model,
		Temperature: s.Prosody.Temperature,
		TopK:        s.Prosody.TopK,
		TopP:        s.Prosody.TopP,
		Expressive:  s.Prosody.Expressive,
		Quality:     s.Prosody.Quality,
	}
	if s.Prosody.Conversational {
		settings.Conversational = &s.Prosody.Conversational
	}
	if s.Length > 0 {
		settings.Length = &s.Length
	}
	return settings
}

func (s Synthesis) spokenLanguage() string {
	if s.Language == speech.AutoLanguage {
		return speech.DetectLanguage(s.Text)
	}
	return s.Language
}
