// Package pglookup finds the accounts of API keys in the read model of accounts. It serves the keys that earlier releases
// created, until they have streams of their own.
package pglookup

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/credentials"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// Models runs queries of read models; *feed.Projector does.
type Models interface {
	// Read calls row with each row of a query, on a state that is never older than one that Current has judged by.
	Read(ctx context.Context, models []readmodel.Model, query string, arguments []any, row func(pgx.CollectableRow) error) (position string, err error)
}

// Keys implements credentials.Unissued.
type Keys struct {
	Models Models
	// Current reports whether the read model shows every key that was created before this instance started.
	Current func() bool
}

var (
	errSilent = domain.Refuse(domain.Unavailable, "The read models do not answer")
	errBehind = domain.Refuse(domain.Unavailable, "The read models are catching up")
)

var accountOf = "select " + readmodel.Columns[struct {
	Account string `col:"account_id"`
}](readmodel.APIKeysView, "") + " from " + readmodel.APIKeysView.SQL() + " where key_hash = $1"

// AccountOf implements credentials.Unissued. A revocation that the read model does not show yet does no harm, because the
// account's stream decides.
func (k Keys) AccountOf(ctx context.Context, hash string) (account string, err error) {
	current := k.Current() // before the query: what is current afterwards may not have been when the query ran
	_, err = k.Models.Read(ctx, []readmodel.Model{readmodel.Account}, accountOf, []any{hash}, func(row pgx.CollectableRow) error {
		return row.Scan(&account)
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("looking an API key up: %w", errors.Join(err, errSilent))
	case account != "":
		return account, nil
	case !current:
		return "", fmt.Errorf("looking an API key up: %w", errBehind)
	}
	return "", credentials.ErrUnknownKey
}
