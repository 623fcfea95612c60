// Package revocation makes sure that a revoked API key is refused at once, on every instance. A Watcher follows the log
// with one subscription. It keeps whose a key is, so that most requests ask neither Postgres nor the log, and forgets it
// when anything happens to the account. What it keeps is used only while it is known that no more than a moment of the
// log is missing; otherwise the account's stream is read. And it ends the WebSockets and streams of a key.
//
//   - watcher: what comes from the log
//   - freshness: how it is known that the subscription is not behind
//   - keys: whose a key is
//   - cache: what is kept of that
//   - watches: what ends with a key
package revocation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/eventlog"
)

// Config is what a Watcher is made of. All but the last three fields are needed.
type Config struct {
	Log      eventlog.Log
	Registry *eventlog.Registry
	Accounts Accounts
	Owners   Owners
	Logger   *slog.Logger

	Keys  int           // that are kept; default 16,384, some 6 MB
	Lease time.Duration // how much of the log may be unknown where what is kept is used; default 100 ms, negative: nothing
	Wait  time.Duration // how long it is waited for a proof that the subscription is not behind; default 100 ms
}

// Accounts reads accounts from their streams, and never from what may be behind.
type Accounts interface {
	State(ctx context.Context, account string) (account.State, eventlog.Revision, error)
}

// Owners finds the account of a key by its hash, possibly from what is behind. Where there is none, that is a
// domain.Unauthenticated error.
type Owners interface {
	OwnerOf(ctx context.Context, hash string) (account string, err error)
}

// Watcher knows whose API keys are. Open makes it, and Run must run.
type Watcher struct {
	cfg   Config
	after eventlog.Position // where the subscription begins
	fresh *freshness

	mu      sync.Mutex
	cache   *cache
	flights map[string]map[*flight]struct{} // by account
	watches *watches
	counts  counts
}

// Open makes a Watcher that begins at the log's head: all that is older is in the streams that it reads.
func Open(ctx context.Context, cfg Config) (*Watcher, error) {
	cfg.Keys = cmp.Or(cfg.Keys, 16_384)
	cfg.Lease = max(cmp.Or(cfg.Lease, 100*time.Millisecond), 0)
	cfg.Wait = cmp.Or(cfg.Wait, 100*time.Millisecond)
	head, err := cfg.Log.Head(ctx)
	if err != nil {
		return nil, fmt.Errorf("beginning to watch for revocations: %w", err)
	}
	return &Watcher{
		cfg: cfg, after: head, fresh: newFreshness(cfg.Log, head, cfg.Lease, cfg.Wait),
		cache: newCache(cfg.Keys), flights: map[string]map[*flight]struct{}{}, watches: newWatches(),
	}, nil
}

// Run follows the log until ctx ends, or until the log refuses to be followed.
func (w *Watcher) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var proving sync.WaitGroup
	defer proving.Wait()
	defer cancel()
	defer w.fresh.interrupt()
	proving.Go(func() { w.fresh.run(ctx) })

	subscription := w.cfg.Log.Subscribe(ctx, w.after)
	for delivery := range subscription.Deliveries() {
		w.take(delivery)
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("watching for revocations: %w", subscription.Err())
}

func (w *Watcher) take(d eventlog.Delivery) {
	switch d.Kind {
	case eventlog.KindEvent:
		w.note(d.Event)
		w.fresh.reach(d.Event.Position)
	case eventlog.KindCaughtUp:
		w.fresh.catchUp()
	case eventlog.KindInterrupted:
		w.fresh.interrupt()
	}
}

// note looks at an event, which is one of an account only now and then: no other is decoded.
func (w *Watcher) note(event eventlog.Recorded) {
	id, found := strings.CutPrefix(event.Stream, account.StreamPrefix)
	if !found {
		return
	}
	w.forget(id, event.Revision)
	decoded, err := w.cfg.Registry.Decode(event)
	switch e := decoded.Event.(type) {
	case account.APIKeyRevoked:
		w.revoke(credential{account: id, key: e.Masked})
	case account.APIKeyCreated:
		w.revive(credential{account: id, key: e.Masked})
	}
	if err != nil && !errors.Is(err, eventlog.ErrUnknownType) {
		w.cfg.Logger.Error("an event of an account cannot be read; whatever its keys have opened is ended", "account", id, "error", err)
		w.revokeAll(id)
	}
}
