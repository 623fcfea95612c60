// Package audit is the read model of what auditors ask: a row for each event that they look for.
package audit

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/domain/hosting"
	"github.com/recital-tts/recital/domain/identity"
	"github.com/recital-tts/recital/domain/keyring"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/payment"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/domain/star"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection { return []feed.Projection{model()} }

// entryRow is an event that auditors look for. Its columns are those of readmodel.AuditView.
type entryRow struct {
	Commit       uint64                    `col:"log_commit,key"`
	Prepare      uint64                    `col:"log_prepare,key"`
	At           time.Time                 `col:"at"`
	Area         string                    `col:"area"`
	Kind         string                    `col:"kind"`
	Account      *string                   `col:"account_id"` // NULL: it is about none, or the event does not say
	Session      *string                   `col:"session_id"`
	Said         string                    `col:"said"`
	ActorKind    string                    `col:"actor_kind"`
	ActorName    string                    `col:"actor_name"`
	ActorRole    string                    `col:"actor_role"`
	ActorAddress string                    `col:"actor_address"`
	ActorReason  string                    `col:"actor_reason"`
	ActorKey     string                    `col:"actor_key"`
	ActorSession string                    `col:"actor_session"`
	Correlation  string                    `col:"correlation"`
	Causation    string                    `col:"causation"`
	EventID      string                    `col:"event_id"`
	Stream       string                    `col:"stream"`
	Revision     uint64                    `col:"revision"`
	Personal     []readmodel.PersonalField `col:"personal,null,json"`
}

// model has an index for each way to ask, in the order of the pages: by time, and by position where times are equal.
func model() feed.Projection {
	ordered := func(by ...string) []string { return append(by, "at", "log_commit", "log_prepare") }
	entries := table.Of[entryRow]("entries").
		Index("entries_of_area", ordered("area")...).
		Index("entries_of_kind", ordered("kind", "area")...).
		Index("entries_of_account", ordered("account_id", "area")...).
		Index("entries_of_operator", ordered("actor_name", "area")...).
		Index("entries_of_session", ordered("session_id", "area")...)
	return feed.Projection{
		Model: readmodel.Audit,
		Streams: eventlog.Streams{
			account.StreamPrefix, session.StreamPrefix, identity.StreamPrefix, keyring.Stream, eventlog.SkipsStream, audit.ReadStreamPrefix,
			subscription.StreamPrefix, payment.StreamPrefix, ledger.StreamPrefix,
			audit.ActStreamPrefix, alert.Stream, alert.ConditionPrefix, eventlog.IdentityStream,
			voice.StreamPrefix, star.StreamPrefix, clip.StreamPrefix, hosting.StreamPrefix,
		},
		Tables: []*table.Table{entries.Table},
		Views: []feed.View{{View: readmodel.AuditView, Select: `select log_commit, log_prepare, at, area, kind, account_id, session_id, said,
			actor_kind, actor_name, actor_role, actor_address, actor_reason, actor_key, actor_session, correlation, causation, event_id, stream, revision, personal from entries`}},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			what, asked := entryOf(event.Event)
			if asked && !(what.routine && event.Meta.Actor.Kind == eventlog.ActorSystem) {
				entries.Put(rows, rowOf(event, what))
			}
			return nil
		},
	}
}

// entry is what an event says to an auditor.
type entry struct {
	area, account, session string
	said                   string // without personal data: it is kept as it is when the account is erased
	personal               []readmodel.PersonalField
	routine                bool // no entry where recitald does it by itself, which may be many times a second
}

// of says what has happened to an account.
func (e *entry) of(account, format string, arguments ...any) {
	e.account, e.said = account, fmt.Sprintf(format, arguments...)
}

// entryOf returns the entry of an event; asked is false for one that auditors do not look for.
func entryOf(event any) (e entry, asked bool) {
	for _, of := range []func(any) (entry, bool){ofLedger, ofSession, ofAccount, ofService, ofOperators, ofSubscription, ofInvoice, ofPayment, ofVoice, ofClip, ofHosting} {
		if e, asked = of(event); asked {
			return e, true
		}
	}
	return entry{}, false
}

func rowOf(event eventlog.Decoded, e entry) entryRow {
	row := entryRow{
		Commit: event.Position.Commit, Prepare: event.Position.Prepare, At: event.Meta.Time,
		Area: e.area, Kind: event.Type, Account: orNull(e.account), Session: orNull(e.session), Said: e.said,
		ActorKind: string(event.Meta.Actor.Kind), ActorName: event.Meta.Actor.Name, ActorRole: event.Meta.Actor.Role,
		ActorAddress: event.Meta.Actor.Address, ActorReason: event.Meta.Actor.Reason, ActorKey: event.Meta.Actor.Key, ActorSession: event.Meta.Actor.Session,
		Correlation: event.Meta.CorrelationID, EventID: event.ID.String(), Stream: event.Stream, Revision: event.Revision,
		Personal: personalOf(event.Meta, e),
	}
	if event.Meta.CausationID != uuid.Nil {
		row.Causation = event.Meta.CausationID.String()
	}
	return row
}

// personalOf returns the personal data of an entry. The address of a sign-in is in its event, too, and in that of
// earlier releases alone.
func personalOf(meta eventlog.Metadata, e entry) (fields []readmodel.PersonalField) {
	add := func(f readmodel.PersonalField) {
		twice := slices.ContainsFunc(fields, func(other readmodel.PersonalField) bool { return other.Name == f.Name })
		if len(f.Sealed) > 0 && !twice {
			fields = append(fields, f)
		}
	}
	for _, f := range e.personal {
		f.Account = e.account
		add(f)
	}
	add(readmodel.PersonalField{Name: readmodel.AuditAddress, Account: meta.Actor.Account, Use: eventlog.FromUse(meta.CommandID), Sealed: meta.From})
	return fields
}

// orNull returns what a column holds for a text that may not have been given.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
