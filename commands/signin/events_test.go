package signin_test

import (
	"testing"
	"time"

	commands "github.com/recital-tts/recital/commands/signin"
	"github.com/recital-tts/recital/domain/identity"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	free := &identity.FreePeriod{Start: noon, End: noon.AddDate(0, 1, 0), Used: 7500}
	eventtest.Golden(t, commands.Events(),
		eventtest.Of("identity-claimed", 1,
			identity.Claimed{Identity: "1a2b", Account: "a1", Provider: "idp_1", SealedUTMSource: []byte("\x01letter"),
				At: noon}),
		eventtest.Example{
			Name: "identity-released", Version: 1,
			Event: identity.Released{Identity: "1a2b", Account: "a1", FreePeriod: free, At: noon},
		},
	)
}
