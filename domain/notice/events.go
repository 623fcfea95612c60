// Package notice is the aggregate of the streams notices-<recipient>-<hour in Unix seconds>: the outcomes of the
// notices about an hour of an account, or of the service. The number of notices about an hour is limited, so that a
// stream stays short.
package notice

import (
	"cmp"
	"fmt"
	"time"
)

// StreamPrefix begins the names of the streams.
const StreamPrefix = "notices-"

// Stream returns the stream of a notice to the owner of an account, or to the operators ("") about something at a time.
func Stream(account string, at time.Time) string {
	return fmt.Sprintf("%s%s-%d", StreamPrefix, cmp.Or(account, "operators"), at.Truncate(time.Hour).Unix())
}

// Event is one of the events below.
type Event interface{ noticeEvent() }

// Channel is a means of delivery.
type Channel string

// The channels.
const (
	Mail    Channel = "mail"
	Webhook Channel = "webhook"
)

// Channels returns all channels.
func Channels() []Channel { return []Channel{Mail, Webhook} }

// Outcome is the outcome of a notice.
type Outcome string

// The outcomes.
const (
	Sent     Outcome = "sent"
	Refused  Outcome = "refused"  // permanently, by the server
	Unwanted Outcome = "unwanted" // the account is closed, has no address, or wants no e-mail
	Late     Outcome = "late"     // it was not delivered within Patience
	Exceeded Outcome = "exceeded" // there were too many in the hour
)

// Ended records what became of a notice on a channel. The recipient's address is not in it.
type Ended struct {
	Account string    `json:"account"` // "" for the operators
	Notice  string    `json:"notice"`  // id, the same on each channel
	Kind    Kind      `json:"kind"`
	Channel Channel   `json:"channel"`
	Outcome Outcome   `json:"outcome"`
	At      time.Time `json:"at"`
}

// LimitReached records that no further notice about the hour is sent on a channel. Notice is the first one beyond the
// limit; later ones are not recorded.
type LimitReached struct {
	Account string    `json:"account"`
	Notice  string    `json:"notice"`
	Channel Channel   `json:"channel"`
	At      time.Time `json:"at"`
}

func (Ended) noticeEvent()        {}
func (LimitReached) noticeEvent() {}
