package chain

import (
	"slices"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Newest is the version of the list of our streams that this release signs.
const Newest = 3

// Streams returns a version of the list of our streams, whose events are in the chain, and nil for one that this
// release does not know. A version that was released never changes: heads name it. When a release has further streams,
// its heads name a further version, from the events on that follow the last head of the version before.
func Streams(version int) eventlog.Streams {
	first := eventlog.Streams{
		"account-", "alerts", "apikey-", "audit-acts-", "audit-heads", "audit-reads-", "catalogue", "clip-", "condition-",
		"feedback-", "hosting-", "identity-", "keyring",
		"log-identity", "payment-", "session-", "skips", "stars-", "subscription-", "usage-", "voice-", "voices-",
	}
	second := slices.Sorted(slices.Values(append(slices.Clone(first), "notices-")))
	switch version {
	case 1:
		return first
	case 2:
		return second
	case 3:
		return slices.Sorted(slices.Values(append(slices.Clone(second), "pronunciations-")))
	default:
		return nil
	}
}
