// Package credentials looks up credentials and ensures that a revoked one is refused immediately, on every instance. A
// Watcher follows the log with one subscription. It caches the credentials in use, so that most requests read neither
// the log nor Postgres, and drops a cached credential at any event in a stream that it depends on. The cache is used
// only while it provably lags the log by at most a moment. Otherwise the streams are read. The WebSockets and streams
// of a credential end with it.
//
// A credential is an API key or the session of a browser. The cache, the proof and the watches serve credentials of any
// kind: a kind has a look-up, which returns the streams that it has read, and events that end the credential.
//
//   - watcher: the events of the log
//   - freshness: the proof that the subscription is not behind
//   - keys: the look-up of API keys
//   - sessions: the look-up of sessions
//   - outage: credentials that were valid at the last known head, while the log does not respond
//   - reading: the common part of all look-ups
//   - cache: the most recently used credentials
//   - watches: WebSockets and streams that end with a credential
package credentials

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Config configures a Watcher. All fields after Logger are optional.
type Config struct {
	Log      eventlog.Log
	After    eventlog.Position // a head of the log: older events are in the streams that the Watcher reads
	Registry *eventlog.Registry
	Accounts Accounts
	Sessions Sessions
	Logger   *slog.Logger

	// Unconfirmed reports whether an event of a stream is skipped that may have revoked a credential. No credential is
	// admitted until an operator has confirmed that it did not. Recheck must be called after a change. Nil means never.
	Unconfirmed func(stream string) bool

	// Observe is called with each event of the log since the Watcher's start, in order, so that others need no
	// subscription of their own. It must not block, and may be nil.
	Observe func(event eventlog.Recorded)

	Size  int           // of the cache, in credentials; default 16,384, some 8 MB
	Lease time.Duration // maximum lag of the cache behind the log; default 100 ms, none if negative
	Wait  time.Duration // for a proof that the subscription is not behind; default 100 ms

	Outage time.Duration // time for which reads continue without the log, from the last known head; default none
	Idle   time.Duration // time after which an unused session ends; default 168 h
	Silent time.Duration // time after which a log counts as silent for reads that may continue without it; default 1 s
}

// Accounts reads the events that decide on an API key.
type Accounts interface {
	// KeyAccount returns the account in a key's own stream, or "" for a key that was never issued.
	KeyAccount(ctx context.Context, hash string) (account string, err error)
	State(ctx context.Context, account string) (account.State, eventlog.Revision, error)
}

// Sessions reads sessions from the log.
type Sessions interface {
	State(ctx context.Context, id string) (session.State, eventlog.Revision, error)
}

// Watcher looks up credentials and follows their revocation. Run must be running.
type Watcher struct {
	cfg   Config
	fresh *freshness

	mu       sync.Mutex
	cache    *cache
	skips    int                              // the version of the skipped events in the cache
	readings map[string]map[*reading]struct{} // by stream
	watches  *watches
	counts   counts
	silent   time.Time // when a look-up found the log silent; zero if a later one was answered
}

// New returns a Watcher that begins at Config.After.
func New(cfg Config) *Watcher {
	cfg.Size = cmp.Or(cfg.Size, 16_384)
	cfg.Lease = max(cmp.Or(cfg.Lease, 100*time.Millisecond), 0)
	cfg.Wait = cmp.Or(cfg.Wait, 100*time.Millisecond)
	cfg.Silent = cmp.Or(cfg.Silent, time.Second)
	cfg.Idle = cmp.Or(cfg.Idle, 168*time.Hour)
	if cfg.Unconfirmed == nil {
		cfg.Unconfirmed = func(string) bool { return false }
	}
	if cfg.Observe == nil {
		cfg.Observe = func(eventlog.Recorded) {}
	}
	return &Watcher{
		cfg: cfg, fresh: newFreshness(cfg.Log, cfg.After, cfg.Lease, cfg.Wait),
		cache: newCache(cfg.Size), readings: map[string]map[*reading]struct{}{}, watches: newWatches(),
	}
}

// Run follows the log until ctx ends or the log refuses the subscription.
func (w *Watcher) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var proving sync.WaitGroup
	defer proving.Wait()
	defer cancel()
	defer w.fresh.interrupt()
	proving.Go(func() { w.fresh.run(ctx) })

	subscription := w.cfg.Log.Subscribe(ctx, w.cfg.After)
	for delivery := range subscription.Deliveries() {
		w.take(delivery)
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("watching credentials: %w", subscription.Err())
}

func (w *Watcher) take(d eventlog.Delivery) {
	switch d.Kind {
	case eventlog.KindEvent:
		w.note(d.Event)
		w.cfg.Observe(d.Event)
		w.fresh.reach(d.Event.Position)
	case eventlog.KindCaughtUp:
		w.fresh.catchUp()
	case eventlog.KindInterrupted:
		w.fresh.interrupt()
	}
}

// note handles an event. Only the few events of accounts and sessions are decoded.
func (w *Watcher) note(event eventlog.Recorded) {
	id, ofAccount := strings.CutPrefix(event.Stream, account.StreamPrefix)
	if !ofAccount {
		w.noteSession(event)
		return
	}
	w.outdate(event.Stream, event.Revision)
	decoded, err := w.cfg.Registry.Decode(event)
	switch e := decoded.Event.(type) {
	case account.APIKeyRevoked:
		w.revoke(Credential{Account: id, Kind: APIKey, Name: e.Masked})
	case account.APIKeyCreated:
		w.revive(Credential{Account: id, Kind: APIKey, Name: e.Masked})
	case account.SessionsRevoked:
		w.revokeSessions(id, e.At)
	case account.Closed:
		w.revokeSessions(id, forever)
		w.revokeAll(id) // its keys, too: one created during the closing may not be among the revoked ones
	}
	if unreadable(err) {
		w.cfg.Logger.Error("an event of an account cannot be read; whatever its credentials have opened is ended", "account",
			id, "error", err)
		w.revokeAll(id)
	}
}

func (w *Watcher) noteSession(event eventlog.Recorded) {
	id, ofSession := strings.CutPrefix(event.Stream, session.StreamPrefix)
	if !ofSession {
		return
	}
	w.outdate(event.Stream, event.Revision)
	decoded, err := w.cfg.Registry.Decode(event)
	if e, ended := decoded.Event.(session.Ended); ended {
		w.revoke(Credential{Account: e.Account, Kind: Session, Name: id})
	}
	if unreadable(err) {
		w.cfg.Logger.Error("an event of a session cannot be read; whatever the session has opened is ended", "session", id,
			"error", err)
		w.revokeSession(id)
	}
}

func unreadable(err error) bool { return err != nil && !errors.Is(err, eventlog.ErrUnknownType) }

// rememberedRevocations is the number of recent revocations that are kept, so that a stream that a credential opens
// during its revocation ends, too: a request is authenticated a moment before it begins to watch.
const rememberedRevocations = 4096

// watches are the WebSockets and streams that end with credentials.
type watches struct {
	of      map[string]map[*watch]struct{} // by account
	open    int
	revoked *simplelru.LRU[Credential, struct{}] // the most recent ones
	// the most recent ones, by account: sessions opened until then have ended
	until *simplelru.LRU[string, time.Time]
}

type watch struct {
	credential Credential
	opened     time.Time // of a session
	revoked    func()
}

// openedBy reports whether it belongs to a session that was opened by a time.
func (w *watch) openedBy(t time.Time) bool {
	return w.credential.Kind == Session && !w.opened.After(t)
}

// forever is later than any session.
var forever = time.Unix(1<<40, 0)

func newWatches() *watches {
	recent, _ := simplelru.NewLRU[Credential, struct{}](rememberedRevocations, nil) // fails without a size only
	until, _ := simplelru.NewLRU[string, time.Time](rememberedRevocations, nil)
	return &watches{of: map[string]map[*watch]struct{}{}, revoked: recent, until: until}
}

// Watch calls revoked once when a credential is revoked, or immediately if it was just revoked. revoked must not block.
// opened is the time at which a session was opened. stop ends the watch and may be called again.
func (w *Watcher) Watch(c Credential, opened time.Time, revoked func()) (stop func()) {
	watching := &watch{credential: c, opened: opened, revoked: revoked}
	w.mu.Lock()
	already := w.watches.ended(watching) || w.unconfirmed(c)
	if !already {
		w.watches.add(watching)
	}
	w.mu.Unlock()
	if already {
		revoked()
		return func() {}
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.watches.remove(watching)
	}
}

// revoke ends the WebSockets and streams of a credential.
func (w *Watcher) revoke(c Credential) {
	w.endWatches(func(all *watches) []*watch {
		all.revoked.Add(c, struct{}{})
		return all.take(c.Account, func(of *watch) bool { return of.credential == c })
	})
}

// revokeAll ends the WebSockets and streams of an account.
func (w *Watcher) revokeAll(account string) {
	w.endWatches(func(all *watches) []*watch { return all.take(account, func(*watch) bool { return true }) })
}

// Recheck ends the WebSockets and streams of credentials that a skipped event may have revoked.
func (w *Watcher) Recheck() {
	w.endWatches(func(all *watches) []*watch {
		return all.takeOfAll(func(of *watch) bool { return w.unconfirmed(of.credential) })
	})
}

// revokeSessions ends the WebSockets and streams of an account's sessions that were opened until a time.
func (w *Watcher) revokeSessions(account string, until time.Time) {
	w.endWatches(func(all *watches) []*watch {
		all.until.Add(account, until)
		return all.take(account, func(of *watch) bool { return of.openedBy(until) })
	})
}

// revokeSession ends the WebSockets and streams of a session of an unknown account.
func (w *Watcher) revokeSession(id string) {
	w.endWatches(func(all *watches) []*watch {
		return all.takeOfAll(func(of *watch) bool { return of.credential.Kind == Session && of.credential.Name == id })
	})
}

// endWatches calls revoked for the watches that take returns. It is called without the mutex, which take needs.
func (w *Watcher) endWatches(take func(*watches) []*watch) {
	w.mu.Lock()
	ended := take(w.watches)
	w.mu.Unlock()
	for _, watch := range ended {
		watch.revoked()
	}
}

// revive forgets a revocation, because a new key has the masked form of the revoked one.
func (w *Watcher) revive(c Credential) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watches.revoked.Remove(c)
}

func (w *watches) add(watching *watch) {
	account := watching.credential.Account
	if w.of[account] == nil {
		w.of[account] = map[*watch]struct{}{}
	}
	w.of[account][watching] = struct{}{}
	w.open++
}

func (w *watches) remove(watching *watch) {
	account := watching.credential.Account
	if _, there := w.of[account][watching]; !there {
		return
	}
	delete(w.of[account], watching)
	if len(w.of[account]) == 0 {
		delete(w.of, account)
	}
	w.open--
}

// ended reports whether the watched credential has already ended.
func (w *watches) ended(watching *watch) bool {
	until, some := w.until.Get(watching.credential.Account)
	return w.revoked.Contains(watching.credential) || some && watching.openedBy(until)
}

func (w *watches) takeOfAll(ends func(*watch) bool) (taken []*watch) {
	for account := range w.of {
		taken = append(taken, w.take(account, ends)...)
	}
	return taken
}

func (w *watches) take(account string, ends func(*watch) bool) (taken []*watch) {
	for watching := range w.of[account] {
		if ends(watching) {
			taken = append(taken, watching)
		}
	}
	for _, watching := range taken {
		w.remove(watching)
	}
	return taken
}
