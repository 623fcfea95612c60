// Package adminapi holds replies of the admin interface as recitald sends and recitalctl reads them.
//
// The tag doc is part of the interface's description. The tag col is for tables of recitalctl: it has the name of the
// column, if that is not the one in JSON, or "-" for no column, and options after it. Tables have a column with the
// option wide with --wide only, and one with programs never. The others are forms for people: time (of Unix seconds),
// local (of a time in text), figure (two decimals), none (of an empty text or list).
package adminapi

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/health"
)

// AccountsPage is a page of open accounts, the oldest first.
type AccountsPage struct {
	Accounts []ListedAccount `json:"accounts"`
	Next     *string         `json:"next_page_token"` // null: this is the last page
}

// ListedAccount is an account in a list.
type ListedAccount struct {
	AccountID  string `json:"account_id"`
	OpenedAt   string `json:"opened_at"` // RFC 3339
	Plan       string `json:"plan"`      // now
	Subscribed bool   `json:"subscribed"`
	Operator   bool   `json:"operator"`
}

// FoundAccounts are the accounts of an e-mail address.
type FoundAccounts struct {
	Accounts []FoundAccount `json:"accounts"`
}

// FoundAccount is an account of an e-mail address.
type FoundAccount struct {
	AccountID string `json:"account_id"`
	OpenedAt  string `json:"opened_at"` // RFC 3339
	Plan      string `json:"plan"`      // from the last entitlement on
}

// OpenResponse is a new account with its API key.
type OpenResponse struct {
	AccountID string `json:"account_id"`
	Plan      string `json:"plan"`
	APIKey    string `json:"apikey" col:"api_key"` // shown here only
	Masked    string `json:"masked" col:"-"`
}

// OperatorResponse reports whether an account has the role of an operator.
type OperatorResponse struct {
	AccountID string `json:"account_id"`
	Operator  bool   `json:"operator"`
}

// CreditResponse is a grant of credit.
type CreditResponse struct {
	AccountID        string `json:"account_id"`
	Grant            string `json:"grant"`
	Characters       int64  `json:"characters"`                          // granted
	CreditCharacters int64  `json:"credit_characters" col:"credit_left"` // left of all credit
}

// AccountAsOf is an account as it was at a time.
type AccountAsOf struct {
	AccountID      string            `json:"account_id"`
	AsOf           time.Time         `json:"as_of"`
	OpenedAt       time.Time         `json:"opened_at"`
	State          string            `json:"state"` // open; closed: it is being erased; erased
	Plan           string            `json:"plan"`
	EntitledUntil  *time.Time        `json:"entitled_until"` // null: it goes on
	Operator       bool              `json:"operator"`
	AcceptedTOS    bool              `json:"accepted_tos"`
	WantsEmail     *bool             `json:"wants_email"`
	APIKeys        []string          `json:"api_keys"` // in masked form; their names are the owner's words
	Subscription   *SubscriptionAsOf `json:"subscription"`
	Usage          *UsageAsOf        `json:"usage"` // null: nothing had been used in the period
	InstantVoices  int               `json:"instant_voices"`
	Professional   int               `json:"professional_voices"`
	SessionsBefore *time.Time        `json:"sessions_ended_before"` // all sessions opened until then were ended
	From           []FoldedStream    `json:"folded_from"`
}

// SubscriptionAsOf is the subscription of an account at a time.
type SubscriptionAsOf struct {
	ID          string     `json:"id"`
	Status      string     `json:"status"`
	Plan        string     `json:"plan"`
	Price       string     `json:"price"`
	PeriodStart time.Time  `json:"period_start"`
	PeriodEnd   time.Time  `json:"period_end"`
	CancelAt    *time.Time `json:"cancel_at"`
}

// UsageAsOf is the usage of an account at a time.
type UsageAsOf struct {
	Plan        string    `json:"plan"`
	PeriodStart time.Time `json:"period_start"`
	PeriodEnd   time.Time `json:"period_end"`
	Limit       *int64    `json:"character_limit"`
	Characters  int64     `json:"characters"` // settled
	Reserved    int64     `json:"reserved"`
	Credit      int64     `json:"credit_left"`
}

// FoldedStream is a stream from which an account was folded.
type FoldedStream struct {
	Stream   string    `json:"stream"`
	Revision int64     `json:"revision"` // of its last event until then
	At       time.Time `json:"at"`       // of that event
}

// ErasureReply is the progress of the erasure of an account.
type ErasureReply struct {
	AccountID    string      `json:"account_id"`
	State        string      `json:"state"`            // open, ending, erased (once), complete
	Complete     bool        `json:"complete"`         // nothing is left, and nothing can be added
	ClosedAt     *string     `json:"closed_at"`        // null before that, as the next ones
	ErasedAt     *string     `json:"erased_at"`        // what belonged to it
	AgainAt      *string     `json:"erased_again_due"` // because of requests that were still running
	RepeatedAt   *string     `json:"erased_again_at"`  // from then on nothing is left
	KeyDestroyed *string     `json:"key_destroyed_at"` // its sealed data is unreadable
	Left         []LeftReply `json:"left"`
}

// LeftReply is the number of things of one kind that are left to erase.
type LeftReply struct {
	What  string `json:"what"`
	Count int64  `json:"count"`
}

// AuditEntries is a page of entries for auditors.
type AuditEntries struct {
	Entries  []AuditEntry `json:"entries"`
	Next     *string      `json:"next_page_token"` // null: this is the last page
	Position string       `json:"position"`        // of the log, up to which all pages together are complete
}

// AuditEntry is an entry for auditors.
type AuditEntry struct {
	At        string            `json:"at" col:"time,local"` // RFC 3339
	Kind      string            `json:"kind"`
	Sentence  string            `json:"sentence" col:"what"`
	Personal  map[string]string `json:"personal,omitempty"` // without erased data
	AccountID *string           `json:"account_id" col:",wide"`
	SessionID *string           `json:"session_id" col:",wide"`
	Actor     AuditActor        `json:"actor" col:"*"`
	Stream    string            `json:"stream" col:",wide"`
	Revision  int64             `json:"revision" col:",wide"`
	Position  string            `json:"position" col:",wide"`
	EventID   string            `json:"event_id" col:",wide"`
	// Correlation is the request-id of the request, or the id of what led to it.
	Correlation string `json:"correlation" col:",wide"`
	// Causation is the id of the event or command that led to it; "" if a request did.
	Causation string `json:"causation" col:",wide"`
}

// AuditActor is the actor that caused an entry.
type AuditActor struct {
	Kind    string `json:"kind" col:"actor,wide"` // account, operator or system
	Name    string `json:"name,omitempty" col:"actor_name,wide"`
	Role    string `json:"role,omitempty" col:"actor_role,wide"`
	Address string `json:"address,omitempty" col:"actor_address,wide"` // of an operator's machine
	Reason  string `json:"reason,omitempty" col:"actor_reason,wide"`   // of an operator
	Key     string `json:"key,omitempty" col:"actor_key,wide"`
	Session string `json:"session,omitempty" col:"actor_session,wide"`
}

// HeadsReply are signed heads of the log, in order.
type HeadsReply struct {
	Log   string      `json:"log"` // id
	Heads []HeadReply `json:"heads"`
	Next  *uint64     `json:"next"` // from where there may be more; null at the end
}

// HeadReply is a signed head of the log.
type HeadReply struct {
	Revision uint64     `json:"revision"` // in the stream of heads
	Position string     `json:"position"` // in the log
	Head     audit.Head `json:"head"`
}

// KeyReply is the public key that proves the heads of an instance.
type KeyReply struct {
	Log string `json:"log"` // id
	Key string `json:"key"` // ed25519, hex
}

// AlertsReply are the open alerts, the oldest first.
type AlertsReply struct {
	Alerts []AlertInfo `json:"alerts"` // the oldest first
}

// AlertInfo is an open alert.
type AlertInfo struct {
	ID       string    `json:"id" col:",none"` // "" while the log does not have it
	Source   string    `json:"source" col:",wide"`
	Subject  string    `json:"subject" col:"-"`
	Reason   string    `json:"reason" col:",wide"`
	Since    time.Time `json:"since"`
	Lasting  bool      `json:"lasting" col:"clears_itself,wide"` // it is cleared when it is over
	Sentence string    `json:"sentence" col:"alert"`
	Advice   string    `json:"advice" col:"-"` // what to do
}

// OutboxReply are notices that were not sent, the newest first.
type OutboxReply struct {
	Notices []SentNotice `json:"notices"`
}

// SentNotice is a notice that would have been sent.
type SentNotice struct {
	At      time.Time `json:"at"`
	ID      string    `json:"id" col:",wide"`
	Kind    string    `json:"kind"`
	Account string    `json:"account" col:",wide"` // "" for the operators
	To      string    `json:"to"`
	Subject string    `json:"subject"`
	Text    string    `json:"text" col:"-"`
}

// ImportReply is an import of a keyring.
type ImportReply struct {
	Keyring string `json:"keyring"`
	Keys    int    `json:"keys"`
	// Erased is how many of them belong to accounts that were closed after the copy was made.
	Erased int `json:"erased" col:"erased_again"`
}

// InstalledVoicesReply are the installed voices.
type InstalledVoicesReply struct {
	Voices []InstalledVoiceReply `json:"voices"`
}

// InstalledVoiceReply is an installed voice.
type InstalledVoiceReply struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Languages   []string `json:"languages"`
	Licence     string   `json:"licence"`
	Commercial  string   `json:"commercial"`
	Attribution string   `json:"attribution" col:",wide"`
	Base        string   `json:"base" col:",wide"`
	SHA256      string   `json:"sha256" col:",wide"`
	Gain        float64  `json:"gain" col:",wide,figure" doc:"dB, to the loudness of all voices"`
	Cost        float64  `json:"cost" col:",figure" doc:"seconds of a processor for a second of speech"`
	Streams     int      `json:"streams" doc:"that this instance carries at the same time; 0 if the voice does not run on it"`
	Running     bool     `json:"running" doc:"on this instance"`
	SpeaksFor   []string `json:"speaks_for" doc:"system voices"`
	InstalledAt int64    `json:"installed_at" col:",wide,time"`
}

// TestedVoiceReply is the test of an installed voice.
type TestedVoiceReply struct {
	ID   string  `json:"id"`
	Gain float64 `json:"gain" col:",figure" doc:"dB, to the loudness of all voices"`
	Cost float64 `json:"cost" col:",figure" doc:"seconds of a processor for a second of speech"`
	// Missing symbols are silent. The most frequent come first.
	Missing []MissingSymbol `json:"missing" col:",none" doc:"symbols of the phonemes that the voice does not know"`
}

// MissingSymbol is a symbol that a voice lacks, with the number of times that the test needed it.
type MissingSymbol struct {
	Symbol string `json:"symbol"`
	Count  int    `json:"count"`
}

// String returns the symbol and its count.
func (m MissingSymbol) String() string { return fmt.Sprintf("%s (%d)", m.Symbol, m.Count) }

// SkipReply is an event that is skipped.
type SkipReply struct {
	EventID     string `json:"event_id"`
	Stream      string `json:"stream" col:",wide"`
	Revision    uint64 `json:"revision" col:",wide"`
	Type        string `json:"type"`
	Unconfirmed bool   `json:"unconfirmed" doc:"the event may have revoked a credential: its account or session admits none"`
	SkippedAt   int64  `json:"skipped_at" col:",wide,time"`
	By          string `json:"by"`
	Role        string `json:"role" col:"-"`
	Reason      string `json:"reason"`
}

// ListReply are the events that are skipped.
type ListReply struct {
	Skips []SkipReply `json:"skips"`
}

// UnskipReply is an event that counts again.
type UnskipReply struct {
	EventID string   `json:"event_id"`
	Rebuild []string `json:"rebuild" doc:"the read models that are past the event and may lack it until they are rebuilt"`
}

// GenerationID names a generation of a read model. In commands, a version or generation of 0 is the usual one.
type GenerationID struct {
	Name       string `json:"name"`
	Version    int    `json:"version"`
	Generation int    `json:"generation"`
}

// String returns the id in words.
func (id GenerationID) String() string {
	return fmt.Sprintf("generation %d of %s version %d", id.Generation, id.Name, id.Version)
}

// GenerationsReply are the generations that a command has affected.
type GenerationsReply struct {
	Generations []GenerationID `json:"generations"`
}

// OverviewReply is the state of all generations.
type OverviewReply struct {
	Projections []GenerationReply `json:"projections"`
	Head        string            `json:"head"`
	At          *float64          `json:"at"`        // Unix seconds
	Instances   []string          `json:"instances"` // that are connected to Postgres; a long name may be cut off
}

// GenerationReply is the state of a generation.
type GenerationReply struct {
	GenerationID
	Live      bool     `json:"live"`
	Promote   bool     `json:"promote"` // becomes live as soon as it has caught up
	State     string   `json:"state"`
	Reason    string   `json:"reason,omitempty"`
	Instance  string   `json:"instance"` // that feeds it; "" for none
	Position  string   `json:"position"`
	Progress  float64  `json:"progress"` // 0 to 1
	Events    int64    `json:"events"`
	Lag       float64  `json:"lag"`  // seconds
	Rows      int64    `json:"rows"` // estimated
	Size      int64    `json:"size"` // bytes
	Parked    int      `json:"parked"`
	MovedAt   *float64 `json:"moved_at"` // Unix seconds
	CreatedAt *float64 `json:"created_at"`
}

// ParkedReply is a page of events that generations could not handle.
type ParkedReply struct {
	Parked []ParkedEventReply `json:"parked"`
	Next   *string            `json:"next"` // after of the next page, null when there is none; that page may be empty
}

// ParkedEventReply is an event that a generation could not handle.
type ParkedEventReply struct {
	GenerationID `col:",programs"`
	State        string   `json:"state"`
	EventID      string   `json:"event_id"`
	Type         string   `json:"type" col:",wide"`
	Stream       string   `json:"stream" col:",wide"`
	Revision     uint64   `json:"revision" col:",wide"`
	Position     string   `json:"position" col:",wide"`
	ParkedAt     *float64 `json:"parked_at" col:",wide,time"` // Unix seconds
	Reason       string   `json:"reason"`
}

// Examination has an instance's findings about itself and the parts that it depends on.
type Examination struct {
	Instance string          `json:"instance,omitempty"`
	Version  string          `json:"version,omitempty"` // release and commit
	At       time.Time       `json:"at,omitzero"`
	Findings []health.Result `json:"findings"`
	Settings []Setting       `json:"settings,omitempty"` // secrets are hidden
}

// Setting is a setting in effect. Secrets are hidden.
type Setting struct {
	Flag     string `json:"flag"`
	Variable string `json:"variable"`
	Value    string `json:"value"`
	From     string `json:"from"` // default, environment or flag
}

// EventReply is an event of the log.
type EventReply struct {
	Position string          `json:"position"`
	ID       string          `json:"id"`
	Stream   string          `json:"stream"`
	Revision uint64          `json:"revision"`
	Type     string          `json:"type"`
	Created  time.Time       `json:"created" doc:"By the clock of the event store."`
	Data     json.RawMessage `json:"data" doc:"As it is in the log; base64 where it is no JSON."`
	Metadata json.RawMessage `json:"metadata" doc:"The same."`
}

// EventOf returns the reply for an event.
func EventOf(e eventlog.Recorded) EventReply {
	return EventReply{
		e.Position.String(), e.ID.String(), e.Stream, e.Revision, e.Type, e.Created, rawOr64(e.Data), rawOr64(e.Metadata),
	}
}

// rawOr64 returns JSON as it is, and other data as a string in base64.
func rawOr64(raw []byte) json.RawMessage {
	if json.Valid(raw) {
		return raw
	}
	encoded, _ := json.Marshal(raw) // a []byte always is such a string
	return encoded
}
