package duelist

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// checkEvery is how long a connection is believed to live without asking it.
	checkEvery = time.Second
	// answerTimeout bounds one question.
	answerTimeout = 5 * time.Second
)

// Turns tells an instance which processes it works. Whoever asks first has the turn, as a lock of a Postgres session, and
// keeps it until it closes Turns or its connection ends. So the turn of a crashed instance is free at once, and that
// of one whose host vanished when Postgres notices.
//
// All locks of an instance are in one session, on a connection beside the pool.
type Turns struct {
	config *pgx.ConnConfig

	mu         sync.Mutex
	connection *pgx.Conn // nil: there is none
	mine       map[string]bool
	checked    time.Time
}

// NewTurns prepares a connection to the pool's database.
func NewTurns(pool *pgxpool.Pool) *Turns {
	return &Turns{config: pool.Config().ConnConfig, mine: map[string]bool{}}
}

// Mine takes the turn of a process if it is free, and tells whether this instance has it.
func (t *Turns) Mine(ctx context.Context, process string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	mine, err := t.ask(ctx, process)
	if err != nil {
		_ = t.disconnect() // the next one gets a new connection
		return false, fmt.Errorf("taking the turn of %s: %w", process, err)
	}
	return mine, nil
}

func (t *Turns) ask(ctx context.Context, process string) (bool, error) {
	if t.connection == nil {
		connection, err := pgx.ConnectConfig(ctx, t.config.Copy())
		if err != nil {
			return false, err
		}
		t.connection, t.checked = connection, time.Now()
	}
	if t.mine[process] {
		return true, t.check(ctx)
	}
	var mine bool
	err := t.connection.QueryRow(ctx, `select pg_try_advisory_lock(hashtextextended($1, 0))`, "recital to-do "+process).Scan(&mine)
	if err != nil {
		return false, err
	}
	t.mine[process], t.checked = mine, time.Now()
	return mine, nil
}

func (t *Turns) check(ctx context.Context) error {
	if time.Since(t.checked) < checkEvery {
		return nil
	}
	t.checked = time.Now()
	return t.connection.Ping(ctx)
}

// Close gives all turns back.
func (t *Turns) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.disconnect()
}

func (t *Turns) disconnect() error {
	if t.connection == nil {
		return nil
	}
	connection := t.connection
	t.connection = nil
	clear(t.mine)
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	return connection.Close(ctx)
}
