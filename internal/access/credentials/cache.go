package credentials

import (
	"slices"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// cache holds the most recently used credentials, except unknown ones, which may be created at any moment.
type cache struct {
	entries  *simplelru.LRU[string, entry]  // by key
	readFrom map[string]map[string]struct{} // by stream: the keys of the entries that depend on it
}

// entry is a valid credential, with the streams that it depends on.
type entry struct {
	Verified
	key  string    // in the cache: the name of the credential's own stream
	read []version // all streams with events that may end or change the credential
}

// version is a stream with the revision up to which it was read.
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

// newerThan reports whether a stream was read further for the entry than for another one.
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

// put adds an entry, unless the cache has a newer one.
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

// removeOlder removes the entries for which a stream was not read up to a revision.
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

// counts counts all look-ups.
type counts struct{ hits, misses uint64 }

// Stats are the figures for operators.
type Stats struct {
	Hits, Misses uint64 // look-ups that were answered from the cache, and others
	Cached       int    // credentials
	Watches      int    // of open WebSockets and streams
	Live         bool   // the cache is used
}

// Stats returns the current figures.
func (w *Watcher) Stats() Stats {
	live := w.fresh.following()
	w.mu.Lock()
	defer w.mu.Unlock()
	return Stats{Hits: w.counts.hits, Misses: w.counts.misses, Cached: w.cache.entries.Len(), Watches: w.watches.open,
		Live: live}
}
