package clips

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

// Blobs finds which blobs belong to clips.
type Blobs struct{ Pool *pgxpool.Pool }

var blobsQuery = `select ` + readmodel.Columns[blobRow](readmodel.ClipsView, "") + fromClips + ` where blob = any($1)`

type blobRow struct {
	Blob blobs.Address `col:"blob"`
}

// Shown returns those of the addresses that belong to a clip of the read model.
func (b Blobs) Shown(ctx context.Context, addresses []blobs.Address) (map[blobs.Address]bool, error) {
	found, err := b.Pool.Query(ctx, blobsQuery, addresses)
	if err != nil {
		return nil, fmt.Errorf("looking blobs up: %w", err)
	}
	list, err := pgx.CollectRows(found, pgx.RowToStructByPos[blobRow])
	if err != nil {
		return nil, fmt.Errorf("looking blobs up: %w", err)
	}
	shown := make(map[blobs.Address]bool, len(list))
	for _, row := range list {
		shown[row.Blob] = true
	}
	return shown, nil
}
