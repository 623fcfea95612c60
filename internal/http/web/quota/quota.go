// Package quota divides scarce resources of a server among the addresses of its clients.
package quota

import (
	"errors"
	"net"
	"net/netip"
	"sync"
)

// Refusals of Take.
var (
	ErrFull  = errors.New("the budget is exhausted")
	ErrShare = errors.New("the address has used its share of the budget")
)

// Budget is an amount with a maximum share for each address. Its memory is proportional to the number of addresses with
// claims.
type Budget struct {
	total, share int64

	mu      sync.Mutex
	held    map[netip.Addr]int64
	sum     int64
	refused uint64
}

// New returns a Budget.
func New(total, share int64) *Budget {
	return &Budget{total: total, share: share, held: map[netip.Addr]int64{}}
}

// Take returns a claim to an amount for an address, or ErrShare or ErrFull. The zero address has no share: it stands
// for many clients.
func (b *Budget) Take(peer netip.Addr, amount int64) (*Claim, error) {
	return b.TakeWithin(peer, amount, b.total)
}

// TakeWithin is Take with a limit, below the whole budget, for the sum of all claims.
func (b *Budget) TakeWithin(peer netip.Addr, amount, part int64) (*Claim, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case peer.IsValid() && b.held[peer]+amount > b.share:
		b.refused++
		return nil, ErrShare
	case b.sum+amount > min(part, b.total):
		b.refused++
		return nil, ErrFull
	}
	b.add(peer, amount)
	return &Claim{budget: b, peer: peer, amount: amount}, nil
}

// Refused returns the number of refusals.
func (b *Budget) Refused() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

// Held returns the amount of all current claims.
func (b *Budget) Held() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sum
}

func (b *Budget) add(peer netip.Addr, amount int64) {
	b.sum += amount
	if b.held[peer] += amount; b.held[peer] == 0 {
		delete(b.held, peer)
	}
}

// Claim is a claimed part of a budget.
type Claim struct {
	budget *Budget
	peer   netip.Addr
	amount int64
}

// Shrink releases the claim beyond an amount.
func (c *Claim) Shrink(amount int64) {
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	if amount < c.amount {
		c.budget.add(c.peer, amount-c.amount)
		c.amount = amount
	}
}

// Release releases the whole claim. It may be called again.
func (c *Claim) Release() { c.Shrink(0) }

// Address returns the address of a peer, or the zero Addr if it has none, as on unix sockets.
func Address(peer net.Addr) netip.Addr {
	tcp, ok := peer.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap().WithZone("")
}

// Client returns the address that an address is counted under. For IPv6 it is the network of 64 bits, which belongs to
// one customer.
func Client(addr netip.Addr) netip.Addr {
	if !addr.Is6() {
		return addr
	}
	network, err := addr.Prefix(64)
	if err != nil {
		return addr
	}
	return network.Addr()
}
