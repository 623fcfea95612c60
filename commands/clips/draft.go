package clips

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/sealed"
)

// sealTimeout bounds the time for which the start of a synthesis waits for the keyring.
const sealTimeout = 2 * time.Second

// Draft is a clip before its audio. Its content is sealed, and so is the key of its audio, so that saving the clip
// needs the blobs and the log, but not Postgres.
type Draft struct {
	ID       string
	account  string
	sealed   []byte
	envelope sealed.Envelope // of the audio
}

// Draft draws the id of a clip and seals its content, before speech begins: a requested clip that could not be saved is
// refused. Errors: keyring.ErrUnavailable; account.ErrClosed.
func (c *Clips) Draft(ctx context.Context, account string, content clip.Content) (Draft, error) {
	id, err := clip.DrawID(c.random)
	if err != nil {
		return Draft{}, err
	}
	d, err := c.Redraft(ctx, Draft{ID: id, account: account}, content)
	if err != nil {
		return Draft{}, err
	}
	sealing, cancel := context.WithTimeout(ctx, sealTimeout)
	defer cancel()
	d.envelope, err = c.sealed.Envelope(sealing, account, blobs.NewAddress(owner(id)))
	return d, explainSealing(ctx, sealing, err)
}

// Redraft returns the draft with other content, which becomes known only during speech.
func (c *Clips) Redraft(ctx context.Context, d Draft, content clip.Content) (Draft, error) {
	plain, err := json.Marshal(content)
	if err != nil {
		return Draft{}, fmt.Errorf("encoding a clip's content: %w", err)
	}
	sealing, cancel := context.WithTimeout(ctx, sealTimeout)
	defer cancel()
	d.sealed, err = c.keys.Seal(sealing, d.account, plain, clip.SealedFor(d.ID))
	return d, explainSealing(ctx, sealing, err)
}

// explainSealing translates an error of the keyring for clips.
func explainSealing(ctx, sealing context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, keyring.ErrErased):
		return account.ErrClosed
	case sealing.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("sealing a clip: %w: %w", keyring.ErrUnavailable, err)
	}
	return fmt.Errorf("sealing a clip: %w", err)
}
