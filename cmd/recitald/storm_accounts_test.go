package main_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/recital-tts/recital/domain/account"
)

// revocationTakes is longer than a revocation takes to reach the other instances.
const revocationTakes = time.Second

// keyChecker checks keys: a key is valid from its creation until its revocation.
type keyChecker struct {
	stormClient
	first    customer
	good     []customer
	revoked  []revokedKey
	doubtful int // keys whose revocation was not confirmed
}

type revokedKey struct {
	customer
	since time.Time
}

func newKeyChecker(at *server, v stormClient) *keyChecker {
	return &keyChecker{stormClient: v, first: at.openAccount("indie")}
}

func (p *keyChecker) work(at *server, r *rand.Rand) error {
	switch r.IntN(6) {
	case 0:
		p.open(at)
	case 1:
		p.revoke(at, r)
	}
	if len(p.good) > 0 {
		if err := p.requireGood(p.good[r.IntN(len(p.good))].at(at)); err != nil {
			return err
		}
	}
	if len(p.revoked) == 0 {
		return nil
	}
	if key := p.revoked[r.IntN(len(p.revoked))]; time.Since(key.since) > revocationTakes {
		return p.requireRevoked(key.at(at))
	}
	return nil
}

// open opens an account. It ignores an account without a reply.
func (p *keyChecker) open(at *server) {
	if c, opened := p.openAccount(at, "indie"); opened {
		p.good = append(p.good, c)
	}
}

func (p *keyChecker) revoke(at *server, r *rand.Rand) {
	if len(p.good) < 3 {
		return
	}
	i := r.IntN(len(p.good))
	c := p.good[i]
	p.good = append(p.good[:i], p.good[i+1:]...)
	answer, err := p.ask(c.at(at).request(http.MethodDelete, "/v1/account/api_key/"+account.MaskAPIKey(c.key), nil))
	if err != nil || answer.status != http.StatusOK {
		p.doubtful++
		return
	}
	p.revoked = append(p.revoked, revokedKey{c, time.Now()})
}

// requireGood returns an error if a key is refused. Other failures of an instance do not count.
func (p *keyChecker) requireGood(c customer) error {
	if p.asks(c) == http.StatusUnauthorized {
		return fmt.Errorf("a key of %s that was not revoked is refused", c.id)
	}
	return nil
}

func (p *keyChecker) requireRevoked(c customer) error {
	if p.asks(c) == http.StatusOK {
		return fmt.Errorf("the revoked key of %s is accepted", c.id)
	}
	return nil
}

func (p *keyChecker) check(at *server, b books) error {
	for _, c := range append(p.good, p.first) {
		if !b.accounts[c.id].Exists() {
			return fmt.Errorf("the account %s is lost", c.id)
		}
		if status := p.asks(c.at(at)); status != http.StatusOK {
			return fmt.Errorf("the key of %s is refused: %d", c.id, status)
		}
	}
	for _, key := range p.revoked {
		if status := p.asks(key.at(at)); status != http.StatusUnauthorized {
			return fmt.Errorf("the revoked key of %s gets %d", key.id, status)
		}
	}
	return nil
}

func (p *keyChecker) customers() []customer { return append([]customer{p.first}, p.good...) }

func (p *keyChecker) String() string {
	return fmt.Sprintf("keys: %d keys good, %d revoked, %d doubtful", len(p.good)+1, len(p.revoked), p.doubtful)
}
