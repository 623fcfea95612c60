package commands

import (
	"io"

	"github.com/recital-tts/recital/domain/ledger"
)

// Waiting counts the commands that wait for an append of others.
func (l *Ledger) Waiting(stream string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q, ok := l.working[stream]; ok {
		return len(q.waiting)
	}
	return 0
}

// State is what a Ledger that is at rest knows of a stream.
func (l *Ledger) State(stream string) ledger.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q, ok := l.idle.Get(stream); ok {
		return q.state
	}
	return ledger.State{}
}

// DrawFrom makes keys come from a source.
func (a *Accounts) DrawFrom(random io.Reader) { a.random = random }

// Busy counts the accounts that a Slots remembers.
func (s *Slots) Busy() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.accounts)
}

// Waiting counts those who wait for a slot of an account.
func (s *Slots) Waiting(account string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.accounts[account]; ok {
		return len(c.waiting)
	}
	return 0
}
