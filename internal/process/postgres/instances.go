package postgres

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const program = "recitald"

// applicationName returns the application_name for the connections of an instance. Postgres keeps 63 bytes of it, in
// ASCII.
func applicationName(instance string) string {
	if instance == "" {
		return program
	}
	var name strings.Builder
	name.WriteString(program + " ")
	for _, b := range []byte(instance) {
		if b > ' ' && b <= '~' && b != '%' {
			name.WriteByte(b)
		} else {
			fmt.Fprintf(&name, "%%%02X", b)
		}
	}
	return name.String()
}

// Instances returns the names of the instances that are connected to the database, sorted. A long name may be
// truncated. Instances with an application_name in their URL of Postgres are omitted.
func Instances(ctx context.Context, pool *pgxpool.Pool) ([]string, error) {
	rows, err := pool.Query(ctx, `select distinct application_name collate "C" from pg_stat_activity
		where datname = current_database() and starts_with(application_name, $1) order by 1`, program+" ")
	if err != nil {
		return nil, fmt.Errorf("reading who is connected: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("reading who is connected: %w", err)
	}
	for i, name := range names {
		name = strings.TrimPrefix(name, program+" ")
		if whole, err := url.PathUnescape(name); err == nil {
			name = whole
		}
		names[i] = name
	}
	return names, nil
}
