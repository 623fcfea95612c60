package readmodel

import (
	"time"

	"github.com/recital-tts/recital/internal/events/feed/table"
)

// Alerts is the read model of open alerts.
var Alerts = Model{Name: "alerts", Version: 1}

// AlertRow is an open alert.
type AlertRow struct {
	Alert   string    `col:"alert_id,key"`
	Source  string    `col:"source"`
	Subject string    `col:"subject"`
	Reason  string    `col:"reason"`
	Since   time.Time `col:"since"`
	Lasting bool      `col:"lasting"` // cleared by the end of its condition
}

// AlertsView shows the open alerts.
var AlertsView = Show(Alerts, table.Of[AlertRow]("alerts"))
