// Package alerts is the read model of the alerts that are open.
package alerts

import (
	"time"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

type alertRow struct {
	Alert   string    `col:"alert_id,key"`
	Source  string    `col:"source"`
	Subject string    `col:"subject"`
	Reason  string    `col:"reason"`
	Since   time.Time `col:"since"`
	Lasting bool      `col:"lasting"`
}

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	alerts := table.Of[alertRow]("alerts")
	return []feed.Projection{{
		Model:   readmodel.Alerts,
		Streams: eventlog.Streams{alert.Stream, alert.ConditionPrefix},
		Tables:  []*table.Table{alerts.Table},
		Views: []feed.View{
			{View: readmodel.AlertsView, Select: `select alert_id, source, subject, reason, since, lasting from alerts`},
		},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			switch e := event.Event.(type) {
			case alert.Raised:
				alerts.Put(rows, alertRow{Alert: e.Alert, Source: e.Source, Subject: e.Subject, Reason: string(e.Reason), Since: e.At})
			case alert.Cleared:
				alerts.Delete(rows, alertRow{Alert: e.Alert})
			case alert.ConditionRaised:
				alerts.Put(rows, alertRow{Alert: e.Alert, Source: e.Source, Subject: e.Subject, Reason: string(e.Reason), Since: e.At, Lasting: true})
			case alert.ConditionCleared:
				alerts.Delete(rows, alertRow{Alert: e.Alert})
			}
			return nil
		},
	}}
}
