package credentials

import (
	"context"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/session"
)

// FindSession returns the session of a cookie, unless it was ended more than Config.Lease ago. The session's own stream
// and its account's decide. Errors: ErrUnknownSession, which may be a *ReplayedError; domain.Unavailable if the cache
// may not be used and the log does not respond.
func (w *Watcher) FindSession(ctx context.Context, shown session.Cookie) (Verified, error) {
	// If the cache refuses it, the log is read: another instance may have replaced the secret a moment ago.
	if found, ok := w.cached(ctx, session.Stream(shown.ID)); ok && w.admits(found.Session, shown) {
		return found, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	found, err := w.readSession(ctx, shown.ID)
	if err != nil {
		return Verified{}, err
	}
	switch {
	case w.admits(found.Session, shown):
		return found, nil
	case found.Session.Replaced(shown.Hash()):
		return Verified{}, &ReplayedError{Account: found.Account, Session: found.Name}
	}
	return Verified{}, ErrUnknownSession
}

// ReplayedError refuses a replaced secret of a live session after the overlap: two clients have had the session's
// cookie. It is an ErrUnknownSession.
type ReplayedError struct{ Account, Session string }

// Error implements error.
func (e *ReplayedError) Error() string { return ErrUnknownSession.Error() }

// Unwrap returns ErrUnknownSession.
func (e *ReplayedError) Unwrap() error { return ErrUnknownSession }

func (w *Watcher) admits(s session.State, shown session.Cookie) bool {
	now := time.Now()
	return s.Live(now, w.cfg.Idle) && s.Admits(shown.Hash(), now)
}

// readSession looks a session up in its stream and its account's.
func (w *Watcher) readSession(ctx context.Context, id string) (Verified, error) {
	own := session.Stream(id)
	r := w.begin(own)
	var read *entry
	defer func() { w.end(r, read) }()
	state, revision, err := w.cfg.Sessions.State(ctx, id)
	if err != nil {
		return Verified{}, failed("a session", err)
	}
	w.noteSilence(time.Time{}) // it has answered
	if w.cfg.Unconfirmed(own) {
		return Verified{}, errUnconfirmed
	}
	if !state.Live(time.Now(), w.cfg.Idle) {
		return Verified{}, ErrUnknownSession
	}
	of := account.Stream(state.Account)
	w.add(r, of)
	owner, ownerRevision, err := w.cfg.Accounts.State(ctx, state.Account)
	if err != nil {
		return Verified{}, failed("a session", err)
	}
	if w.cfg.Unconfirmed(of) {
		return Verified{}, errUnconfirmed
	}
	if !owner.Exists() || owner.Closed() || !state.OpenedAt.After(owner.SessionsRevokedAt) {
		return Verified{}, ErrUnknownSession
	}
	found := Verified{Credential: Credential{Account: state.Account, Kind: Session, Name: id},
		Entitlement: owner.Entitlement, Operator: owner.Operator, Session: state}
	read = &entry{Verified: found, key: own, read: []version{{own, revision}, {of, ownerRevision}}}
	return found, nil
}

// FindKey returns the API key with a hash. A key that was revoked more than Config.Lease ago is not found. The key's
// own stream leads to the account, and the account's stream decides. Errors: ErrUnknownKey; domain.Unavailable when
// neither the cache may be used nor the log answers.
func (w *Watcher) FindKey(ctx context.Context, hash string) (Verified, error) {
	if found, ok := w.cached(ctx, apikey.Stream(hash)); ok {
		return found, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	id, err := w.cfg.Accounts.KeyAccount(ctx, hash)
	if err != nil {
		return Verified{}, failed("an API key", err)
	}
	w.noteSilence(time.Time{}) // it has answered
	if id == "" {
		return Verified{}, ErrUnknownKey
	}
	return w.readKey(ctx, id, hash)
}

// readKey looks for a key in the stream of an account.
func (w *Watcher) readKey(ctx context.Context, id, hash string) (Verified, error) {
	stream := account.Stream(id)
	r := w.begin(stream)
	var read *entry
	defer func() { w.end(r, read) }()
	state, revision, err := w.cfg.Accounts.State(ctx, id)
	key, known := domain.First(state.Keys, func(k account.Key) bool { return k.Hash == hash })
	switch {
	case err != nil:
		return Verified{}, failed("an API key", err)
	case w.cfg.Unconfirmed(stream):
		return Verified{}, errUnconfirmed
	case !known || state.Closed():
		return Verified{}, ErrUnknownKey
	}
	found := Verified{Credential: Credential{Account: id, Kind: APIKey, Name: key.Masked},
		Entitlement: state.Entitlement, Operator: state.Operator}
	read = &entry{Verified: found, key: apikey.Stream(hash), read: []version{{stream, revision}}}
	return found, nil
}

// Kind is a kind of credential.
type Kind string

// The kinds of credentials.
const (
	APIKey  Kind = "api key"
	Session Kind = "session" // of a browser
)

// Credential names a credential without its secret.
type Credential struct {
	Account string
	Kind    Kind
	Name    string // of an API key: its masked form, which is unique among the account's valid keys; of a session: its id
}

// Verified is a valid credential with its data.
type Verified struct {
	Credential
	Entitlement plan.Entitlement // of the account
	Operator    bool             // the account has the role
	Session     session.State    // where it is one
}

// ErrUnknownKey is returned for an API key that never existed or was revoked.
var ErrUnknownKey error = domain.Refuse(domain.Unauthenticated, "Invalid API key")

// ErrUnknownSession is returned for a session that never existed, has ended or expired, or has another secret.
var ErrUnknownSession error = session.ErrInvalid
