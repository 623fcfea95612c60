package main_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
)

// shared is the recitald of the tests that use only their own accounts. The first of them starts it.
var shared struct {
	once   sync.Once
	server *server
	ends   []func() // called in reverse order when all tests have ended
}

// share returns the shared recitald, which has no rate limits. Other tests use it at the same time. A test that reads
// its metrics or all its events, or that kills a part of it, must start its own.
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

// lasting is a test with cleanups that run after all tests.
type lasting struct{ testing.TB }

// Cleanup implements testing.TB.
func (lasting) Cleanup(end func()) { shared.ends = append(shared.ends, end) }

func endShared() {
	for _, end := range slices.Backward(shared.ends) {
		end()
	}
}

// requireSettled waits until no reservation of the account is open and its owner sees the usage.
func (c customer) requireSettled(t *testing.T) (b books) {
	t.Helper()
	c.server.eventually(func() bool {
		b = c.server.readLog()
		return b.reservationsOf(c.id) == 0
	})
	c.server.eventually(func() bool { return c.usage(t) == b.charactersOf(c.id) })
	return b
}
