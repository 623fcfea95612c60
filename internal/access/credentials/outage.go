package credentials

import (
	"context"
	"errors"
	"time"

	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// FindKeyToRead is FindKey for requests that only read the read models. While the log is silent, it returns a key that
// was valid at the last known head, for up to Config.Outage. The log is asked first unless it was just found to be
// silent, and always by a process that was suspended in the meantime.
func (w *Watcher) FindKeyToRead(ctx context.Context, hash string) (Verified, error) {
	find := func(ctx context.Context) (Verified, error) { return w.FindKey(ctx, hash) }
	return w.findToRead(ctx, apikey.Stream(hash), find, func(Verified) bool { return true })
}

// FindSessionToRead does for a session what FindKeyToRead does for a key.
func (w *Watcher) FindSessionToRead(ctx context.Context, shown session.Cookie) (Verified, error) {
	find := func(ctx context.Context) (Verified, error) { return w.FindSession(ctx, shown) }
	return w.findToRead(ctx, session.Stream(shown.ID), find, func(v Verified) bool { return w.admits(v.Session, shown) })
}

func (w *Watcher) findToRead(
	ctx context.Context, key string, find func(context.Context) (Verified, error), good func(Verified) bool,
) (Verified, error) {
	for {
		if found, ok := w.cachedNow(key); ok && good(found) {
			return found, nil
		}
		kept, ok := w.kept(key)
		switch {
		case !ok || !good(kept):
			return find(ctx)
		case w.justSilent():
			return kept, nil
		}
		asked := time.Now()
		found, err := w.findBriefly(ctx, find)
		switch {
		case ctx.Err() != nil, !errors.Is(err, eventlog.ErrUnavailable):
			return found, err
		case time.Since(asked) < 2*w.cfg.Silent: // otherwise this process stood still, and the log may have an answer by now
			w.noteSilence(time.Now())
		}
	}
}

func (w *Watcher) findBriefly(ctx context.Context, find func(context.Context) (Verified, error)) (Verified, error) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.Silent)
	defer cancel()
	return find(ctx)
}

// kept returns a credential from the cache if the log's head was seen recently enough.
func (w *Watcher) kept(key string) (Verified, bool) {
	if time.Since(w.fresh.lastSeen()) > w.cfg.Outage {
		return Verified{}, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e, ok := w.entry(key)
	return e.Verified, ok
}

func (w *Watcher) noteSilence(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent = at
}

// justSilent reports whether a look-up has just found that the log is silent, and it has not responded since.
func (w *Watcher) justSilent() bool {
	w.mu.Lock()
	silent := w.silent
	w.mu.Unlock()
	return time.Since(silent) < w.cfg.Silent && w.fresh.lastSeen().Before(silent)
}
