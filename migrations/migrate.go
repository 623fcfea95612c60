// Package migrations holds and applies the SQL migrations of all tables except those of read models.
package migrations

import (
	"context"
	"embed"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Files are the migrations, named <version>_<what>.sql. A file that was released is never changed.
//
//go:embed *.sql
var Files embed.FS

// How long an instance waits while another one migrates: it tries every second, for five minutes.
const (
	lockPollSeconds = 1
	lockPolls       = 300
)

// Up migrates the database to the newest version that this binary knows. Instances that start together apply each
// migration once. A database that is newer than the binary is refused: an older binary would write rows that the
// newer schema does not expect.
func Up(ctx context.Context, pool *pgxpool.Pool) error {
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close() // leaves the pool open

	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(lockPollSeconds, lockPolls))
	if err != nil {
		return fmt.Errorf("preparing the lock of the migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, Files,
		goose.WithSessionLocker(locker), goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	if err := refuseNewer(ctx, provider); err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("applying the migrations: %w", err)
	}
	return nil
}

func refuseNewer(ctx context.Context, provider *goose.Provider) error {
	sources := provider.ListSources()
	newest := sources[len(sources)-1].Version
	current, err := provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("reading the version of the database: %w", err)
	}
	if current > newest {
		return fmt.Errorf("the database is at migration %d and this binary knows %d at most: run the newer release, or "+
			"restore a backup from before it", current, newest)
	}
	return nil
}
