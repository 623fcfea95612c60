package journal

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Origin describes on whose behalf a command is executed and its cause. It is part of each event's metadata.
type Origin struct {
	Actor eventlog.Actor
	// Correlation is common to everything that belongs to one request. It is the value of the header request-id.
	Correlation string
	// Causation is the id of the event or command that caused this command; zero if a request did.
	Causation uuid.UUID
	// Client is the address of the requesting client; zero if there is none, or if it is not to be recorded.
	Client netip.Addr
}

// WithoutClient returns the origin of a command that is too frequent to record the client's address: synthesis.
func (o Origin) WithoutClient() Origin {
	o.Client = netip.Addr{}
	return o
}

// As returns the origin of a command for an account that turned out to be the client's.
func (o Origin) As(account string) Origin {
	o.Actor.Account = account
	return o
}

// System returns the origin of the service's own commands.
func System() Origin { return Origin{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}} }

// CausedBy returns the origin of the service's command that was caused by an event or a command, whose id becomes the
// correlation, too.
func CausedBy(cause uuid.UUID) Origin {
	o := System()
	o.Correlation, o.Causation = cause.String(), cause
	return o
}

// Metadata returns the metadata of a command.
func (o Origin) Metadata(command uuid.UUID, at time.Time) Metadata {
	m := Metadata{Metadata: eventlog.Metadata{
		CorrelationID: o.Correlation, CausationID: o.Causation, CommandID: command, Actor: o.Actor, Time: at.UTC(),
	}}
	if o.Client.IsValid() && o.Actor.Kind == eventlog.ActorAccount && o.Actor.Account != "" {
		m.client = &client{address: o.Client}
	}
	return m
}

// DeriveID returns the id of a command that follows from an object with an id or a name. It is the same on every
// instance and at every repetition: a UUIDv5 (RFC 9562, 5.5).
func DeriveID(from, what string) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(what+" "+from))
}

// EventID returns the id of a command's first event.
func EventID(command uuid.UUID) uuid.UUID { return eventlog.EventID(command, 0) }

// sealTimeout bounds the time for which a command waits for its account's key.
const sealTimeout = time.Second

// Metadata is the metadata of a command's events, and the address of its client, which becomes part of it when the
// events are appended.
type Metadata struct {
	eventlog.Metadata
	client *client // nil if none is recorded
}

// client is the client's address of a command.
type client struct {
	address netip.Addr
	tried   bool
	sealed  []byte
}

// sealed returns the metadata with the client's address, sealed with the key of the actor's account. It is sealed once
// for a command, so that a repeated append is identical. If sealing fails, the command is executed without the address:
// an owner must be able to revoke a key while the keyring does not respond.
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

// seal returns nil if the address cannot be sealed, or if the account's key was destroyed, because it would be
// unreadable.
func (j *Journal) seal(ctx context.Context, m Metadata) []byte {
	brief, cancel := context.WithTimeout(ctx, sealTimeout)
	defer cancel()
	sealed, err := j.Keys.Seal(brief, m.Actor.Account, []byte(m.client.address.String()), eventlog.FromUse(m.CommandID))
	if err != nil && !errors.Is(err, keyring.ErrErased) && ctx.Err() == nil && j.Unsealed != nil {
		j.Unsealed(err)
	}
	return sealed
}
