package credentials

import (
	"slices"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// cache holds the credentials that were used last. Unknown ones are not held: one of them may be created at any moment.
type cache struct {
	entries  *simplelru.LRU[string, entry]  // by key
	readFrom map[string]map[string]struct{} // by stream: the keys of the entries that it decides on
}

// entry is a valid credential according to the streams that decide on it.
type entry struct {
	Verified
	key  string    // in the cache: the name of the credential's own stream
	read []version // all streams with events that may end or change the credential
}

// version is a stream as far as it was read.
type version struct {
	stream   string
	revision eventlog.Revision
}

// revisionOf returns the revision up to which a stream was read.
func (e entry) revisionOf(stream string) eventlog.Revision {
	i := slices.IndexFunc(e.read, func(v version) bool { return v.stream == stream })
	if i < 0 {
		return eventlog.NoStream
	}
	return e.read[i].revision
}

// newerThan reports whether a stream of the entry was read further than for another one.
func (e entry) newerThan(other entry) bool {
	return slices.ContainsFunc(e.read, func(v version) bool { return v.revision > other.revisionOf(v.stream) })
}

func newCache(size int) *cache {
	c := &cache{readFrom: map[string]map[string]struct{}{}}
	c.entries, _ = simplelru.NewLRU(max(size, 1), func(_ string, e entry) { c.unlist(e) }) // fails without a size only
	return c
}

func (c *cache) holds(key string) bool { return c.entries.Contains(key) }

func (c *cache) get(key string) (entry, bool) { return c.entries.Get(key) }

// put adds an entry, unless a newer one is there.
func (c *cache) put(e entry) {
	if known, ok := c.entries.Peek(e.key); ok && known.newerThan(e) {
		return
	}
	c.entries.Add(e.key, e)
	for _, v := range e.read {
		if c.readFrom[v.stream] == nil {
			c.readFrom[v.stream] = map[string]struct{}{}
		}
		c.readFrom[v.stream][e.key] = struct{}{}
	}
}

// removeOlder removes the entries for which a stream was read only to before a revision.
func (c *cache) removeOlder(stream string, than eventlog.Revision) {
	for key := range c.readFrom[stream] {
		if e, ok := c.entries.Peek(key); ok && e.revisionOf(stream) < than {
			c.entries.Remove(key)
		}
	}
}

func (c *cache) unlist(e entry) {
	for _, v := range e.read {
		delete(c.readFrom[v.stream], e.key)
		if len(c.readFrom[v.stream]) == 0 {
			delete(c.readFrom, v.stream)
		}
	}
}

// counts are of all look-ups.
type counts struct{ hits, misses uint64 }

// Stats are figures for operators.
type Stats struct {
	Hits, Misses uint64 // look-ups that were answered from the cache, and others
	Cached       int    // credentials
	Watches      int    // of open WebSockets and streams
	Live         bool   // the cache is used
}

// Stats returns the figures of now.
func (w *Watcher) Stats() Stats {
	live := w.fresh.following()
	w.mu.Lock()
	defer w.mu.Unlock()
	return Stats{Hits: w.counts.hits, Misses: w.counts.misses, Cached: w.cache.entries.Len(), Watches: w.watches.open,
		Live: live}
}
