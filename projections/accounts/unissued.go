package accounts

import (
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

type unissuedKey struct {
	Hash      string    `col:"key_hash,key"`
	Stream    string    `col:"stream"`
	Cause     string    `col:"cause"` // id of the event that created the key
	CreatedAt time.Time `col:"created_at"`
}

// unissuedKeysModel is the read model of API keys without a stream of their own, as earlier releases created them.
func unissuedKeysModel() feed.Projection {
	keys := table.Of[unissuedKey]("unissued_keys").Index("unissued_keys_created", "created_at")
	return feed.Projection{
		Model:  readmodel.UnissuedKeys,
		Tables: []*table.Table{keys.Table},
		Views: []feed.View{
			{View: readmodel.ToDoIssueKeysView, Select: `select cause as item, stream, created_at as due_at, cause from unissued_keys`},
		},
		Streams: eventlog.Streams{account.StreamPrefix, apikey.StreamPrefix},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			switch e := event.Event.(type) {
			case account.APIKeyCreated:
				if !e.Issued {
					keys.Put(rows, unissuedKey{Hash: e.Hash, Stream: event.Stream, Cause: event.ID.String(), CreatedAt: e.At})
				}
			case account.APIKeyRevoked:
				keys.Delete(rows, unissuedKey{Hash: e.Hash})
			case apikey.Issued:
				keys.Delete(rows, unissuedKey{Hash: e.Hash})
			}
			return nil
		},
	}
}
