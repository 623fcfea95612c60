package clips

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/speech/audio"
)

// Recording is a result to be saved, without its audio.
type Recording struct {
	Draft      Draft
	Voice      string // its id
	Language   string // the spoken language, by the engine's name
	Speed      float64
	Audio      audio.Spec
	Characters int64 // of the text, in Unicode code points
	Length     time.Duration
	Seed       int64
	Debug      bool // saved because the request set debug
	Settings   clip.Settings
}

// Save stores the audio, then appends the event: an event always has its blob, and a crash leaves only a blob that
// Sweep removes. After a failed append the blob stays, because the event may be in the log nevertheless. Save continues
// when ctx ends, because a client that disconnects after all audio keeps the clip. It fails after Config.SaveTimeout.
func (c *Clips) Save(
	ctx context.Context, r Recording, collected *Audio, origin journal.Origin,
) (eventlog.Position, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.timeout)
	defer cancel()
	content, err := collected.content(r.Audio)
	if err != nil {
		return eventlog.Position{}, err
	}
	blob, err := c.put(ctx, r.Draft, content)
	if err != nil {
		return eventlog.Position{}, err
	}
	save := r.save(blob, c.now().UTC())
	_, position, err := journal.Execute(ctx, c.journal, stream(save.Clip), save, origin.Metadata(uuid.New(), save.At))
	return position, err
}

func (r Recording) save(blob blobs.Blob, at time.Time) clip.Save {
	return clip.Save{
		Clip:         r.Draft.ID,
		Account:      r.Draft.account,
		Voice:        r.Voice,
		Language:     r.Language,
		Speed:        r.Speed,
		Format:       string(r.Audio.Format),
		SampleRate:   r.Audio.SampleRate,
		MediaType:    r.Audio.Format.ContentType(),
		Characters:   r.Characters,
		Milliseconds: r.Length.Milliseconds(),
		Blob:         string(blob.Address),
		Bytes:        blob.Size,
		Seed:         r.Seed,
		Settings:     r.Settings,
		Debug:        r.Debug,
		Sealed:       r.Draft.sealed,
		At:           at,
	}
}
