package chain

import "github.com/recital-tts/recital/internal/events/eventlog"

// Newest is the version of the list of our streams that this release signs.
const Newest = 1

// Streams returns a version of the list of our streams, whose events are in the chain, and nil for one that this
// release does not know. A version that was released never changes: heads name it. When a release has further streams,
// its heads name a further version, from the events on that follow the last head of the version before.
func Streams(version int) eventlog.Streams {
	switch version {
	case 1:
		return eventlog.Streams{
			"account-", "alerts", "apikey-", "audit-acts-", "audit-heads", "audit-reads-", "catalogue", "clip-", "condition-",
			"feedback-", "hosting-", "identity-", "keyring",
			"log-identity", "payment-", "session-", "skips", "stars-", "subscription-", "usage-", "voice-", "voices-",
		}
	default:
		return nil
	}
}
