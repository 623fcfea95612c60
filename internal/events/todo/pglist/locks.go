package pglist

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// checkEvery is how long a connection is assumed to be alive without a check.
	checkEvery = time.Second
	// answerTimeout bounds one query.
	answerTimeout = 5 * time.Second
)

// LeaderLocks elect the instance that works a process. The first instance acquires the lock of the process, an advisory
// lock of a Postgres session, and holds it until it calls Close or its connection ends. The lock of a crashed instance
// is therefore free immediately, and the lock of an instance on a lost host when Postgres detects the loss.
//
// All locks of an instance are held by one session, on a connection outside the pool.
type LeaderLocks struct {
	config *pgx.ConnConfig

	mu         sync.Mutex
	connection *pgx.Conn // nil: not connected
	held       map[string]bool
	checked    time.Time
}

// NewLeaderLocks returns the locks of an instance in the pool's database. It does not connect yet.
func NewLeaderLocks(pool *pgxpool.Pool) *LeaderLocks {
	return &LeaderLocks{config: pool.Config().ConnConfig, held: map[string]bool{}}
}

// TryAcquire acquires the lock of a process if it is free, and reports whether this instance holds it.
func (l *LeaderLocks) TryAcquire(ctx context.Context, process string) (held bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	held, err = l.tryAcquire(ctx, process)
	if err != nil {
		_ = l.disconnect() // the next call opens a new connection
		return false, fmt.Errorf("acquiring the leader lock of %s: %w", process, err)
	}
	return held, nil
}

func (l *LeaderLocks) tryAcquire(ctx context.Context, process string) (held bool, err error) {
	if l.connection == nil {
		connection, err := pgx.ConnectConfig(ctx, l.config.Copy())
		if err != nil {
			return false, err
		}
		l.connection, l.checked = connection, time.Now()
	}
	if l.held[process] {
		return true, l.check(ctx)
	}
	err = l.connection.QueryRow(ctx, `select pg_try_advisory_lock(hashtextextended($1, 0))`,
		"recital to-do "+process).Scan(&held)
	if err != nil {
		return false, err
	}
	l.held[process], l.checked = held, time.Now()
	return held, nil
}

func (l *LeaderLocks) check(ctx context.Context) error {
	if time.Since(l.checked) < checkEvery {
		return nil
	}
	l.checked = time.Now()
	return l.connection.Ping(ctx)
}

// Close releases all locks. It may be called again.
func (l *LeaderLocks) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.disconnect()
}

func (l *LeaderLocks) disconnect() error {
	if l.connection == nil {
		return nil
	}
	connection := l.connection
	l.connection = nil
	clear(l.held)
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	return connection.Close(ctx)
}
