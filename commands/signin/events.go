package signin

import (
	"github.com/recital-tts/recital/domain/identity"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of identities.
func Events() []eventlog.Type {
	return eventlog.In(identity.StreamPrefix,
		eventlog.Define[identity.Claimed]("identity-claimed", 1),
		eventlog.Define[identity.Released]("identity-released", 1),
	)
}
