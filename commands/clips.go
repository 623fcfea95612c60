package commands

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/blobs"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/keyring"
	"github.com/recital-tts/recital/internal/speech"
)

// clipsModel is the read model that shows clips.
const clipsModel = "clips"

// Clips saves results of syntheses and deletes them.
type Clips struct {
	journal Journal
	keys    keyring.Keyring
	blobs   blobs.Store
	now     func() time.Time
	random  io.Reader // of ids
	log     *slog.Logger
}

// NewClips makes a Clips that tells the time by now.
func NewClips(journal Journal, keys keyring.Keyring, store blobs.Store, now func() time.Time, log *slog.Logger) *Clips {
	return &Clips{journal: journal, keys: keys, blobs: store, now: now, random: rand.Reader, log: log}
}

// Keepsake says that the result of a synthesis shall be kept as a clip, and what the clip remembers beside what a
// Synthesis says.
type Keepsake struct {
	Debug            bool
	OriginalText     string
	OriginalLanguage string
}

// save seals what was said, then finishes the blob, then appends the event: so an event always has its blob, and what a
// crash leaves is a blob that Sweep removes. A failed append may have been carried out, therefore the blob stays.
func (c *Clips) save(ctx context.Context, order Synthesis, length time.Duration, audio *clipAudio) (eventlog.Position, error) {
	sealed, err := c.seal(ctx, order, audio.id)
	if err != nil {
		return eventlog.Position{}, err
	}
	streamed, err := audio.finish(ctx)
	if err != nil {
		return eventlog.Position{}, err
	}
	blob, err := c.makeWhole(ctx, order.Audio, streamed)
	if err != nil {
		return eventlog.Position{}, err
	}
	at := c.now().UTC()
	save := clip.Save{
		Clip:         audio.id,
		Account:      order.Account,
		Voice:        order.Voice.ID,
		Language:     spokenLanguage(order),
		Speed:        order.Speed,
		Format:       string(order.Audio.Format),
		SampleRate:   order.Audio.SampleRate,
		MediaType:    order.Audio.Format.ContentType(),
		Characters:   order.characters(),
		Milliseconds: length.Milliseconds(),
		Blob:         string(blob.Address),
		Bytes:        blob.Size,
		Seed:         order.Seed,
		Settings:     settings(order),
		Debug:        order.Keep.Debug,
		Sealed:       sealed,
		At:           at,
	}
	return execute(ctx, c.journal, clip.Stream(audio.id), clip.Evolve, save, Order{Command: uuid.New(), Actor: order.Actor, At: at})
}

func (c *Clips) seal(ctx context.Context, order Synthesis, id string) ([]byte, error) {
	content, err := json.Marshal(clip.Content{
		Text:             order.Text,
		OriginalText:     order.Keep.OriginalText,
		OriginalLanguage: order.Keep.OriginalLanguage,
		Solver:           order.Prosody.Solver,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding a clip's content: %w", err)
	}
	sealed, err := c.keys.Seal(ctx, order.Account, content, clip.SealedFor(id))
	if err != nil {
		return nil, fmt.Errorf("sealing a clip's content: %w", err)
	}
	return sealed, nil
}

func settings(order Synthesis) clip.Settings {
	s := clip.Settings{
		Model:       order.Model,
		Temperature: order.Prosody.Temperature,
		TopK:        order.Prosody.TopK,
		TopP:        order.Prosody.TopP,
		Expressive:  order.Prosody.Expressive,
		Quality:     order.Prosody.Quality,
	}
	if order.Prosody.Conversational {
		s.Conversational = &order.Prosody.Conversational
	}
	if order.Length > 0 {
		s.Length = &order.Length
	}
	return s
}

func spokenLanguage(order Synthesis) string {
	if order.Language == speech.AutoLanguage {
		return speech.DetectLanguage(order.Text)
	}
	return order.Language
}

// Delete deletes a clip of an account, and its audio. The id may be any text of a client. Errors: domain.NotFound, also
// for others' clips. Where the audio cannot be removed now, Sweep does it.
func (c *Clips) Delete(ctx context.Context, id, account string, actor eventlog.Actor) (eventlog.Position, error) {
	if !clip.ValidID(id) {
		return eventlog.Position{}, domain.Refuse(domain.NotFound, "There is no such clip")
	}
	at := c.now().UTC()
	removal := &removal{Delete: clip.Delete{Clip: id, Account: account, At: at}}
	order := Order{Command: uuid.New(), Actor: actor, At: at}
	position, err := execute(ctx, c.journal, clip.Stream(id), clip.Evolve, removal, order)
	if err != nil {
		return eventlog.Position{}, err
	}
	if err := c.blobs.Delete(context.WithoutCancel(ctx), removal.blob); err != nil {
		c.log.WarnContext(ctx, "a deleted clip's audio is left for the sweep", "error", err)
	}
	return position, nil
}

// removal is a clip.Delete that notes which blob goes with the clip.
type removal struct {
	clip.Delete
	blob blobs.Address
}

func (r *removal) Decide(s clip.State) ([]clip.Event, error) {
	r.blob = blobs.Address(s.Blob)
	return r.Delete.Decide(s)
}
