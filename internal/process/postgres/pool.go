// Package postgres opens connection pools, and runs a private PostgreSQL cluster when no database is configured.
package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/internal/process/certificates"
)

const (
	connectTimeout    = 5 * time.Second
	connectionAge     = time.Hour // detects a changed address or a restarted proxy
	connectionAgeSpan = 10 * time.Minute
	connectionIdle    = 5 * time.Minute
)

// NewPool returns a pool of connections to a database that need not answer yet: the pool connects on demand. Settings
// of the URL take precedence over the limits here. Instances lists the name of the instance while it is connected; ""
// means none. The errors do not contain the URL's password.
func NewPool(ctx context.Context, url, instance string) (*pgxpool.Pool, error) {
	return newPool(ctx, url, instance, func(*pgxpool.Config) {})
}

// NewHeldPool is NewPool for a database that must not be used yet. Until release is called, and after hold, Postgres
// counts as away, also for connections with the pool's configuration.
func NewHeldPool(ctx context.Context, url, instance string) (pool *pgxpool.Pool, release, hold func(), err error) {
	var released atomic.Bool
	pool, err = newPool(ctx, url, instance, func(config *pgxpool.Config) {
		dial := config.ConnConfig.DialFunc
		config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			if !released.Load() {
				return nil, errHeld
			}
			return dial(ctx, network, address)
		}
	})
	release = func() { released.Store(true) }
	hold = func() {
		released.Store(false)
		pool.Reset()
	}
	return pool, release, hold, err
}

// IsMissing reports whether an error means that a database, a schema or a table does not exist.
func IsMissing(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && slices.Contains([]string{"3D000", "3F000", "42P01"}, refused.Code)
}

var errHeld = errors.New("this Postgres is not in use yet")

func newPool(ctx context.Context, url, instance string, change func(*pgxpool.Config)) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("reading the address of Postgres: %w", err)
	}
	limit(config, url, instance)
	change(config)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("preparing connections to Postgres: %w", err)
	}
	return pool, nil
}

// Classes of SQLSTATE for a server that starts, stops or lacks resources.
const (
	operatorIntervention  = "57"
	insufficientResources = "53"
)

// IsAway reports whether an error means that Postgres does not answer now, and may answer later without a change to
// recitald. A server that refuses (a wrong password, a missing database) is not away.
func IsAway(err error) bool {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return strings.HasPrefix(refused.Code, operatorIntervention) || strings.HasPrefix(refused.Code, insufficientResources)
	}
	var unconnected *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &unconnected) || errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func limit(config *pgxpool.Config, url, instance string) {
	unlessSet := func(parameter string, set func()) {
		if !strings.Contains(url, parameter+"=") {
			set()
		}
	}
	unlessSet("pool_max_conns", func() { config.MaxConns = int32(max(16, 4*runtime.NumCPU())) })
	unlessSet("pool_max_conn_lifetime", func() { config.MaxConnLifetime = connectionAge })
	unlessSet("pool_max_conn_lifetime_jitter", func() { config.MaxConnLifetimeJitter = connectionAgeSpan })
	unlessSet("pool_max_conn_idle_time", func() { config.MaxConnIdleTime = connectionIdle })
	unlessSet("connect_timeout", func() { config.ConnConfig.ConnectTimeout = connectTimeout })

	parameters := config.ConnConfig.RuntimeParams
	parameters["timezone"] = "UTC" // even if the URL sets another: the code relies on it
	unlessSet("application_name", func() { parameters["application_name"] = applicationName(instance) })
	unlessSet("idle_in_transaction_session_timeout", func() {
		parameters["idle_in_transaction_session_timeout"] = "5min" // an abandoned transaction holds back vacuum
	})
}

// CertificateEnd returns the first expiry in the server's certificate chain, or zero for a connection without TLS.
func CertificateEnd(ctx context.Context, pool *pgxpool.Pool) (end time.Time, err error) {
	connection, err := pool.Acquire(ctx)
	if err != nil {
		return end, fmt.Errorf("connecting to Postgres: %w", err)
	}
	defer connection.Release()
	secured, is := connection.Conn().PgConn().Conn().(*tls.Conn)
	if !is {
		return end, nil
	}
	return certificates.First(secured.ConnectionState().PeerCertificates), nil
}
