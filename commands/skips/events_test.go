package skips_test

import (
	"testing"
	"time"

	"github.com/recital-tts/recital/commands/skips"
	"github.com/recital-tts/recital/domain/skip"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	const id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
	eventtest.Golden(t, skips.Events(),
		eventtest.Example{Name: "event-skipped", Version: 1, Event: skip.EventSkipped{
			Event: id, Stream: "account-a1", Revision: 7, Type: "account-adopted", By: "jo", Role: "operator",
			Why: "of a newer release", At: noon,
		}},
		eventtest.Example{Name: "event-unskipped", Version: 1,
			Event: skip.EventUnskipped{Event: id, By: "jo", Role: "operator", Why: "upgraded", At: noon}},
		eventtest.Example{Name: "skip-confirmed", Version: 1, Event: skip.SkipConfirmed{Event: id, By: "jo", Role: "operator",
			Why: "read it", At: noon}},
	)
}
