// Package pgtest provides each test with a migrated database of its own on a real PostgreSQL server.
//
// All concurrent test binaries with the same folder for temporary files share the server. It runs on a copy of a
// template folder that is created and migrated once, so that it starts in a fraction of a second. It stops with the
// last of them, even if that is killed: each holds a lock on a file, and a shell waits for the release of all locks.
// Tests that kill or stop a server use a private one (ClusterDir).
package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/postgres"
)

// New returns a pool on a new database with all migrations. Both end with the test.
func New(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return open(t, URL(t))
}

// Empty is New without the migrations.
func Empty(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return open(t, create(t, "template0"))
}

// URL returns the URL of a new database with all migrations. It is dropped when the test ends, even if clients are
// connected to it.
func URL(t testing.TB) string {
	t.Helper()
	return create(t, templateDatabase)
}

func open(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.NewPool(t.Context(), url, "")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// running returns the server of this test binary. It outlives every single test, so no test can own it.
var running = sync.OnceValues(enter)

// opened returns the template for the copies of all tests of this binary.
var opened = sync.OnceValues(openWorkshop)

// The names of databases are unique among all test binaries.
var (
	binary    = rand.Text()
	databases atomic.Int64
)

func create(t testing.TB, template string) string {
	t.Helper()
	server, err := running()
	require.NoError(t, err)
	name := strings.ToLower(fmt.Sprintf("test_%s_%d", binary, databases.Add(1)))
	require.NoError(t, server.exec(t.Context(), fmt.Sprintf("create database %s template %s", name, template)))
	t.Cleanup(func() {
		// the test's own context has already ended
		assert.NoError(t, server.exec(context.Background(), fmt.Sprintf("drop database %s with (force)", name)))
	})
	return server.url(name)
}

func (s *server) exec(ctx context.Context, sql string) error {
	connection, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	_, err = connection.Exec(ctx, sql)
	return err
}

func (s *server) url(database string) string {
	return postgres.SocketURL(s.folder, database)
}

// quoteLines keeps a server's log readable inside an error.
func quoteLines(log []byte) string {
	return strings.ReplaceAll(strings.TrimSpace(string(log)), "\n", "\n\t")
}
