// Package accounts holds the read model of accounts and their API keys.
package accounts

import (
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/feed"
	"github.com/recital-tts/recital/internal/feed/table"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection { return []feed.Projection{Account()} }

// Account is the read model of accounts and their API keys.
//
// Views: accounts (account_id, plan, opened_at) and api_keys (key_hash, account_id, masked, name, created_at).
func Account() feed.Projection {
	accounts := table.New("accounts",
		table.Column{Name: "account_id", Type: table.Text, Key: true},
		table.Column{Name: "plan", Type: table.Text},
		table.Column{Name: "opened_at", Type: table.Timestamptz},
	)
	keys := table.New("api_keys",
		table.Column{Name: "key_hash", Type: table.Text, Key: true},
		table.Column{Name: "account_id", Type: table.Text},
		table.Column{Name: "masked", Type: table.Text},
		table.Column{Name: "name", Type: table.Text, Null: true},
		table.Column{Name: "created_at", Type: table.Timestamptz},
	).Index("api_keys_of_account", "account_id", "created_at")

	return feed.Projection{
		Name:    "account",
		Version: 1,
		Tables:  []*table.Table{accounts, keys},
		Views: []feed.View{
			{Name: "accounts", Select: `select account_id, plan, opened_at from accounts`},
			{Name: "api_keys", Select: `select key_hash, account_id, masked, name, created_at from api_keys`},
		},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			switch e := event.Event.(type) {
			case account.Opened:
				rows.Put(accounts, e.Account, string(e.Plan), e.At)
			case account.APIKeyCreated:
				rows.Put(keys, e.Hash, e.Account, e.Masked, orNull(e.Name), e.At)
			case account.APIKeyRevoked:
				rows.Delete(keys, table.Key{e.Hash})
			}
			return nil
		},
	}
}

// orNull is what a column holds for a text that was not given.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
