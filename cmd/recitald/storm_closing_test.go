package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// leaver promises for accounts that are closed while keys are created: none of their keys admits anybody afterwards.
type leaver struct {
	visitor
	closed   []goneAccount
	keys     int
	doubtful int // accounts whose closing was not confirmed
}

// goneAccount is a closed account with the keys that it was given.
type goneAccount struct {
	id    string
	keys  []string
	since time.Time
}

func newLeaver(v visitor) *leaver { return &leaver{visitor: v} }

func (p *leaver) work(at *server, r *rand.Rand) error {
	if r.IntN(3) == 0 {
		p.leave(at, r)
	}
	if len(p.closed) == 0 {
		return nil
	}
	gone := p.closed[r.IntN(len(p.closed))]
	if time.Since(gone.since) < revocationTakes {
		return nil
	}
	return p.requireGone(at, gone.id, gone.keys[r.IntN(len(gone.keys))], false)
}

// leave opens an account, and closes it while others create keys for it, more than fit between two snapshots.
func (p *leaver) leave(at *server, r *rand.Rand) {
	c, opened := p.openAccount(at)
	if !opened {
		return
	}
	const creators = 4
	made := make([][]string, creators)
	var running sync.WaitGroup
	for i := range creators {
		running.Go(func() {
			for range 25 {
				key, created := p.createKey(c)
				if !created {
					return
				}
				made[i] = append(made[i], key)
			}
		})
	}
	pause := time.Duration(r.IntN(300)) * time.Millisecond
	time.Sleep(pause)
	answer, err := p.ask(c.request(http.MethodDelete, "/v1/account", nil))
	running.Wait()
	if err != nil || answer.status != http.StatusOK {
		p.doubtful++
		return
	}
	keys := append(slices.Concat(made...), c.key)
	p.keys += len(keys)
	p.closed = append(p.closed, goneAccount{c.id, keys, time.Now()})
}

func (p *leaver) createKey(c customer) (key string, created bool) {
	answer, err := p.ask(c.request(http.MethodGet, "/v1/account/new_api_key", nil))
	if err != nil || answer.status != http.StatusOK {
		return "", false
	}
	var made struct{ APIKey string }
	return made.APIKey, json.Unmarshal(answer.body, &made) == nil
}

// requireGone complains when a key of a closed account is accepted, and when calm, if it is not refused.
func (p *leaver) requireGone(at *server, id, key string, calm bool) error {
	c := customer{server: at, id: id, key: key}
	answer, err := p.ask(c.request(http.MethodGet, "/v1/account", nil))
	switch {
	case err == nil && answer.status == http.StatusOK:
		return fmt.Errorf("a key of the closed account %s is accepted", id)
	case calm && (err != nil || answer.status != http.StatusUnauthorized):
		return fmt.Errorf("a key of the closed account %s is answered with %d %v", id, answer.status, err)
	}
	return nil
}

func (p *leaver) settle([]*server, books) error { return nil }

func (p *leaver) check(at *server, b books) error {
	for _, gone := range p.closed {
		state := b.accounts[gone.id]
		if !state.Closed() || len(state.Keys) > 0 {
			return fmt.Errorf("the closed account %s is %q and has %d keys", gone.id, state.Closing, len(state.Keys))
		}
		for _, key := range gone.keys {
			if err := p.requireGone(at, gone.id, key, true); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *leaver) customers() []customer { return nil }

func (p *leaver) String() string {
	return fmt.Sprintf("leaver: %d accounts closed with %d keys, %d doubtful", len(p.closed), p.keys, p.doubtful)
}
