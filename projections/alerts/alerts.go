// Package alerts holds the read model of open alerts.
package alerts

import (
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	return []feed.Projection{{
		Model:   readmodel.Alerts,
		Streams: eventlog.Streams{alert.Stream, alert.ConditionPrefix},
		Tables:  []*table.Table{readmodel.AlertsView.Table},
		Views:   []readmodel.View{readmodel.AlertsView.View},
		Handle:  handle,
	}}
}

func handle(event eventlog.Decoded, rows *table.Rows) error {
	alerts := readmodel.AlertsView
	switch e := event.Event.(type) {
	case alert.Raised:
		alerts.Put(rows, readmodel.AlertRow{
			Alert: e.Alert, Source: e.Source, Subject: e.Subject, Reason: string(e.Reason), Since: e.At,
		})
	case alert.Cleared:
		alerts.Delete(rows, readmodel.AlertRow{Alert: e.Alert})
	case alert.ConditionRaised:
		alerts.Put(rows, readmodel.AlertRow{
			Alert: e.Alert, Source: e.Source, Subject: e.Subject, Reason: string(e.Reason), Since: e.At, Lasting: true,
		})
	case alert.ConditionCleared:
		alerts.Delete(rows, readmodel.AlertRow{Alert: e.Alert})
	}
	return nil
}
