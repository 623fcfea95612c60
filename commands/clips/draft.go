package clips

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/keyring"
)

// sealTimeout bounds how long the beginning of a synthesis waits for the keyring.
const sealTimeout = 2 * time.Second

// Draft is a clip whose audio is to come. Its content is sealed, so that saving it needs the blobs and the log, and no
// Postgres.
type Draft struct {
	ID      string
	account string
	sealed  []byte
}

// Draft draws the id of a clip and seals its content, before anything is spoken: a clip that was asked for is refused where
// it could not be saved. Errors: keyring.ErrUnavailable; account.ErrClosed.
func (c *Clips) Draft(ctx context.Context, owner string, content clip.Content) (Draft, error) {
	id, err := clip.DrawID(c.random)
	if err != nil {
		return Draft{}, err
	}
	return c.Redraft(ctx, Draft{ID: id, account: owner}, content)
}

// Redraft returns the draft with other content: of what becomes known only while it is spoken.
func (c *Clips) Redraft(ctx context.Context, d Draft, content clip.Content) (Draft, error) {
	plain, err := json.Marshal(content)
	if err != nil {
		return Draft{}, fmt.Errorf("encoding a clip's content: %w", err)
	}
	sealing, cancel := context.WithTimeout(ctx, sealTimeout)
	defer cancel()
	d.sealed, err = c.keys.Seal(sealing, d.account, plain, clip.SealedFor(d.ID))
	switch {
	case errors.Is(err, keyring.ErrErased):
		return Draft{}, account.ErrClosed
	case err != nil && sealing.Err() != nil && ctx.Err() == nil:
		return Draft{}, fmt.Errorf("sealing a clip's content: %w: %w", keyring.ErrUnavailable, err)
	case err != nil:
		return Draft{}, fmt.Errorf("sealing a clip's content: %w", err)
	}
	return d, nil
}
