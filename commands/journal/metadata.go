package journal

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// sealTimeout bounds how long a command waits for its account's key.
const sealTimeout = time.Second

// Metadata is the metadata of a command's events, and the address of its client, which becomes part of it when the events are
// appended.
type Metadata struct {
	eventlog.Metadata
	client *client // nil: none is recorded
}

// client is where a command came from.
type client struct {
	address netip.Addr
	tried   bool
	sealed  []byte
}

// sealed returns the metadata with the client's address, sealed with the key of the actor's account. It is sealed once for a
// command, so an append that is repeated is identical. A command is worth more than the record of its address: an owner can
// revoke a key while the keyring does not answer.
func (j *Journal) sealed(ctx context.Context, m Metadata) eventlog.Metadata {
	if m.client == nil || j.Keys == nil {
		return m.Metadata
	}
	if !m.client.tried {
		m.client.tried = true
		m.client.sealed = j.seal(ctx, m)
	}
	m.From = m.client.sealed
	return m.Metadata
}

// seal returns nil where the address cannot be sealed, and where the account's key was destroyed: then it would serve nobody.
func (j *Journal) seal(ctx context.Context, m Metadata) []byte {
	brief, cancel := context.WithTimeout(ctx, sealTimeout)
	defer cancel()
	sealed, err := j.Keys.Seal(brief, m.Actor.Account, []byte(m.client.address.String()), eventlog.FromUse(m.CommandID))
	if err != nil && !errors.Is(err, keyring.ErrErased) && ctx.Err() == nil && j.Unsealed != nil {
		j.Unsealed(err)
	}
	return sealed
}
