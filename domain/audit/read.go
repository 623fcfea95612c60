package audit

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/recital-tts/recital/domain"
)

// ReadStreamPrefix begins the names of the streams of reads. The read's id follows it. Each read has a stream of its
// own, so that the cost of a read does not grow with their number.
const ReadStreamPrefix = "audit-reads-"

// ReadStream returns the name of a read's stream.
func ReadStream(id string) string { return ReadStreamPrefix + id }

// MaxReason is the maximum length of a reason, in characters.
const MaxReason = 500

// PersonalDataRead records that personal data, or the account of an e-mail address, is about to be shown to a person.
// It is in the log before they see the data.
type PersonalDataRead struct {
	Read   string    `json:"read"`
	By     string    `json:"by"`     // the name of the person's token
	Reason string    `json:"reason"` // in their words
	Query  Query     `json:"query"`
	Count  int       `json:"count"` // of the rows shown
	At     time.Time `json:"at"`
}

// Query is the query of a read. Omitted parameters are empty.
type Query struct {
	Of        string     `json:"of"` // the list: sessions, billing, activity, accounts
	Account   string     `json:"account,omitempty"`
	EmailHash string     `json:"emailHash,omitempty"` // HMAC of the address that was looked up, in hex, as in profiles
	Session   string     `json:"session,omitempty"`
	Kind      string     `json:"kind,omitempty"`
	From      *time.Time `json:"from,omitempty"`
	To        *time.Time `json:"to,omitempty"`
	Operator  string     `json:"operator,omitempty"`
	Page      string     `json:"page,omitempty"` // the token of the page; "" for the first
	Personal  bool       `json:"personal"`       // personal data was shown; otherwise an address was looked up
}

func (PersonalDataRead) auditEvent() {}

// ReadState reports whether a read is recorded.
type ReadState struct{ Recorded bool }

// EvolveRead returns the state after an event.
func EvolveRead(s ReadState, event Event) ReadState {
	if _, ok := event.(PersonalDataRead); ok {
		s.Recorded = true
	}
	return s
}

// RecordRead records that personal data is about to be shown. Recording it again has no effect.
type RecordRead PersonalDataRead

// Decide refuses a read without a person or a reason, and a reason with an e-mail address, which would stay in the log
// when the address's owner is erased.
func (c RecordRead) Decide(s ReadState) ([]Event, error) {
	c.Reason = strings.TrimSpace(c.Reason)
	switch {
	case s.Recorded:
		return nil, nil
	case c.By == "":
		return nil, domain.Refuse(domain.Denied, "Personal data is only shown to a person with a name")
	case c.Reason == "" || utf8.RuneCountInString(c.Reason) > MaxReason:
		return nil, domain.Refuse(domain.Invalid, "Personal data is only shown for a reason of at most 500 characters")
	case strings.Contains(c.Reason, "@"):
		return nil, domain.Refuse(domain.Invalid, "A reason stays in the log for good, so it must not hold an e-mail address")
	}
	return []Event{PersonalDataRead(c)}, nil
}
