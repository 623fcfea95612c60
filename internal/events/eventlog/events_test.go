package eventlog_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	eventtest.Golden(t, []eventlog.Type{eventlog.LogOpenedType()}, eventtest.Example{
		Name: "log-opened", Version: 1,
		Event: eventlog.LogOpened{LogID: uuid.MustParse("0190b0c0-1111-7000-8000-00000000000a"), Epoch: 3},
	})
}
