// Package hosting holds the read model of what is to be done at the hosting platform.
package hosting

import (
	"time"

	"github.com/recital-tts/recital/domain/hosting"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

type variableRow struct {
	Hash   string    `col:"key_hash,key"`
	Stream string    `col:"stream"`
	Due    time.Time `col:"due_at"`
	Cause  string    `col:"cause"`
}

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	begun := table.Of[variableRow]("variables").Index("variables_due", "due_at")
	return []feed.Projection{{
		Model:   readmodel.Hosting,
		Streams: eventlog.Streams{hosting.StreamPrefix},
		Tables:  []*table.Table{begun.Table},
		Views: []feed.View{
			{View: readmodel.ToDoCompleteVariableView, Select: `select key_hash as item, stream, due_at, cause from variables`},
		},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			begin := func(hash string, at time.Time) {
				begun.Put(rows, variableRow{Hash: hash, Stream: event.Stream, Due: at.Add(hosting.Patience), Cause: event.ID.String()})
			}
			switch e := event.Event.(type) {
			case hosting.VariableBegun:
				begin(e.Hash, e.At)
			case hosting.VariableRemovalBegun:
				begin(e.Hash, e.At)
			case hosting.VariableSet:
				begun.Delete(rows, variableRow{Hash: e.Hash})
			case hosting.VariableRemoved:
				begun.Delete(rows, variableRow{Hash: e.Hash})
			}
			return nil
		},
	}}
}
