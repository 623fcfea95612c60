// Package audit holds the read model of the audit trail.
package audit

import (
	"fmt"
	"slices"

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
	"github.com/recital-tts/recital/projections"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	return []feed.Projection{{
		Model: readmodel.Audit,
		Streams: eventlog.Streams{
			account.StreamPrefix, session.StreamPrefix, identity.StreamPrefix, keyring.Stream, eventlog.SkipsStream,
			audit.ReadStreamPrefix, subscription.StreamPrefix, payment.StreamPrefix, ledger.StreamPrefix,
			audit.ActStreamPrefix, alert.Stream, alert.ConditionPrefix, eventlog.IdentityStream,
			voice.StreamPrefix, star.StreamPrefix, clip.StreamPrefix, hosting.StreamPrefix,
		},
		Tables: []*table.Table{readmodel.AuditView.Table},
		Views:  []readmodel.View{readmodel.AuditView.View},
		Handle: handle,
	}}
}

func handle(event eventlog.Decoded, rows *table.Rows) error {
	e := entryOf(event.Event)
	if e.sentence != "" && !(e.routine && event.Meta.Actor.Kind == eventlog.ActorSystem) {
		readmodel.AuditView.Put(rows, rowOf(event, e))
	}
	return nil
}

// entry is an event in words.
type entry struct {
	area, account, session string
	sentence               string // without personal data
	personal               []readmodel.PersonalField
	routine                bool // without an entry if recitald did it automatically, perhaps many times a second
}

// of sets the account and the sentence.
func (e *entry) of(account, format string, arguments ...any) {
	e.account, e.sentence = account, fmt.Sprintf(format, arguments...)
}

// entries has a function for each slice, which returns an empty sentence for events that auditors do not need.
var entries = []func(event any) entry{
	ofLedger, ofSession, ofAccount, ofService, ofOperators, ofSubscription, ofInvoice, ofPayment,
	ofVoice, ofClip, ofHosting,
}

func entryOf(event any) entry {
	for _, of := range entries {
		if e := of(event); e.sentence != "" {
			return e
		}
	}
	return entry{}
}

func rowOf(event eventlog.Decoded, e entry) readmodel.AuditRow {
	actor := event.Meta.Actor
	row := readmodel.AuditRow{
		Commit: event.Position.Commit, Prepare: event.Position.Prepare, At: event.Meta.Time, Area: e.area, Kind: event.Type,
		Account: projections.OrNull(e.account), Session: projections.OrNull(e.session), Sentence: e.sentence,
		ActorKind: string(actor.Kind), ActorName: actor.Name, ActorRole: actor.Role, ActorAddress: actor.Address,
		ActorReason: actor.Reason, ActorKey: actor.Key, ActorSession: actor.Session,
		Correlation: event.Meta.CorrelationID, EventID: event.ID.String(), Stream: event.Stream, Revision: event.Revision,
		Personal: personalOf(event.Meta, e),
	}
	if event.Meta.CausationID != uuid.Nil {
		row.Causation = event.Meta.CausationID.String()
	}
	return row
}

// personalOf returns the personal data of an entry. The address of a sign-in is both in its event and in the metadata.
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
	add(readmodel.PersonalField{
		Name: readmodel.AuditAddress, Account: meta.Actor.Account, Use: eventlog.FromUse(meta.CommandID), Sealed: meta.From,
	})
	return fields
}
