package keyring

import (
	"github.com/recital-tts/recital/domain/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of the stream keyring.
func Events() []eventlog.Type {
	return eventlog.In(keyring.Stream,
		eventlog.Define[keyring.Adopted]("keyring-adopted", 1),
		eventlog.Define[keyring.Abandoned]("keyring-abandoned", 1),
	)
}
