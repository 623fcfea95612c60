package audit

import (
	"fmt"
	"strings"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/domain/identity"
	"github.com/recital-tts/recital/domain/keyring"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/domain/skip"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// endings are the reasons for the ends of sessions in words.
var endings = map[session.Reason]string{
	session.SignedOut: "it signed out",
	session.Revoked:   "it was revoked",
	session.Expired:   "its time was over",
	session.Surplus:   "the account had too many others",
	session.Replayed:  "a secret was shown that had been replaced: its cookie was stolen, or kept",
}

func ofSession(event any) entry {
	e := entry{area: readmodel.AuditSessions}
	switch s := event.(type) {
	case session.Opened:
		e.session = s.Session
		e.of(s.Account, "Session %s of account %s was opened by a sign-in through %s", s.Session, s.Account, s.Provider)
		if s.Country != "" {
			e.sentence += ", in " + s.Country
		}
		e.personal = []readmodel.PersonalField{
			{Name: readmodel.AuditAddress, Use: session.AddressSealedFor(s.Session), Sealed: s.Address},
			{Name: "device", Use: session.DeviceSealedFor(s.Session), Sealed: s.Device},
		}
	case session.Rotated:
		e.session = s.Session
		e.of(s.Account, "Session %s of account %s was given another secret", s.Session, s.Account)
	case session.Ended:
		e.session = s.Session
		e.of(s.Account, "Session %s of account %s ended, because %s", s.Session, s.Account, endings[s.Reason])
	case identity.Claimed:
		e.of(s.Account, "A person at %s was given account %s (identity %s)", s.Provider, s.Account, s.Identity)
		e.personal = []readmodel.PersonalField{
			{Name: "utm_source", Use: identity.SealedForUTMSource, Sealed: s.SealedUTMSource},
		}
	case identity.Released:
		e.of(s.Account, "Identity %s was released from account %s, which is closed", s.Identity, s.Account)
	}
	return e
}

func ofAccount(event any) entry {
	e := entry{area: readmodel.AuditSessions}
	switch a := event.(type) {
	case account.Opened:
		e.of(a.Account, "Account %s was opened on plan %s", a.Account, a.Plan)
	case account.APIKeyCreated:
		e.of(a.Account, "API key %s of account %s was created", a.Masked, a.Account)
		e.personal = nameOf(a.Hash, a.SealedName)
	case account.APIKeyRenamed:
		e.of(a.Account, "API key %s of account %s was renamed", a.Masked, a.Account)
		e.personal = nameOf(a.Hash, a.SealedName)
	case account.APIKeyRevoked:
		e.of(a.Account, "API key %s of account %s was revoked", a.Masked, a.Account)
	case account.ProfileRecorded:
		e.of(a.Account, "What the identity provider says about the owner of account %s was recorded", a.Account)
		e.personal = []readmodel.PersonalField{
			{Name: "name", Use: account.ForName, Sealed: a.Name},
			{Name: "email", Use: account.ForEmail, Sealed: a.Email},
			{Name: "picture", Use: account.ForPicture, Sealed: a.Picture},
		}
	case account.TermsAccepted:
		e.of(a.Account, "The owner of account %s accepted the terms of service", a.Account)
	case account.EmailPreferencesSet:
		e.of(a.Account, "The owner of account %s wants %s", a.Account, wanted[a.WantsEmail])
	case account.OperatorGranted:
		e.of(a.Account, "Account %s was granted the role of an operator", a.Account)
	case account.OperatorWithdrawn:
		e.of(a.Account, "The role of an operator was withdrawn from account %s", a.Account)
	case account.SessionsRevoked:
		e.of(a.Account, "All sessions of account %s were ended", a.Account)
	case account.Closed:
		e.of(a.Account, "Account %s was closed", a.Account)
	case account.Erased:
		e.of(a.Account, "What belonged to account %s was erased, and its key destroyed", a.Account)
	case account.ErasureRepeated:
		e.of(a.Account, "What requests that were still running may have left of account %s was erased", a.Account)
	}
	return e
}

// wanted is an owner's preference in words.
var wanted = map[bool]string{true: "e-mail about the service", false: "no e-mail about the service"}

// nameOf returns the name of an API key.
func nameOf(hash string, sealed []byte) []readmodel.PersonalField {
	return []readmodel.PersonalField{{Name: "key_name", Use: account.ForKeyName(hash), Sealed: sealed}}
}

// ofService returns the entries of events about the service and its staff.
func ofService(event any) entry {
	e := entry{area: readmodel.AuditSessions}
	switch s := event.(type) {
	case keyring.Adopted:
		e.sentence = fmt.Sprintf("Keyring %s became the log's", s.Keyring)
	case keyring.Abandoned:
		e.sentence = fmt.Sprintf("Keyring %s was abandoned: what it sealed is lost", s.Keyring)
	case skip.EventSkipped:
		e.account = accountOf(s.Stream)
		e.sentence = fmt.Sprintf("%s (%s) skipped event %d of stream %s (%s), with the reason: %s",
			s.By, s.Role, s.Revision, s.Stream, s.Event, s.Why)
	case skip.EventUnskipped:
		e.sentence = fmt.Sprintf("%s (%s) let skipped event %s count again, with the reason: %s",
			s.By, s.Role, s.Event, s.Why)
	case skip.SkipConfirmed:
		e.sentence = fmt.Sprintf("%s (%s) confirmed that skipped event %s revokes no credential, with the reason: %s",
			s.By, s.Role, s.Event, s.Why)
	case audit.PersonalDataRead:
		e.account, e.session = s.Query.Account, s.Query.Session
		e.sentence = fmt.Sprintf("%s %s (%s: %d), with the reason: %s",
			s.By, done(s.Query), shown[s.Query.Of], s.Count, s.Reason)
	}
	return e
}

// accountOf returns the account of a stream, "" if its name does not contain it.
func accountOf(stream string) string {
	id, ofAccount := strings.CutPrefix(stream, account.StreamPrefix)
	if !ofAccount {
		return ""
	}
	return id
}

// shown has the objects of reads of personal data in words.
var shown = map[string]string{
	"sessions": "entries on sessions", "billing": "entries on billing", "activity": "entries on activity",
	"accounts": "accounts",
}

// done returns a read of personal data in words.
func done(q audit.Query) string {
	switch {
	case q.EmailHash == "":
		return "read personal data"
	case q.Personal:
		return "looked an e-mail address up and read personal data"
	}
	return "looked an e-mail address up"
}

// acts are the acts of operators and auditors in words. They are recorded beforehand.
var acts = map[string]string{
	audit.ActRebuild:       "Read models are to be built again: %s",
	audit.ActPromote:       "Generations of read models are to be live: %s",
	audit.ActRollback:      "A read model is to be rolled back: %s",
	audit.ActRetire:        "A generation of a read model is to be dropped: %s",
	audit.ActRetry:         "A parked event is to be tried again: %s",
	audit.ActCopyLog:       "Events of the log are copied%.0s",
	audit.ActCopyBlobs:     "Blobs are copied%.0s",
	audit.ActCopyKeyring:   "The keyring is copied%.0s",
	audit.ActImportKeyring: "A copy of the keyring is to be imported%.0s",
	audit.ActDrain:         "An instance is to be drained%.0s",
	audit.ActInstallVoice:  "A voice is to be installed from a package: %s",
	audit.ActTestVoice:     "An installed voice is to be tested: %s",
	audit.ActRemoveVoice:   "An installed voice is to be removed: %s",
	audit.ActAssignVoice:   "An installed voice is to speak for a system voice, or no longer: %s",
}

// ofOperators returns the entries of changes to the service itself.
func ofOperators(event any) entry {
	e := entry{area: readmodel.AuditOperators}
	switch o := event.(type) {
	case audit.OperatorActed:
		words, known := acts[o.Kind]
		if !known {
			words = o.Kind + ": %s"
		}
		e.sentence = fmt.Sprintf(words, o.Subject)
	case alert.Cleared:
		e.sentence, e.routine = "Alert "+o.Alert+" was cleared", true
	case alert.ConditionCleared:
		e.sentence, e.routine = "Alert "+o.Alert+" was cleared", true
	case eventlog.LogOpened:
		e.sentence, e.routine = fmt.Sprintf("Epoch %d of log %s was opened: it was restored or moved", o.Epoch, o.LogID), true
	}
	return e
}
