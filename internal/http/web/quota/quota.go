// Package quota divides scarce resources of a server among the addresses that request them.
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

	mu      sync.Mutex
	held    map[netip.Addr]int64
	sum     int64
	refused uint64
}

// New makes a budget.
func New(total, share int64) *Budget {
	return &Budget{total: total, share: share, held: map[netip.Addr]int64{}}
}

// Take returns a claim to an amount for an address, or ErrShare or ErrFull.
func (b *Budget) Take(peer netip.Addr, amount int64) (*Claim, error) {
	return b.TakeWithin(peer, amount, b.total)
}

// TakeWithin is Take for what may only have a part of the budget, with all that is claimed already.
func (b *Budget) TakeWithin(peer netip.Addr, amount, part int64) (*Claim, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.held[peer]+amount > b.share:
		b.refused++
		return nil, ErrShare
	case b.sum+amount > min(part, b.total):
		b.refused++
		return nil, ErrFull
	}
	b.add(peer, amount)
	return &Claim{budget: b, peer: peer, amount: amount}, nil
}

// TakeShared returns a claim for a peer that has no share of its own, because many use it, or ErrFull.
func (b *Budget) TakeShared(amount int64) (*Claim, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sum+amount > b.total {
		b.refused++
		return nil, ErrFull
	}
	b.sum += amount
	return &Claim{budget: b, amount: amount, shared: true}, nil
}

// Refused counts the refusals of Take and TakeShared.
func (b *Budget) Refused() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

// Held returns the amount that is claimed now.
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

// Claim is a part of a budget that somebody holds.
type Claim struct {
	budget *Budget
	peer   netip.Addr
	amount int64
	shared bool
}

// Shrink releases the claim beyond an amount.
func (c *Claim) Shrink(amount int64) {
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	switch {
	case amount >= c.amount:
		return
	case c.shared:
		c.budget.sum += amount - c.amount
	default:
		c.budget.add(c.peer, amount-c.amount)
	}
	c.amount = amount
}

// Release gives everything back. It may be called again.
func (c *Claim) Release() { c.Shrink(0) }

// Address returns the address of a peer, the zero one where it has none, as on unix sockets.
func Address(peer net.Addr) netip.Addr {
	tcp, ok := peer.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap().WithZone("")
}

// Client returns the address under which an address is counted: for an IPv6 address it is the network of 64 bits, which
// belongs to one customer.
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
