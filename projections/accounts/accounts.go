// Package accounts holds the read models of accounts and their API keys.
package accounts

import (
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/feed"
	"github.com/recital-tts/recital/internal/feed/table"
	"github.com/recital-tts/recital/internal/readmodel"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	return []feed.Projection{accountModel(), unissuedKeysModel()}
}

type accountRow struct {
	Account  string    `col:"account_id,key"`
	Plan     string    `col:"plan"`
	OpenedAt time.Time `col:"opened_at"`
}

type keyRow struct {
	Hash      string    `col:"key_hash,key"`
	Account   string    `col:"account_id"`
	Masked    string    `col:"masked"`
	Name      *string   `col:"name"`
	CreatedAt time.Time `col:"created_at"`
}

func accountModel() feed.Projection {
	accounts := table.Of[accountRow]("accounts")
	keys := table.Of[keyRow]("api_keys").Index("api_keys_of_account", "account_id", "created_at")
	return feed.Projection{
		Model:  readmodel.Account,
		Tables: []*table.Table{accounts.Table, keys.Table},
		Views: []feed.View{
			{View: readmodel.AccountsView, Select: `select account_id, plan, opened_at from accounts`},
			{View: readmodel.APIKeysView, Select: `select key_hash, account_id, masked, name, created_at from api_keys`},
		},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			switch e := event.Event.(type) {
			case account.Opened:
				accounts.Put(rows, accountRow{Account: e.Account, Plan: string(e.Plan), OpenedAt: e.At})
			case account.APIKeyCreated:
				keys.Put(rows, keyRow{Hash: e.Hash, Account: e.Account, Masked: e.Masked, Name: orNull(e.Name), CreatedAt: e.At})
			case account.APIKeyRevoked:
				keys.Delete(rows, keyRow{Hash: e.Hash})
			}
			return nil
		},
	}
}

// orNull returns what a column holds for a text that may not have been given.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
