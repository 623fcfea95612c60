package clips

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/readapi"
)

// Unsealed lists the clips whose audio is not sealed.
type Unsealed struct{ Models readapi.Models }

// UnsealedRow is such a clip.
type UnsealedRow struct {
	Clip    string        `col:"clip_id"`
	Account string        `col:"account_id"`
	Blob    blobs.Address `col:"blob"`
}

var (
	fromUnsealed  = ` from ` + readmodel.UnsealedClipsView.SQL()
	unsealedQuery = `select ` + readmodel.Columns[UnsealedRow](readmodel.UnsealedClipsView, "") + fromUnsealed +
		` where clip_id > $1 order by clip_id limit 100`
	unsealedCountQuery = `select count(*)` + fromUnsealed
)

// After returns clips in the order of their ids, from the one after a given id on; at most 100.
func (u Unsealed) After(ctx context.Context, id string) (rows []UnsealedRow, err error) {
	query := readapi.Query{SQL: unsealedQuery, Arguments: []any{id}, Doing: "listing clips that are not sealed"}
	_, err = readapi.Select(ctx, u.Models, []readmodel.Model{readmodel.Clips}, query, func(row pgx.CollectableRow) error {
		found, err := pgx.RowToStructByPos[UnsealedRow](row)
		rows = append(rows, found)
		return err
	})
	return rows, err
}

// Count returns the number of such clips.
func (u Unsealed) Count(ctx context.Context) (clips int64, err error) {
	query := readapi.Query{SQL: unsealedCountQuery, Doing: "counting clips that are not sealed"}
	_, err = readapi.Select(ctx, u.Models, []readmodel.Model{readmodel.Clips}, query, func(row pgx.CollectableRow) error { return row.Scan(&clips) })
	return clips, err
}
