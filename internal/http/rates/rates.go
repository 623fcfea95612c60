// Package rates limits the rates of requests that append to the log, by account and by address, and of wrong
// credentials, by address: token buckets with a burst of four seconds. Each instance counts its own.
package rates

import (
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

const (
	// burst is the size of a full bucket, in seconds of its rate.
	burst = 4
	// remembered bounds the accounts and the addresses with a bucket, of about 300 bytes each. One that is forgotten has
	// a full bucket.
	remembered = 1 << 15
)

// Limits are numbers per second. 0 is no limit.
type Limits struct {
	Accounts map[string]int // by plan
	Address  int            // of each
	Failures int            // wrong credentials of each address
}

// Limiter counts requests and wrong credentials. It is safe for concurrent use. A nil Limiter limits nothing.
type Limiter struct {
	limits    Limits
	accounts  *lru.Cache[string, *rate.Limiter]
	addresses *lru.Cache[netip.Addr, *rate.Limiter]
	failures  *lru.Cache[netip.Addr, *rate.Limiter] // by address

	accountsOver, addressesOver atomic.Uint64
}

// New returns a Limiter.
func New(limits Limits) *Limiter {
	accounts, _ := lru.New[string, *rate.Limiter](remembered) // fails for a size below 1
	addresses, _ := lru.New[netip.Addr, *rate.Limiter](remembered)
	failures, _ := lru.New[netip.Addr, *rate.Limiter](remembered)
	return &Limiter{limits: limits, accounts: accounts, addresses: addresses, failures: failures}
}

// Account counts one for an account, and reports whether its rate permits it.
func (l *Limiter) Account(id, plan string) bool {
	bucket := l.account(id, plan)
	if bucket == nil || bucket.Allow() {
		return true
	}
	l.accountsOver.Add(1)
	return false
}

// Over returns how often Account and Address have reported that the rate was exceeded.
func (l *Limiter) Over() (accounts, addresses uint64) {
	return l.accountsOver.Load(), l.addressesOver.Load()
}

// WaitAccount counts one for an account, and waits until its rate permits it or ctx ends.
func (l *Limiter) WaitAccount(ctx context.Context, id, plan string) error {
	bucket := l.account(id, plan)
	if bucket == nil {
		return nil
	}
	if err := bucket.Wait(ctx); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("waiting for the account's rate: %w", err)
	}
	return nil
}

// Address counts one for an address that counts as one client (quota.Client), and reports whether its rate permits it.
// An invalid address has no limit.
func (l *Limiter) Address(address netip.Addr) bool {
	if l == nil || l.limits.Address <= 0 || !address.IsValid() {
		return true
	}
	if bucketOf(l.addresses, address, l.limits.Address).Allow() {
		return true
	}
	l.addressesOver.Add(1)
	return false
}

// Failure counts a wrong credential from an address that counts as one client, and reports whether its rate permits it.
// An invalid address has no limit.
func (l *Limiter) Failure(address netip.Addr) bool {
	if l == nil || l.limits.Failures <= 0 || !address.IsValid() {
		return true
	}
	return bucketOf(l.failures, address, l.limits.Failures).Allow()
}

// account returns the bucket of an account, nil if it has no limit.
func (l *Limiter) account(id, plan string) *rate.Limiter {
	if l == nil || l.limits.Accounts[plan] <= 0 {
		return nil
	}
	return bucketOf(l.accounts, id, l.limits.Accounts[plan])
}

func bucketOf[K comparable](buckets *lru.Cache[K, *rate.Limiter], key K, perSecond int) *rate.Limiter {
	if known, ok := buckets.Get(key); ok {
		if known.Limit() != rate.Limit(perSecond) { // the account has another plan now
			known.SetLimit(rate.Limit(perSecond))
			known.SetBurst(burst * perSecond)
		}
		return known
	}
	fresh := rate.NewLimiter(rate.Limit(perSecond), burst*perSecond)
	if known, ok, _ := buckets.PeekOrAdd(key, fresh); ok {
		return known
	}
	return fresh
}
