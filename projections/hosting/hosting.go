// Package hosting holds the to-do list for the hosting platform.
package hosting

import (
	"github.com/recital-tts/recital/domain/hosting"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/projections"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	return []feed.Projection{{
		Model:   readmodel.Hosting,
		Streams: eventlog.Streams{hosting.StreamPrefix},
		Tables:  []*table.Table{readmodel.ToDoCompleteVariableView.Table},
		Views:   []readmodel.View{readmodel.ToDoCompleteVariableView.View},
		Handle:  handle,
	}}
}

func handle(event eventlog.Decoded, rows *table.Rows) error {
	begun := readmodel.ToDoCompleteVariableView
	switch e := event.Event.(type) {
	case hosting.VariableBegun:
		begun.Put(rows, projections.ToDo(event, e.Hash, e.At.Add(hosting.Patience)))
	case hosting.VariableRemovalBegun:
		begun.Put(rows, projections.ToDo(event, e.Hash, e.At.Add(hosting.Patience)))
	case hosting.VariableSet:
		begun.Delete(rows, readmodel.ToDoRow{Item: e.Hash})
	case hosting.VariableRemoved:
		begun.Delete(rows, readmodel.ToDoRow{Item: e.Hash})
	}
	return nil
}
