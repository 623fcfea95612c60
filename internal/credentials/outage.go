package credentials

import (
	"context"
	"errors"
	"time"

	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/internal/eventlog"
)

// FindKeyToRead is FindKey for requests that only read what the read models show. While the log is silent, it returns a
// key that was good at the last head that was seen, for as long as Config.Outage. Each answer of the log counts: the log
// is asked unless it was just found to be silent, and always by a process that stood still in the meantime.
func (w *Watcher) FindKeyToRead(ctx context.Context, hash string) (Verified, error) {
	key := apikey.Stream(hash)
	for {
		kept, ok := w.kept(key)
		switch {
		case !ok:
			return w.FindKey(ctx, hash)
		case w.justSilent():
			return kept, nil
		}
		asked := time.Now()
		found, err := w.findKeyBriefly(ctx, hash)
		switch {
		case ctx.Err() != nil, !errors.Is(err, eventlog.ErrUnavailable):
			return found, err
		case time.Since(asked) < 2*w.cfg.Silent: // otherwise this process stood still, and the log may have an answer by now
			w.noteSilence(time.Now())
		}
	}
}

func (w *Watcher) findKeyBriefly(ctx context.Context, hash string) (Verified, error) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.Silent)
	defer cancel()
	return w.FindKey(ctx, hash)
}

// kept returns a key from the cache if the log's head was seen recently enough.
func (w *Watcher) kept(key string) (Verified, bool) {
	if time.Since(w.fresh.lastSeen()) > w.cfg.Outage {
		return Verified{}, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e, ok := w.cache.get(key)
	return e.Verified, ok
}

func (w *Watcher) noteSilence(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent = at
}

// justSilent reports whether a look-up has just found that the log is silent, and nothing was heard of it since.
func (w *Watcher) justSilent() bool {
	w.mu.Lock()
	silent := w.silent
	w.mu.Unlock()
	return time.Since(silent) < w.cfg.Silent && w.fresh.lastSeen().Before(silent)
}
