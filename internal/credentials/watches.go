package credentials

import "github.com/hashicorp/golang-lru/v2/simplelru"

// rememberedRevocations is how many of the last revocations are remembered, so that what a credential opens while it is
// being revoked ends, too: a request is authenticated a moment before it begins to watch.
const rememberedRevocations = 4096

// watches are what ends with credentials.
type watches struct {
	of      map[string]map[*watch]struct{} // by account
	open    int
	revoked *simplelru.LRU[Credential, struct{}] // the last ones
}

type watch struct {
	credential Credential
	revoked    func()
}

func newWatches() *watches {
	recent, _ := simplelru.NewLRU[Credential, struct{}](rememberedRevocations, nil) // fails without a size only
	return &watches{of: map[string]map[*watch]struct{}{}, revoked: recent}
}

// Watch calls revoked once when a credential is revoked, at once where it was revoked a moment ago. It must not block.
// stop ends the watch and may be called again.
func (w *Watcher) Watch(c Credential, revoked func()) (stop func()) {
	watching := &watch{credential: c, revoked: revoked}
	w.mu.Lock()
	already := w.watches.revoked.Contains(c)
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

// revoke ends what a credential has opened.
func (w *Watcher) revoke(c Credential) {
	w.mu.Lock()
	w.watches.revoked.Add(c, struct{}{})
	ended := w.watches.take(c.Account, func(of Credential) bool { return of == c })
	w.mu.Unlock()
	notify(ended)
}

// revokeAll ends what an account has opened.
func (w *Watcher) revokeAll(account string) {
	w.mu.Lock()
	ended := w.watches.take(account, func(Credential) bool { return true })
	w.mu.Unlock()
	notify(ended)
}

// revive forgets a revocation: a new key has the masked form of the revoked one.
func (w *Watcher) revive(c Credential) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watches.revoked.Remove(c)
}

func notify(ended []*watch) {
	for _, watch := range ended {
		watch.revoked()
	}
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

func (w *watches) take(account string, ends func(Credential) bool) (taken []*watch) {
	for watching := range w.of[account] {
		if ends(watching.credential) {
			taken = append(taken, watching)
		}
	}
	for _, watching := range taken {
		w.remove(watching)
	}
	return taken
}
