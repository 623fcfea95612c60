package alerts_test

import (
	"testing"
	"time"

	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	eventtest.Golden(t, alerts.Events(),
		eventtest.Of("alert-raised", 1, alert.Raised{Alert: "al1", Source: "todo/expiry", Subject: "r1", Reason: alert.GaveUp,
			At: noon}),
		eventtest.Of("alert-cleared", 1, alert.Cleared{Alert: "al1", At: noon}),
		eventtest.Of("condition-raised", 1, alert.ConditionRaised{Alert: "al2", Source: "disk", Subject: "host:/data",
			Reason: alert.DiskFull, At: noon}),
		eventtest.Of("condition-cleared", 1, alert.ConditionCleared{Alert: "al2", At: noon}))
}
