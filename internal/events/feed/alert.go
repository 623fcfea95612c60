package feed

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Alert is a generation that a person should look at.
type Alert struct {
	Generation GenerationID
	Reason     alert.Reason
	Event      uuid.UUID         // id of the event that it is about; zero if there is none
	Position   eventlog.Position // of the event, or where the checkpoint was; zero if neither is known
	Detail     string            // what happened, without personal data
}

// GenerationName names a generation in alerts.
func GenerationName(name string, version, number int) string {
	return fmt.Sprintf("%s_v%d_g%d", name, version, number)
}

// Subject identifies the generation and, where it is known, its position. It is the same on every instance.
func (a Alert) Subject() string {
	generation := GenerationName(a.Generation.Name, a.Generation.Version, a.Generation.Number)
	if a.Position == (eventlog.Position{}) {
		return generation
	}
	return generation + " at " + a.Position.String()
}
