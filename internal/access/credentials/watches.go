package credentials

import (
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// rememberedRevocations is how many of the last revocations are remembered, so that what a credential opens while it is
// being revoked ends, too: a request is authenticated a moment before it begins to watch.
const rememberedRevocations = 4096

// watches are what ends with credentials.
type watches struct {
	of      map[string]map[*watch]struct{} // by account
	open    int
	revoked *simplelru.LRU[Credential, struct{}] // the last ones
	// by account, the last ones: sessions that were opened until then have ended
	until *simplelru.LRU[string, time.Time]
}

type watch struct {
	credential Credential
	opened     time.Time // of a session
	revoked    func()
}

// openedBy reports whether it is of a session that was opened by a time.
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

// Watch calls revoked once when a credential is revoked, at once where it was revoked a moment ago. It must not block.
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

// revoke ends what a credential has opened.
func (w *Watcher) revoke(c Credential) {
	w.mu.Lock()
	w.watches.revoked.Add(c, struct{}{})
	ended := w.watches.take(c.Account, func(of *watch) bool { return of.credential == c })
	w.mu.Unlock()
	notify(ended)
}

// revokeAll ends what an account has opened.
func (w *Watcher) revokeAll(account string) {
	w.mu.Lock()
	ended := w.watches.take(account, func(*watch) bool { return true })
	w.mu.Unlock()
	notify(ended)
}

// Recheck ends what credentials have opened that a skipped event may have revoked.
func (w *Watcher) Recheck() {
	w.mu.Lock()
	var ended []*watch
	for account := range w.watches.of {
		ended = append(ended, w.watches.take(account, func(of *watch) bool { return w.unconfirmed(of.credential) })...)
	}
	w.mu.Unlock()
	notify(ended)
}

// revokeSessions ends what the sessions of an account have opened that were opened themselves until a time.
func (w *Watcher) revokeSessions(account string, until time.Time) {
	w.mu.Lock()
	w.watches.until.Add(account, until)
	ended := w.watches.take(account, func(of *watch) bool { return of.openedBy(until) })
	w.mu.Unlock()
	notify(ended)
}

// revokeSession ends what a session has opened, whose account is not known.
func (w *Watcher) revokeSession(id string) {
	w.mu.Lock()
	var ended []*watch
	for account := range w.watches.of {
		ended = append(ended,
			w.watches.take(account, func(of *watch) bool { return of.credential == Credential{account, Session, id} })...)
	}
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

// ended reports whether what is to be watched has ended already.
func (w *watches) ended(watching *watch) bool {
	until, some := w.until.Get(watching.credential.Account)
	return w.revoked.Contains(watching.credential) || some && watching.openedBy(until)
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
