// Package quota divides what a server has little of among the addresses that ask for it.
package quota

import (
	"errors"
	"net"
	"net/netip"
	"sync"
)

// Refusals of Take.
var (
	ErrFull  = errors.New("nothing is left of the budget")
	ErrShare = errors.New("the address has its share of the budget")
)

// Budget is an amount, of which each address may hold a share at once. Its memory grows with the addresses that hold
// something, and shrinks again.
type Budget struct {
	total, share int64

	mu   sync.Mutex
	held map[netip.Addr]int64
	sum  int64
}

// New makes a budget.
func New(total, share int64) *Budget {
	return &Budget{total: total, share: share, held: map[netip.Addr]int64{}}
}

// Take returns a claim to an amount for an address, or ErrShare or ErrFull.
func (b *Budget) Take(peer netip.Addr, amount int64) (*Claim, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.held[peer]+amount > b.share:
		return nil, ErrShare
	case b.sum+amount > b.total:
		return nil, ErrFull
	}
	b.add(peer, amount)
	return &Claim{budget: b, peer: peer, amount: amount}, nil
}

func (b *Budget) add(peer netip.Addr, amount int64) {
	b.sum += amount
	if b.held[peer] += amount; b.held[peer] == 0 {
		delete(b.held, peer)
	}
}

// Claim is a part of a budget that somebody holds.
type Claim struct {
	budget *Budget
	peer   netip.Addr
	amount int64
}

// Shrink gives back what goes beyond an amount.
func (c *Claim) Shrink(amount int64) {
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	if amount < c.amount {
		c.budget.add(c.peer, amount-c.amount)
		c.amount = amount
	}
}

// Release gives everything back. It may be called again.
func (c *Claim) Release() { c.Shrink(0) }

// Peer is the address that counts for a connection: that of an IPv6 peer is its network of 64 bits, all of which one
// customer has. Peers without an address, as on unix sockets, are one.
func Peer(address net.Addr) netip.Addr {
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	addr := tcp.AddrPort().Addr().Unmap().WithZone("")
	if !addr.Is6() {
		return addr
	}
	network, err := addr.Prefix(64)
	if err != nil {
		return addr
	}
	return network.Addr()
}
