package clips

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/internal/blobs"
)

// Blobs finds which blobs belong to clips.
type Blobs struct{ Pool *pgxpool.Pool }

// Shown returns those of the addresses that belong to a clip of the read model.
func (b Blobs) Shown(ctx context.Context, addresses []blobs.Address) (map[blobs.Address]bool, error) {
	found, err := b.Pool.Query(ctx, `select blob from read_v1.clips where blob = any($1)`, addresses)
	if err != nil {
		return nil, fmt.Errorf("looking blobs up: %w", err)
	}
	list, err := pgx.CollectRows(found, pgx.RowTo[blobs.Address])
	if err != nil {
		return nil, fmt.Errorf("looking blobs up: %w", err)
	}
	shown := make(map[blobs.Address]bool, len(list))
	for _, address := range list {
		shown[address] = true
	}
	return shown, nil
}
