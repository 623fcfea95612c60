package synthesis

import (
	"context"
	"time"

	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/speech"
)

// SaveOptions are the options of saving the result as a clip.
type SaveOptions struct {
	Debug            bool   // saves the result; a session's result is always saved
	Language         string // as in the request; "" if it was to be detected
	OriginalText     string
	OriginalLanguage string
}

// saves reports whether the result is saved as a clip: a browser's user finds all results in the list of clips.
func (s Synthesis) saves() bool { return s.Save.Debug || s.Origin.Actor.Session != "" }

// draftClip prepares the clip, if one is to be saved, so that its id is known before the audio, and speech does not
// begin if the clip cannot be saved. The audio that Whole collects is also the clip's.
func (r *Reply) draftClip(ctx context.Context) (err error) {
	if !r.synthesis.saves() || r.synthesiser.Clips == nil {
		return nil
	}
	if r.clip, err = r.synthesiser.Clips.Draft(ctx, r.synthesis.Account, r.synthesis.content()); err != nil ||
		r.synthesis.Whole {
		return err
	}
	r.kept, err = r.synthesiser.Clips.Record(r.clip, r.synthesis.expectedSize())
	return err
}

// saveClip saves the delivered audio as a clip, if one is to be saved. It continues if the client disconnects
// meanwhile. A failure is logged and does not fail the reply: the client has paid for its audio.
func (r *Reply) saveClip(ctx context.Context, kept *clips.Audio) {
	if r.clip.ID == "" {
		return
	}
	position, err := r.synthesiser.Clips.Save(ctx, r.synthesis.recording(r.clip, r.length()), kept, r.synthesis.Origin)
	if err != nil {
		r.synthesiser.Logger.ErrorContext(ctx, "a clip was not saved", "account", r.synthesis.Account, "error", err)
		return
	}
	r.saved, r.position, r.models = true, position, append(r.models, readmodel.Clips)
}

// length returns the duration of the audio: samples of 16 bits, one channel.
func (r *Reply) length() time.Duration {
	return time.Duration(r.pcm/2) * time.Second / time.Duration(r.stream.SampleRate())
}

// recording returns the recording of the synthesis for a clip.
func (s Synthesis) recording(draft clips.Draft, length time.Duration) clips.Recording {
	return clips.Recording{
		Draft: draft, Voice: s.Voice, Language: s.spokenLanguage(), Speed: s.Speed, Audio: s.Audio,
		Characters: s.characters(), Length: length, Seed: s.Seed, Debug: s.Save.Debug, Settings: s.settings(),
	}
}

func (s Synthesis) content() clip.Content {
	return clip.Content{
		Text: s.Text, Language: s.Save.Language, OriginalText: s.Save.OriginalText, OriginalLanguage: s.Save.OriginalLanguage,
		Solver: s.Prosody.Solver,
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
		return speech.DetectLanguage(s.plainText())
	}
	return s.Language
}
