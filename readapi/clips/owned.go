package clips

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/readapi"
)

// Owned lists the clips of accounts.
type Owned struct{ Models readapi.Models }

var (
	ownedQuery = `select ` + readmodel.Columns[ownedRow](readmodel.ClipsView, "") + fromClips + ` where account_id = $1 order by saved_at, clip_id limit $2`
	countQuery = `select coalesce(sum(clips), 0)::bigint from ` + readmodel.ClipsByTimeView.SQL() + ` where account_id = $1`
)

type ownedRow struct {
	Clip string `col:"clip_id"`
}

// First returns the ids of an account's first clips.
func (o Owned) First(ctx context.Context, account string, limit int) (ids []string, err error) {
	query := readapi.Query{SQL: ownedQuery, Arguments: []any{account, limit}, Doing: "listing the clips of an account"}
	_, err = readapi.Select(ctx, o.Models, []readmodel.Model{readmodel.Clips}, query, func(row pgx.CollectableRow) error {
		found, err := pgx.RowToStructByPos[ownedRow](row)
		ids = append(ids, found.Clip)
		return err
	})
	return ids, err
}

// Count returns how many clips an account has.
func (o Owned) Count(ctx context.Context, account string) (clips int64, err error) {
	query := readapi.Query{SQL: countQuery, Arguments: []any{account}, Doing: "counting the clips of an account"}
	_, err = readapi.Select(ctx, o.Models, []readmodel.Model{readmodel.Clips}, query, func(row pgx.CollectableRow) error {
		return row.Scan(&clips)
	})
	return clips, err
}

// Erasures counts the clips of closed accounts, for metrics.
type Erasures struct{ Pool *pgxpool.Pool }

var erasuresQuery = `select coalesce(sum(clips), 0)::bigint from ` + readmodel.ToDoEraseClipsView.SQL() + ` join ` + readmodel.ClipsByTimeView.SQL() + ` on account_id = item`

// Clips returns how many there are.
func (e Erasures) Clips(ctx context.Context) (clips int64, err error) {
	if err := e.Pool.QueryRow(ctx, erasuresQuery).Scan(&clips); err != nil {
		return 0, fmt.Errorf("counting the clips of closed accounts: %w", err)
	}
	return clips, nil
}
