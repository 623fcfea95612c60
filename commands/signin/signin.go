// Package signin signs in people whom an identity provider has authenticated: it finds or opens the account of the
// identity, and opens a session.
package signin

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/identity"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/signin"
)

// Accounts is the part of accounts that a sign-in needs. Each method can be repeated without further effect. The error
// for a closed account is account.ErrClosed.
type Accounts interface {
	// OpenFor opens the account of an identity. free is the last free period of the identity's closed account; nil for
	// none.
	OpenFor(
		ctx context.Context, account, identity string, free *account.FreePeriod, origin journal.Origin,
	) (eventlog.Position, error)
	RecordProfile(
		ctx context.Context, account string, p account.Profile, origin journal.Origin,
	) (eventlog.Position, error)
	// State has the identity for which the account was opened, or "" for none.
	State(ctx context.Context, account string) (account.State, eventlog.Revision, error)
}

// Sessions opens sessions.
type Sessions interface {
	Open(
		ctx context.Context, account string, client session.Client, origin journal.Origin,
	) (session.Issued, eventlog.Position, error)
}

// FreePeriods returns the free periods of accounts.
type FreePeriods interface {
	// FreePeriodOf returns the current free period of an account, or nil.
	FreePeriodOf(ctx context.Context, account string) (*account.FreePeriod, error)
}

// Keys are the part of the keyring that a sign-in needs.
type Keys interface {
	keyring.Fingerprinter
	// Seal encrypts data with an account's key; see keyring.Keyring.
	Seal(ctx context.Context, account string, plaintext []byte, use string) ([]byte, error)
}

// SignIns signs people in.
type SignIns struct {
	journal  *journal.Journal
	keys     Keys
	accounts Accounts
	sessions Sessions
	periods  FreePeriods
	draw     func() string // draws the id of an account
	now      func() time.Time
}

// Config configures SignIns.
type Config struct {
	Journal     *journal.Journal
	Keys        Keys
	Accounts    Accounts
	Sessions    Sessions
	FreePeriods FreePeriods
	DrawAccount func() string
	Now         func() time.Time
}

// New returns SignIns.
func New(c Config) *SignIns {
	return &SignIns{
		journal: c.Journal, keys: c.Keys, accounts: c.Accounts, sessions: c.Sessions, periods: c.FreePeriods,
		draw: c.DrawAccount, now: c.Now,
	}
}

// Arrival is a person who returns from a provider.
type Arrival struct {
	Person    signin.Person
	UTMSource string
	Client    session.Client
}

// SignIn opens a session for a person. At the first time, and after the person's account was closed, it opens an
// account, too. Each step is repeated at each sign-in without further effect, so that a sign-in completes an
// interrupted one.
func (s *SignIns) SignIn(
	ctx context.Context, a Arrival, origin journal.Origin,
) (session.Issued, eventlog.Position, error) {
	id, err := s.identify(ctx, a.Person)
	if err != nil {
		return session.Issued{}, eventlog.Position{}, err
	}
	for {
		owner, err := s.claim(ctx, id, a, origin)
		if err != nil {
			return session.Issued{}, eventlog.Position{}, err
		}
		opened, position, err := s.enter(ctx, id, owner, a, origin)
		if !errors.Is(err, account.ErrClosed) {
			return opened, position, err
		}
		// The closing has not reached the identity yet. The person need not wait for it.
		if err := s.release(ctx, id, owner.Account); err != nil {
			return session.Issued{}, eventlog.Position{}, err
		}
	}
}

// identify returns the id of a person's identity.
func (s *SignIns) identify(ctx context.Context, p signin.Person) (string, error) {
	print, err := s.keys.Fingerprint(ctx, []byte(strconv.Quote(p.Issuer)+strconv.Quote(p.Subject)), "identity")
	if err != nil {
		return "", fmt.Errorf("identifying a person: %w", err)
	}
	return hex.EncodeToString(print), nil
}

// claim returns the identity with its account, which is a new one if it has none.
func (s *SignIns) claim(ctx context.Context, id string, a Arrival, origin journal.Origin) (identity.State, error) {
	at := s.now().UTC()
	claim := identity.Claim{Identity: id, Account: s.draw(), Provider: a.Client.Provider, At: at}
	kept := journal.NewCached(s.journal, stream(id))
	if err := kept.Refresh(ctx); err != nil {
		return identity.State{}, err
	}
	if kept.State().Account == "" && a.UTMSource != "" { // sealing creates a key for the account
		var err error
		if claim.SealedUTMSource, err = s.keys.Seal(ctx, claim.Account, []byte(a.UTMSource),
			identity.SealedForUTMSource); err != nil {
			return identity.State{}, fmt.Errorf("sealing the source of a visit: %w", err)
		}
	}
	state, _, err := kept.Execute(ctx, claim, origin.As(claim.Account).Metadata(uuid.New(), at))
	return state, err
}

// enter completes the account, and opens a session.
func (s *SignIns) enter(
	ctx context.Context, id string, owner identity.State, a Arrival, origin journal.Origin,
) (session.Issued, eventlog.Position, error) {
	origin = origin.As(owner.Account)
	free := (*account.FreePeriod)(owner.FreePeriod)
	if _, err := s.accounts.OpenFor(ctx, owner.Account, id, free, origin); err != nil {
		return session.Issued{}, eventlog.Position{}, fmt.Errorf("opening the account of an identity: %w", err)
	}
	profile := account.Profile{Name: a.Person.Name, Email: a.Person.Email, Picture: a.Person.Picture}
	if _, err := s.accounts.RecordProfile(ctx, owner.Account, profile, origin); err != nil {
		return session.Issued{}, eventlog.Position{}, fmt.Errorf("recording the profile of an identity: %w", err)
	}
	opened, position, err := s.sessions.Open(ctx, owner.Account, a.Client, origin)
	if err != nil {
		return session.Issued{}, eventlog.Position{}, fmt.Errorf("opening a session: %w", err)
	}
	return opened, position, nil
}

// Release ends the tie between a closed account and the identity for which it was opened. It can be repeated.
func (s *SignIns) Release(ctx context.Context, account string) error {
	state, _, err := s.accounts.State(ctx, account)
	if err != nil || state.Identity == "" {
		return err
	}
	return s.release(ctx, state.Identity, account)
}

func (s *SignIns) release(ctx context.Context, id, account string) error {
	free, err := s.periods.FreePeriodOf(ctx, account)
	if err != nil {
		return fmt.Errorf("reading the free period of a closed account: %w", err)
	}
	at := s.now().UTC()
	release := identity.Release{Identity: id, Account: account, FreePeriod: (*identity.FreePeriod)(free), At: at}
	_, _, err = journal.Execute(ctx, s.journal, stream(id), release, journal.System().Metadata(uuid.New(), at))
	return err
}

func stream(id string) journal.Stream[identity.State, identity.Event] {
	return journal.Stream[identity.State, identity.Event]{Name: identity.Stream(id), Evolve: identity.Evolve}
}
