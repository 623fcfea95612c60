package alerts_test

import (
	"testing"
	"time"

	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	eventtest.Golden(t, alerts.Events(), eventtest.Example{
		Name: "alert-raised", Version: 1,
		Event: alert.Raised{Alert: "al1", Source: "todo/expiry", Subject: "r1", Reason: alert.GaveUp, At: noon},
	})
}
