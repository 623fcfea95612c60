package revocation

import (
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/recital-tts/recital/internal/eventlog"
)

// cache keeps whose keys were used last. Unknown keys are not kept: one of them may be created at any moment.
type cache struct {
	byHash    *simplelru.LRU[string, entry]
	byAccount map[string]map[string]struct{} // the hashes
}

// entry is a key as its account's stream told up to a revision.
type entry struct {
	Key
	hash     string
	revision eventlog.Revision
}

func newCache(size int) *cache {
	c := &cache{byAccount: map[string]map[string]struct{}{}}
	c.byHash, _ = simplelru.NewLRU(max(size, 1), func(_ string, e entry) { c.unlist(e) }) // fails without a size only
	return c
}

func (c *cache) holds(hash string) bool { return c.byHash.Contains(hash) }

func (c *cache) get(hash string) (entry, bool) { return c.byHash.Get(hash) }

// put keeps a key, unless more is known of it.
func (c *cache) put(e entry) {
	if known, ok := c.byHash.Peek(e.hash); ok && known.revision > e.revision {
		return
	}
	c.byHash.Add(e.hash, e)
	if c.byAccount[e.Account] == nil {
		c.byAccount[e.Account] = map[string]struct{}{}
	}
	c.byAccount[e.Account][e.hash] = struct{}{}
}

// removeOlder removes an account's keys that were read before a revision.
func (c *cache) removeOlder(account string, than eventlog.Revision) {
	for hash := range c.byAccount[account] {
		if e, ok := c.byHash.Peek(hash); ok && e.revision < than {
			c.byHash.Remove(hash)
		}
	}
}

func (c *cache) unlist(e entry) {
	delete(c.byAccount[e.Account], e.hash)
	if len(c.byAccount[e.Account]) == 0 {
		delete(c.byAccount, e.Account)
	}
}

// counts are of all look-ups.
type counts struct{ hits, misses uint64 }

func (c *counts) count(hit bool) {
	if hit {
		c.hits++
		return
	}
	c.misses++
}

// Stats are figures for operators.
type Stats struct {
	Hits, Misses uint64 // look-ups that were answered from the cache, and others
	Keys         int    // in the cache
	Watches      int    // of open WebSockets and streams
	Live         bool   // the cache is used
}

// Stats tells how the Watcher does.
func (w *Watcher) Stats() Stats {
	live := w.fresh.following()
	w.mu.Lock()
	defer w.mu.Unlock()
	return Stats{Hits: w.counts.hits, Misses: w.counts.misses, Keys: w.cache.byHash.Len(), Watches: w.watches.open, Live: live}
}
