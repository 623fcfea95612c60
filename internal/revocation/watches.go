package revocation

import (
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/recital-tts/recital/internal/web"
)

// rememberedRevocations is how many of the last revocations are known by heart, so that what a key opens while it is
// being revoked is ended, too: a request is authenticated a moment before it begins to watch.
const rememberedRevocations = 4096

// credential is an API key as a web.Principal names it.
type credential struct{ account, key string }

// watches are what ends with credentials.
type watches struct {
	of      map[string]map[*watch]struct{} // by account
	open    int
	revoked *simplelru.LRU[credential, struct{}] // the last ones
}

type watch struct {
	key     string // masked
	revoked func()
}

func newWatches() *watches {
	recent, _ := simplelru.NewLRU[credential, struct{}](rememberedRevocations, nil) // fails without a size only
	return &watches{of: map[string]map[*watch]struct{}{}, revoked: recent}
}

// Watch implements web.Revocations.
func (w *Watcher) Watch(principal web.Principal, revoked func()) (stop func()) {
	c := credential{account: principal.Account, key: principal.Key}
	watching := &watch{key: principal.Key, revoked: revoked}
	w.mu.Lock()
	already := w.watches.revoked.Contains(c)
	if !already {
		w.watches.add(c.account, watching)
	}
	w.mu.Unlock()
	if already {
		revoked()
		return func() {}
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.watches.remove(c.account, watching)
	}
}

// revoke ends what a credential has opened.
func (w *Watcher) revoke(c credential) {
	w.mu.Lock()
	w.watches.revoked.Add(c, struct{}{})
	ended := w.watches.take(c.account, func(key string) bool { return key == c.key })
	w.mu.Unlock()
	tell(ended)
}

// revokeAll ends what an account has opened.
func (w *Watcher) revokeAll(account string) {
	w.mu.Lock()
	ended := w.watches.take(account, func(string) bool { return true })
	w.mu.Unlock()
	tell(ended)
}

// revive forgets a revocation: a new key looks like the revoked one when masked.
func (w *Watcher) revive(c credential) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watches.revoked.Remove(c)
}

func tell(ended []*watch) {
	for _, watch := range ended {
		watch.revoked()
	}
}

func (w *watches) add(account string, watching *watch) {
	if w.of[account] == nil {
		w.of[account] = map[*watch]struct{}{}
	}
	w.of[account][watching] = struct{}{}
	w.open++
}

func (w *watches) remove(account string, watching *watch) {
	if _, there := w.of[account][watching]; !there {
		return
	}
	delete(w.of[account], watching)
	if len(w.of[account]) == 0 {
		delete(w.of, account)
	}
	w.open--
}

func (w *watches) take(account string, ends func(key string) bool) (taken []*watch) {
	for watching := range w.of[account] {
		if ends(watching.key) {
			taken = append(taken, watching)
		}
	}
	for _, watching := range taken {
		w.remove(account, watching)
	}
	return taken
}
