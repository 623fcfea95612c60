package changes

import (
	"encoding/json"
	"strings"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/domain/hosting"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/domain/star"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Part is a part of an account that clients read by itself.
type Part string

// The parts of an account.
const (
	Account  Part = "account" // profile, preferences, role
	Billing  Part = "billing" // plan, subscription, card, invoices, spending cap
	Clips    Part = "clips"
	Keys     Part = "keys" // API keys, and where they are set at the hosting platform
	Sessions Part = "sessions"
	Usage    Part = "usage"  // characters and credit
	Voices   Part = "voices" // their states and stars

	// Reset stands for all parts, because the changes since a position are unknown.
	Reset Part = "reset"
)

// Parts are all parts, without Reset.
var Parts = [...]Part{Account, Billing, Clips, Keys, Sessions, Usage, Voices}

// subject is a part of one account.
type subject struct {
	account string
	part    Part
}

// streams are the streams with events that change something that clients read. The account is in the stream's name or,
// where owned is set, in each event.
var streams = []struct {
	prefix string
	part   Part
	owned  bool
}{
	{ledger.StreamPrefix, Usage, false},
	{session.StreamPrefix, Sessions, true},
	{account.StreamPrefix, Account, false},
	{clip.StreamPrefix, Clips, true},
	{voice.StreamPrefix, Voices, true},
	{roster.StreamPrefix, Voices, false},
	{star.StreamPrefix, Voices, false},
	{subscription.StreamPrefix, Billing, false},
	{hosting.StreamPrefix, Keys, false},
}

// subjectOf returns the subject that an event changes, or false if it changes nothing that clients read.
func subjectOf(event eventlog.Recorded) (subject, bool) {
	if strings.HasSuffix(event.Type, "-snapshot-taken") {
		return subject{}, false
	}
	for _, s := range streams {
		id, found := strings.CutPrefix(event.Stream, s.prefix)
		switch {
		case !found:
			continue
		case s.owned:
			id = ownerOf(event)
		case s.part == Usage: // the start of the period follows the account
			id = id[:max(strings.LastIndexByte(id, '-'), 0)]
		case s.part == Account:
			return subject{id, partOfAccount(event.Type)}, id != ""
		}
		return subject{id, s.part}, id != ""
	}
	return subject{}, false
}

// ownerOf returns the account in an event, or "".
func ownerOf(event eventlog.Recorded) string {
	var data struct {
		Account string `json:"account"`
	}
	if json.Unmarshal(event.Data, &data) != nil {
		return ""
	}
	return data.Account
}

// partOfAccount returns the part that an event of an account's own stream changes.
func partOfAccount(eventType string) Part {
	switch {
	case strings.HasPrefix(eventType, "account-api-key-"):
		return Keys
	case eventType == "account-sessions-revoked":
		return Sessions
	case eventType == "account-entitled", eventType == "account-spending-cap-set":
		return Billing
	}
	return Account
}
