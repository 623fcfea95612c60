// Package sessions opens the sessions of browsers, and ends them.
package sessions

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Config configures Sessions. The fields in the first group are required.
type Config struct {
	Journal  *journal.Journal
	Keys     keyring.Keyring
	Accounts Accounts
	Limits   Limits
	Now      func() time.Time
	Logger   *slog.Logger

	// Countries returns the country of an IP address, or "" for an unknown one. It may be nil.
	Countries func(address string) string
	// Shown returns the ids of an account's sessions in the read model, once that has reached a position, newest first.
	Shown func(ctx context.Context, account string, at eventlog.Position) (ids []string, err error)
}

// Accounts reads accounts.
type Accounts interface {
	State(ctx context.Context, account string) (account.State, eventlog.Revision, error)
}

// Limits bound sessions.
type Limits struct {
	Length time.Duration // from the sign-in, independent of the session's use
	Idle   time.Duration // without a use, to within session.SeenEvery
	Rotate time.Duration // after which a secret is replaced
	Live   int           // sessions of an account; the oldest ends when there are more
}

// Sessions executes the commands on sessions.
type Sessions struct {
	Config
	random io.Reader // of ids and secrets
}

// New returns a Sessions.
func New(config Config) *Sessions { return &Sessions{Config: config, random: rand.Reader} }

// State reads a session from its stream, and the revision of its last event.
func (s *Sessions) State(ctx context.Context, id string) (session.State, eventlog.Revision, error) {
	state, version, err := journal.Load(ctx, s.Journal, stream(id))
	return state, version.Revision, err
}

// stream returns the stream of a session, loaded from the last replacement of its secret.
func stream(id string) journal.Stream[session.State, session.Event] {
	return journal.Stream[session.State, session.Event]{Name: session.Stream(id), Evolve: session.Evolve}
}
