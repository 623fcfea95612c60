package credentials

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// lookUpTimeout bounds a look-up. It is longer than an attempt of the event log's client, so that a connection that
// died silently costs some seconds and no error.
const lookUpTimeout = 7 * time.Second

var (
	errUnreadable  = domain.Refuse(domain.Unavailable, "The account cannot be read")
	errUnconfirmed = domain.Refuse(domain.Unavailable,
		"An operator has to confirm that this account's credentials are valid")
)

// cached looks a credential up in the cache. An entry is used if it is still there once the cache is known to be fresh.
func (w *Watcher) cached(ctx context.Context, key string) (Verified, bool) {
	if w.holds(key) && w.fresh.current(ctx) {
		if found, ok := w.entryNow(key); ok {
			return found, true
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts.misses++
	return Verified{}, false
}

// cachedNow is cached where the cache is known to be fresh already, and counts no miss: cached does.
func (w *Watcher) cachedNow(key string) (Verified, bool) {
	if !w.fresh.now() {
		return Verified{}, false
	}
	return w.entryNow(key)
}

// entryNow returns the entry of a cache that is fresh, and counts it.
func (w *Watcher) entryNow(key string) (Verified, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e, found := w.entry(key)
	if found {
		w.counts.hits++
	}
	return e.Verified, found
}

// entry returns the cached entry that may be admitted. The caller holds mu.
func (w *Watcher) entry(key string) (entry, bool) {
	w.outdateSkips()
	e, found := w.cache.get(key)
	return e, found && !w.unconfirmed(e.Credential)
}

// outdateSkips empties the cache once operators have changed which events are skipped. The caller holds mu.
func (w *Watcher) outdateSkips() {
	if skips := w.cfg.Registry.SkipsVersion(); skips != w.skips {
		w.cache, w.skips = newCache(w.cfg.Size), skips
	}
}

// unconfirmed reports whether a skipped event may have revoked a credential.
func (w *Watcher) unconfirmed(c Credential) bool {
	return w.cfg.Unconfirmed(account.Stream(c.Account)) || c.Kind == Session && w.cfg.Unconfirmed(session.Stream(c.Name))
}

func (w *Watcher) holds(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cache.holds(key)
}

// reading is a look-up that reads streams. Events that arrive meanwhile may be missing in what it reads.
type reading struct {
	arrived map[string]eventlog.Revision // the latest, by stream that is read
	skips   int                          // the version of the skipped events when it began
}

// begin begins a reading. The streams that decide on the credential must be added before they are read.
func (w *Watcher) begin(streams ...string) *reading {
	r := &reading{arrived: map[string]eventlog.Revision{}, skips: w.cfg.Registry.SkipsVersion()}
	w.add(r, streams...)
	return r
}

func (w *Watcher) add(r *reading, streams ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, stream := range streams {
		r.arrived[stream] = eventlog.NoStream
		if w.readings[stream] == nil {
			w.readings[stream] = map[*reading]struct{}{}
		}
		w.readings[stream][r] = struct{}{}
	}
}

// end ends a reading. The result is put into the cache unless a later event has arrived, because nothing would remove
// it again.
func (w *Watcher) end(r *reading, read *entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for stream, arrived := range r.arrived {
		delete(w.readings[stream], r)
		if len(w.readings[stream]) == 0 {
			delete(w.readings, stream)
		}
		if read != nil && arrived > read.revisionOf(stream) {
			read = nil
		}
	}
	w.outdateSkips()
	if read != nil && r.skips == w.skips {
		w.cache.put(*read)
	}
}

// outdate removes entries that were read from a stream before an event of it.
func (w *Watcher) outdate(stream string, revision uint64) {
	latest := eventlog.Revision(revision)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cache.removeOlder(stream, latest)
	for r := range w.readings[stream] {
		r.arrived[stream] = max(r.arrived[stream], latest)
	}
}

// failed returns the error of a look-up of something that could not be read.
func failed(what string, err error) error {
	switch {
	case domain.CodeOf(err) != "", errors.Is(err, context.Canceled):
	case errors.Is(err, context.DeadlineExceeded):
		err = errors.Join(err, eventlog.ErrUnavailable)
	default:
		err = errors.Join(err, errUnreadable)
	}
	return fmt.Errorf("looking %s up: %w", what, err)
}
