package revocation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/eventlog"
)

// lookUpTimeout bounds a look-up. It is longer than a try of the event log's client, so that a connection that died
// silently costs those who met it some seconds and not an error.
const lookUpTimeout = 7 * time.Second

// Key is an API key that was not revoked.
type Key struct {
	Account string
	Masked  string
	Plan    plan.Type // of the account
}

// ErrUnknownKey is Find's answer to a key that nobody has, or has any more.
var ErrUnknownKey error = domain.Refuse(domain.Unauthenticated, "Invalid API key")

var errUnreadable = domain.Refuse(domain.Unavailable, "The account cannot be read")

// Find tells whose key it is that has a hash. A key that was revoked more than a lease ago is not found. Errors:
// ErrUnknownKey; those of Owners; domain.Unavailable when neither what is kept may be used nor the log answers.
func (w *Watcher) Find(ctx context.Context, hash string) (Key, error) {
	if key, ok := w.kept(ctx, hash); ok {
		return key, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	owner, err := w.cfg.Owners.OwnerOf(ctx, hash)
	if err != nil {
		return Key{}, err
	}
	return w.read(ctx, owner, hash)
}

// kept answers from the cache. What is in there is used if it is still in there once it is known to be fresh.
func (w *Watcher) kept(ctx context.Context, hash string) (Key, bool) {
	fresh := w.holds(hash) && w.fresh.current(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	var entry entry
	var found bool
	if fresh {
		entry, found = w.cache.get(hash)
	}
	w.counts.count(found)
	return entry.Key, found
}

func (w *Watcher) holds(hash string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cache.holds(hash)
}

// read asks the account's stream, which has the last word: Postgres may be behind.
func (w *Watcher) read(ctx context.Context, owner, hash string) (Key, error) {
	f := w.depart(owner)
	state, revision, err := w.cfg.Accounts.State(ctx, owner)
	i := slices.IndexFunc(state.Keys, func(k account.Key) bool { return k.Hash == hash })
	if err != nil || i < 0 {
		w.land(f, nil)
		return Key{}, told(err)
	}
	key := Key{Account: owner, Masked: state.Keys[i].Masked, Plan: state.Plan}
	w.land(f, &entry{Key: key, hash: hash, revision: revision})
	return key, nil
}

// told is the answer where no key was found.
func told(err error) error {
	switch {
	case err == nil:
		return ErrUnknownKey
	case domain.CodeOf(err) != "":
		return fmt.Errorf("looking an API key up: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("looking an API key up: %w", errors.Join(err, eventlog.ErrUnavailable))
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("looking an API key up: %w", err)
	}
	return fmt.Errorf("looking an API key up: %w", errors.Join(err, errUnreadable))
}

// flight is one reading of an account's stream. Events that arrive meanwhile may be missing in what was read.
type flight struct {
	account string
	latest  eventlog.Revision // that arrived
}

func (w *Watcher) depart(account string) *flight {
	f := &flight{account: account, latest: eventlog.NoStream}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.flights[account] == nil {
		w.flights[account] = map[*flight]struct{}{}
	}
	w.flights[account][f] = struct{}{}
	return f
}

// land keeps what was read, unless a later event has arrived: nothing would remove it any more.
func (w *Watcher) land(f *flight, read *entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.flights[f.account], f)
	if len(w.flights[f.account]) == 0 {
		delete(w.flights, f.account)
	}
	if read != nil && f.latest <= read.revision {
		w.cache.put(*read)
	}
}

// forget removes what is older than an event of an account.
func (w *Watcher) forget(account string, revision uint64) {
	latest := eventlog.Revision(revision)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cache.removeOlder(account, latest)
	for f := range w.flights[account] {
		f.latest = max(f.latest, latest)
	}
}
