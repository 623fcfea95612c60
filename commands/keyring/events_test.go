package keyring_test

import (
	"testing"
	"time"

	commands "github.com/recital-tts/recital/commands/keyring"
	"github.com/recital-tts/recital/domain/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	eventtest.Golden(t, commands.Events(),
		eventtest.Example{Name: "keyring-adopted", Version: 1, Event: keyring.Adopted{Keyring: "k1", At: noon}},
		eventtest.Example{Name: "keyring-abandoned", Version: 1, Event: keyring.Abandoned{Keyring: "k1", Successor: "k2",
			At: noon}},
	)
}
