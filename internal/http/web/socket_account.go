package web

import (
	"sync"
	"time"

	"github.com/recital-tts/recital/domain"
)

// Authenticate looks the caller up, by a key from a message or, where that is empty, the handshake's x-api-key header or
// session cookie.
// From then on the socket counts among its account's, and ends when the credential is revoked. Errors: as for requests,
// and a 429 when the account has too many sockets. It is called once, by the handler's own goroutine.
func (c *Conn) Authenticate(key string) (Principal, error) {
	var err error
	if key == "" {
		key, err = c.visit.single(headerAPIKey)
	}
	if err != nil {
		return Principal{}, err
	}
	principal, err := c.lookUp(key)
	if err != nil {
		return Principal{}, err
	}
	if !c.server.sockets.enter(principal.Account, c.server.cfg.Limits.AccountSockets) {
		return Principal{}, TooManyRequests("The account has too many open WebSockets", time.Second)
	}
	c.release = append(c.release, func() { c.server.sockets.leave(principal.Account) })
	if revocations := c.server.cfg.Revocations; revocations != nil {
		c.release = append(c.release, revocations.Watch(principal, func() { c.visit.life.cancel(principal.ended()) }))
	}
	c.Principal, c.visit.Principal = principal, principal
	c.mu.Lock()
	c.pause = c.server.cfg.Limits.SocketIdle
	c.mu.Unlock()
	c.active()
	return principal, nil
}

// lookUp returns the owner of a key or, where that is empty, of the session that the handshake showed.
func (c *Conn) lookUp(key string) (Principal, error) {
	s, call := c.server, c.visit.Call
	if key != "" {
		return s.lookUpKey(call, s.cfg.Authenticator, key)
	}
	cookie, err := call.cookieOf()
	switch {
	case err != nil:
		return Principal{}, err
	case cookie == "" || s.cfg.Sessions == nil:
		return Principal{}, domain.Refuse(domain.Unauthenticated, "An API key is needed, as X-API-Key in the first message")
	case !s.sameOrigin(call):
		return Principal{}, errNoProof
	}
	return s.lookUpSession(call, cookie, SessionUse{KeepsOld: true})
}

// socketCount counts open sockets by account.
type socketCount struct {
	mu   sync.Mutex
	open map[string]int
}

func (s *socketCount) count() (all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, open := range s.open {
		all += open
	}
	return all
}

func (s *socketCount) enter(account string, limit int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[account] >= limit {
		return false
	}
	if s.open == nil {
		s.open = map[string]int{}
	}
	s.open[account]++
	return true
}

func (s *socketCount) leave(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[account]--; s.open[account] == 0 {
		delete(s.open, account)
	}
}
