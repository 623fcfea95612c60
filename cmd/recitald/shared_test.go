package main_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
)

// shared is the recitald of the tests that only use accounts of their own. The first of them starts it.
var shared struct {
	once   sync.Once
	server *server
	ends   []func() // are called when all tests have ended, the last one first
}

// share returns the shared recitald, which limits no rates. Others use it at the same time, so a test that looks at its
// figures, or at all events, or that kills a part of it, starts one of its own.
func share(t *testing.T) *server {
	t.Helper()
	shared.once.Do(func() {
		s := newServer(t, pgtest.DataDir(lasting{t}))
		shared.ends = append(shared.ends, s.kill)
		s.begin("--codecs=2", "--address-rate=0", "--account-rate=free=0")
		shared.server = s
	})
	require.NotNil(t, shared.server, "the shared recitald did not start")
	s := *shared.server
	s.t = t
	t.Cleanup(s.explain)
	return &s
}

// lasting is a test whose folder outlives it.
type lasting struct{ testing.TB }

// Cleanup implements testing.TB.
func (lasting) Cleanup(end func()) { shared.ends = append(shared.ends, end) }

func endShared() {
	for _, end := range slices.Backward(shared.ends) {
		end()
	}
}

// requireSettled waits until no reservation of an account is open any more and its owner sees what it has used.
func (c customer) requireSettled(t *testing.T) (b books) {
	t.Helper()
	c.server.eventually(func() bool {
		b = c.server.readLog()
		return b.reservationsOf(c.id) == 0
	})
	c.server.eventually(func() bool { return c.usage(t) == b.charactersOf(c.id) })
	return b
}
