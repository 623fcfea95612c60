// Package rates limits the rates of requests that append to the log, by account and by address, and of wrong
// credentials, by address: token buckets with a burst of four seconds. Changes that cost an account nothing have a
// bucket of their own, which refills slowly. Each instance counts its own.
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
	// An account's bucket of free changes has freeBurst seconds of its rate, and gets a freeShare-th of the rate.
	freeBurst, freeShare = 20, 500
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
	free      *lru.Cache[string, *rate.Limiter] // by account
	addresses *lru.Cache[netip.Addr, *rate.Limiter]
	failures  *lru.Cache[netip.Addr, *rate.Limiter] // by address

	accountsOver, addressesOver atomic.Uint64
}

// New returns a Limiter.
func New(limits Limits) *Limiter {
	accounts, _ := lru.New[string, *rate.Limiter](remembered) // fails for a size below 1
	free, _ := lru.New[string, *rate.Limiter](remembered)
	addresses, _ := lru.New[netip.Addr, *rate.Limiter](remembered)
	failures, _ := lru.New[netip.Addr, *rate.Limiter](remembered)
	return &Limiter{limits: limits, accounts: accounts, free: free, addresses: addresses, failures: failures}
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

// FreeChange counts a change that costs an account nothing, and reports whether the account's budget permits it. The
// budget is unlimited if the account's rate is.
func (l *Limiter) FreeChange(id, plan string) bool {
	if l == nil || l.limits.Accounts[plan] <= 0 {
		return true
	}
	perSecond := l.limits.Accounts[plan]
	if bucketOf(l.free, id, rate.Limit(perSecond)/freeShare, freeBurst*perSecond).Allow() {
		return true
	}
	l.accountsOver.Add(1)
	return false
}

// Over returns how often Account, FreeChange and Address have reported that the rate was exceeded.
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
	if bucketOf(l.addresses, address, rate.Limit(l.limits.Address), burst*l.limits.Address).Allow() {
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
	return bucketOf(l.failures, address, rate.Limit(l.limits.Failures), burst*l.limits.Failures).Allow()
}

// account returns the bucket of an account, nil if it has no limit.
func (l *Limiter) account(id, plan string) *rate.Limiter {
	if l == nil || l.limits.Accounts[plan] <= 0 {
		return nil
	}
	perSecond := l.limits.Accounts[plan]
	return bucketOf(l.accounts, id, rate.Limit(perSecond), burst*perSecond)
}

func bucketOf[K comparable](
	buckets *lru.Cache[K, *rate.Limiter], key K, perSecond rate.Limit, size int,
) *rate.Limiter {
	if known, ok := buckets.Get(key); ok {
		if known.Limit() != perSecond { // the account has another plan now
			known.SetLimit(perSecond)
			known.SetBurst(size)
		}
		return known
	}
	fresh := rate.NewLimiter(perSecond, size)
	if known, ok, _ := buckets.PeekOrAdd(key, fresh); ok {
		return known
	}
	return fresh
}
