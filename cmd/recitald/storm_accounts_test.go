package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/recital-tts/recital/domain/account"
)

// revocationTakes is longer than a revocation takes to reach the other instances.
const revocationTakes = time.Second

// locksmith checks keys: a key is valid from its creation until its revocation.
type locksmith struct {
	visitor
	first    customer
	good     []customer
	revoked  []revokedKey
	doubtful int // keys whose revocation was not confirmed
}

type revokedKey struct {
	customer
	since time.Time
}

func newLocksmith(at *server, v visitor) *locksmith {
	return &locksmith{visitor: v, first: at.openAccount("indie")}
}

func (p *locksmith) work(at *server, r *rand.Rand) error {
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
		return p.requireRevoked(key.on(at))
	}
	return nil
}

func (k revokedKey) on(s *server) customer { return k.customer.at(s) }

// open opens an account. It ignores an account without a reply.
func (p *locksmith) open(at *server) {
	if c, opened := p.openAccount(at); opened {
		p.good = append(p.good, c)
	}
}

// openAccount opens an account with a key.
func (v visitor) openAccount(at *server) (c customer, ok bool) {
	request, err := http.NewRequest(http.MethodPost, at.admin+"/admin/accounts", strings.NewReader(`{"plan":"indie"}`))
	if err != nil {
		panic(err) // the address is invalid
	}
	request.Header.Set("Authorization", "Bearer "+at.secret("operator-token"))
	request.Header.Set("Content-Type", "application/json")
	answer, err := v.ask(request)
	if err != nil || answer.status != http.StatusOK {
		return customer{}, false
	}
	var opened struct {
		Account string `json:"account_id"`
		Key     string `json:"apikey"`
	}
	if json.Unmarshal(answer.body, &opened) != nil {
		return customer{}, false
	}
	return customer{server: at, id: opened.Account, key: opened.Key}, true
}

func (p *locksmith) revoke(at *server, r *rand.Rand) {
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
func (p *locksmith) requireGood(c customer) error {
	answer, err := p.ask(c.request(http.MethodGet, "/v1/account", nil))
	if err == nil && answer.status == http.StatusUnauthorized {
		return fmt.Errorf("a key of %s that was not revoked is refused: %s", c.id, answer.text())
	}
	return nil
}

func (p *locksmith) requireRevoked(c customer) error {
	answer, err := p.ask(c.request(http.MethodGet, "/v1/account", nil))
	if err == nil && answer.status == http.StatusOK {
		return fmt.Errorf("the revoked key of %s is accepted", c.id)
	}
	return nil
}

func (p *locksmith) settle([]*server, books) error { return nil }

func (p *locksmith) check(at *server, b books) error {
	for _, c := range append(p.good, p.first) {
		if !b.accounts[c.id].Exists() {
			return fmt.Errorf("the account %s is lost", c.id)
		}
		if answer, err := p.ask(c.at(at).request(http.MethodGet, "/v1/account", nil)); err != nil ||
			answer.status != http.StatusOK {
			return fmt.Errorf("the key of %s is refused: %d %v", c.id, answer.status, err)
		}
	}
	for _, key := range p.revoked {
		if answer, err := p.ask(key.on(at).request(http.MethodGet, "/v1/account", nil)); err != nil ||
			answer.status != http.StatusUnauthorized {
			return fmt.Errorf("the revoked key of %s gets %d %v", key.id, answer.status, err)
		}
	}
	return nil
}

func (p *locksmith) customers() []customer { return append([]customer{p.first}, p.good...) }

func (p *locksmith) String() string {
	return fmt.Sprintf("locksmith: %d keys good, %d revoked, %d doubtful", len(p.good)+1, len(p.revoked), p.doubtful)
}
