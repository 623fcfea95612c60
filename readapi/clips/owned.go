package clips

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/readapi"
)

// Owned lists the clips of accounts.
type Owned struct{ Models readapi.Models }

var (
	firstQuery = readapi.Rows[struct{ Clip string }]{
		Doing: "listing the clips of an account", Models: []readmodel.Model{readmodel.Clips},
		SQL: `select clip_id` + fromClips + ` where account_id = $1 order by saved_at, clip_id limit $2`,
	}
	countQuery = readapi.Rows[struct{ Clips int64 }]{
		Doing: "counting the clips of an account", Models: []readmodel.Model{readmodel.Clips},
		SQL: `select coalesce(sum(clips), 0)::bigint from ` + readmodel.ClipsByTimeView.SQL() + ` where account_id = $1`,
	}
)

// First returns the ids of an account's first clips.
func (o Owned) First(ctx context.Context, account string, limit int) (ids []string, err error) {
	rows, _, err := firstQuery.Select(ctx, o.Models, account, limit)
	for _, row := range rows {
		ids = append(ids, row.Clip)
	}
	return ids, err
}

// Count returns the number of an account's clips.
func (o Owned) Count(ctx context.Context, account string) (clips int64, err error) {
	rows, _, err := countQuery.Select(ctx, o.Models, account)
	if err != nil {
		return 0, err
	}
	return rows[0].Clips, nil
}

// Erasures counts the clips of closed accounts, for metrics.
type Erasures struct{ Pool *pgxpool.Pool }

var erasuresQuery = `select coalesce(sum(clips), 0)::bigint from ` + readmodel.ToDoEraseClipsView.SQL() + `
	join ` + readmodel.ClipsByTimeView.SQL() + ` on account_id = item`

// Clips returns the number of clips that are due for deletion.
func (e Erasures) Clips(ctx context.Context) (clips int64, err error) {
	if err := e.Pool.QueryRow(ctx, erasuresQuery).Scan(&clips); err != nil {
		return 0, fmt.Errorf("counting the clips of closed accounts: %w", err)
	}
	return clips, nil
}

// Blobs finds blobs that belong to clips.
type Blobs struct{ Pool *pgxpool.Pool }

// Shown returns the addresses that belong to a clip of the read model.
func (b Blobs) Shown(ctx context.Context, addresses []blobs.Address) (map[blobs.Address]bool, error) {
	rows, err := b.Pool.Query(ctx, `select blob`+fromClips+` where blob = any($1)`, addresses)
	if err != nil {
		return nil, fmt.Errorf("looking up blobs: %w", err)
	}
	shown := map[blobs.Address]bool{}
	var address blobs.Address
	if _, err := pgx.ForEachRow(rows, []any{&address}, func() error { shown[address] = true; return nil }); err != nil {
		return nil, fmt.Errorf("looking up blobs: %w", err)
	}
	return shown, nil
}
