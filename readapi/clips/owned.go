package clips

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/readmodel"
	"github.com/recital-tts/recital/readapi"
)

// Owned lists the clips of accounts.
type Owned struct{ Models readapi.Models }

var ownedQuery = `select ` + readmodel.Columns[ownedRow](readmodel.ClipsView, "") + fromClips + ` where account_id = $1 and clip_id > $2 order by clip_id limit 500`

type ownedRow struct {
	Clip string `col:"clip_id"`
}

// After returns the ids of an account's clips in their order, from the one after a given id on; at most 500.
func (o Owned) After(ctx context.Context, account, after string) (ids []string, err error) {
	query := readapi.Query{SQL: ownedQuery, Arguments: []any{account, after}, Doing: "listing the clips of an account"}
	_, err = readapi.Select(ctx, o.Models, []readmodel.Model{readmodel.Clips}, query, func(row pgx.CollectableRow) error {
		found, err := pgx.RowToStructByPos[ownedRow](row)
		ids = append(ids, found.Clip)
		return err
	})
	return ids, err
}
