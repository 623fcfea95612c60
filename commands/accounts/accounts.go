// Package accounts opens and closes accounts, and changes their API keys, profiles and preferences, and the role of an
// operator.
package accounts

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Accounts executes the commands on accounts.
type Accounts struct {
	journal  *journal.Journal
	now      func() time.Time
	entitled func() time.Time // the time at which entitlements take effect
	random   io.Reader        // of keys
	keys     Keys             // of profiles and names
}

// Keys seal, open and fingerprint personal data with the keys of the keyring.
type Keys interface {
	keyring.Opener
	keyring.Fingerprinter
	// Seal encrypts data with an account's key; see keyring.Keyring.
	Seal(ctx context.Context, account string, plaintext []byte, use string) ([]byte, error)
}

// New returns an Accounts that takes the time from now.
func New(j *journal.Journal, now func() time.Time) *Accounts {
	return &Accounts{journal: j, now: now, entitled: now, random: rand.Reader}
}

// SealWith sets the keyring, without which profiles and names cannot be recorded. It is called before the first use.
func (a *Accounts) SealWith(keys Keys) { a.keys = keys }

// EntitleBy sets the clock of entitlements, if it differs from the other one. It is called before the first use.
func (a *Accounts) EntitleBy(now func() time.Time) { a.entitled = now }

// NewAccountID draws the id of an account.
func NewAccountID() string {
	id := uuid.Must(uuid.NewV7())
	return fmt.Sprintf("%x", id[:])
}

// State reads an account from its stream, since the last snapshot. It returns the state and the revision of its last
// event.
func (a *Accounts) State(ctx context.Context, id string) (account.State, eventlog.Revision, error) {
	state, version, err := journal.Load(ctx, a.journal, stream(id))
	return state, version.Revision, err
}

// execute executes a command on an account.
func (a *Accounts) execute(
	ctx context.Context, id string, decide func(at time.Time) command, origin journal.Origin,
) (eventlog.Position, error) {
	at := a.now().UTC()
	_, position, err := journal.Execute(ctx, a.journal, stream(id), decide(at), origin.Metadata(uuid.New(), at))
	return position, err
}

type (
	accountStream = journal.Stream[account.State, account.Event]
	command       = journal.Decider[account.State, account.Event]
)

// stream returns the stream of an account, loaded from its last snapshot.
func stream(id string) accountStream {
	return accountStream{
		Name: account.Stream(id), Evolve: account.Evolve, Snapshot: account.State.Snapshot,
	}
}
