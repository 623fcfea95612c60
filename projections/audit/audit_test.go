package audit_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/alerts"
	auditevents "github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/commands/hosting"
	"github.com/recital-tts/recital/commands/keyring"
	"github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/commands/signin"
	"github.com/recital-tts/recital/commands/skips"
	"github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/alert"
	auditdomain "github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/domain/clip"
	hostingevents "github.com/recital-tts/recital/domain/hosting"
	"github.com/recital-tts/recital/domain/identity"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/domain/star"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/projections/audit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// slicesOf lists the slices with events for auditors.
var slicesOf = map[string][]eventlog.Type{
	"accounts": accounts.Events(), "sessions": sessions.Events(), "signin": signin.Events(), "keyring": keyring.Events(),
	"billing": billing.Events(), "ledger": ledger.Events(), "audit": auditevents.Events(),
	"voices": voices.Events(), "clips": clips.Events(), "hosting": hosting.Events(), "alerts": alerts.Events(),
	"skips": skips.Events(),
}

func registry(t testing.TB) *eventlog.Registry {
	t.Helper()
	var all [][]eventlog.Type
	for _, types := range slicesOf {
		all = append(all, types)
	}
	return feedtest.Registry(t, all...)
}

func TestReleasedReadModels(t *testing.T) {
	feedtest.RequireReleased(t, audit.ReadModels()...)
}

// withoutEntry lists the events of these slices without entries: usage, details of bills, the progress of voices, and
// repetitions.
var withoutEntry = []string{
	"account-entitled", "usage-spending-cap-set", "account-snapshot-taken", "apikey-issued", "price-listed",
	"price-withdrawn",
	"audit-head-signed", "session-seen", "subscription-snapshot-taken",
	"usage-reserved", "usage-settled", "usage-share-reached", "usage-spending-reached",
	"usage-expired", "usage-summed", "usage-credit-summed",
	"voice-queued", "voice-training-begun", "voice-analysed", "voice-preview-rendered", "voice-snapshot-taken",
	"voice-place-taken", "voice-place-freed", "voices-ended", "voices-snapshot-taken", "stars-snapshot-taken",
	"clip-saved", "clip-audio-sealed", "alert-raised", "condition-raised",
}

type entry struct {
	Kind, Area, Said string
	Account          *string
	Role, Reason     string // of the actor
	Personal         *string
}

// entries returns all entries in the order of the log.
func entries(t *testing.T, w *feedtest.World) []entry {
	t.Helper()
	return feedtest.Rows[entry](t, w, `select kind, area, said, account_id, actor_role, actor_reason, personal::text
		from read_v1.audit_entries order by log_commit, log_prepare`)
}

// Every event has an entry in plain words, unless it is in withoutEntry.
func TestEveryEventIsInWordsOrUnasked(t *testing.T) {
	w := feedtest.New(t, registry(t), audit.ReadModels()...)
	var written []string
	for slice, types := range slicesOf {
		for _, one := range types {
			writeAs(t, w, owner, uuid.New(), account.Stream(one.Name()), example(t, w, slice, one))
			written = append(written, one.Name())
		}
	}
	var found []string
	for _, row := range entries(t, w) {
		found = append(found, row.Kind)
		require.Contains(t, []string{"sessions", "billing", "activity", "operators"}, row.Area, row.Kind)
		require.NotContains(t, row.Said, "%!", row.Kind)
		require.NotRegexp(t, `because $|^\s*$|  |0001-01-01|\.$`, row.Said, row.Kind)
		if row.Account != nil && row.Kind != "payment-notice-handled" && row.Kind != "personal-data-read" {
			require.Contains(t, row.Said, *row.Account, row.Kind)
		}
	}
	wanted := slices.DeleteFunc(written, func(kind string) bool { return slices.Contains(withoutEntry, kind) })
	require.ElementsMatch(t, wanted, found)
}

// example returns the golden event of a type.
func example(t *testing.T, w *feedtest.World, slice string, one eventlog.Type) any {
	t.Helper()
	name := fmt.Sprintf("%s.v%d.json", one.Name(), one.Version())
	data, err := os.ReadFile(filepath.Join("../../commands", slice, "testdata/events", name))
	require.NoError(t, err)
	metadata, err := json.Marshal(eventlog.Metadata{Actor: system, Version: one.Version(), Time: time.Now()})
	require.NoError(t, err)
	decoded, err := w.Registry.Decode(eventlog.Recorded{ID: uuid.New(), Type: one.Name(), Data: data, Metadata: metadata})
	require.NoError(t, err)
	return decoded.Event
}

type columns struct {
	Commit, Prepare                               int64
	Kind                                          string
	Session                                       *string
	ActorKind, Name, Key, In, Correlation, Stream string
	EventID                                       string
	Revision                                      int64
	Personal                                      *string
}

func TestAnEntryHasItsActorAndPosition(t *testing.T) {
	w := feedtest.New(t, registry(t), audit.ReadModels()...)
	command := uuid.New()
	opened := session.Opened{
		Session: "s1", Account: "a1", Provider: "idp_1", Address: []byte{1, 2}, At: noon, ExpiresAt: noon,
	}
	at := writeAs(t, w, owner, command, session.Stream("s1"), opened,
		session.Ended{Session: "s1", Account: "a1", Reason: session.Revoked, At: noon})

	rows := feedtest.Rows[columns](t, w, `select log_commit, log_prepare, kind, session_id,
		actor_kind, actor_name, actor_key, actor_session, correlation, stream, event_id, revision, personal::text
		from read_v1.audit_entries order by log_commit, log_prepare`)
	require.Len(t, rows, 2)
	from := `[{"use": "command-from/` + command.String() + `", "name": "address", "sealed": "AwQ=", "account": "a1"}]`
	s1, sealed := "s1", `[{"use": "session-address/s1", "name": "address", "sealed": "AQI=", "account": "a1"}]`
	require.Equal(t, columns{
		Commit: rows[1].Commit, Prepare: rows[1].Prepare, Kind: "session-ended", Session: &s1, ActorKind: "account",
		Key: "rk_…abc", In: "s0", Correlation: "request-1", Stream: "session-s1",
		EventID: eventlog.EventID(command, 1).String(), Revision: 1, Personal: &from,
	}, rows[1])
	require.Equal(t, &sealed, rows[0].Personal, "sealed, and once: the event and the metadata have the same address")
	require.EqualValues(t, at.Commit, rows[1].Commit)
	require.EqualValues(t, at.Prepare, rows[1].Prepare)
}

var (
	noon  = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	owner = eventlog.Actor{Kind: eventlog.ActorAccount, Account: "a1", Key: "rk_…abc", Session: "s0"}

	system = eventlog.Actor{Kind: eventlog.ActorSystem}
)

// writeAs writes events of a command, waits until they are rows, and returns the position of the last one.
func writeAs(
	t *testing.T, w *feedtest.World, by eventlog.Actor, command uuid.UUID, stream string, events ...any,
) eventlog.Position {
	t.Helper()
	meta := eventlog.Metadata{
		CorrelationID: "request-1", CausationID: uuid.New(), Time: noon, Actor: by, From: []byte{3, 4},
	}
	proposed, err := w.Registry.Encode(command, 0, meta, events...)
	require.NoError(t, err)
	appended, err := w.Log.Append(t.Context(), stream, eventlog.NoStream, proposed)
	require.NoError(t, err)
	require.NoError(t, w.Projector.Wait(t.Context(), appended.Position))
	return appended.Position
}

// Automatic deletions, perhaps thousands a day, have no entries. Deletions by a person have entries.
func TestRoutineDeletionsHaveNoEntries(t *testing.T) {
	w := feedtest.New(t, registry(t), audit.ReadModels()...)
	writeAs(t, w, system, uuid.New(), "clip-c1", clip.Deleted{Clip: "c1", Account: "a1"})
	writeAs(t, w, system, uuid.New(), "stars-a1", star.Unstarred{Voice: "v1", Account: "a1"})
	writeAs(t, w, system, uuid.New(), "voice-v1", voice.Erased{Voice: "v1", Account: "a1"})
	writeAs(t, w, owner, uuid.New(), "clip-c2", clip.Deleted{Clip: "c2", Account: "a1"})
	writeAs(t, w, owner, uuid.New(), "stars-a2", star.Unstarred{Voice: "v2", Account: "a1"})
	var found []string
	for _, row := range entries(t, w) {
		found = append(found, row.Said)
	}
	require.Equal(t, []string{
		"The recordings of voice v1 of account a1, and what was made of them, were erased",
		"Clip c2 of account a1 was deleted", "Account a1 has voice v2 starred no more",
	}, found)
}

// Names given by people are personal data, and in no sentence.
func TestNamesGivenByPeopleStaySealed(t *testing.T) {
	w := feedtest.New(t, registry(t), audit.ReadModels()...)
	w.Write(t, "account-a1",
		account.APIKeyCreated{Account: "a1", Hash: "h1", Masked: "m1", SealedName: []byte{1}},
		account.APIKeyRenamed{Account: "a1", Hash: "h1", Masked: "m1", SealedName: []byte{2}},
		account.APIKeyCreated{Account: "a1", Hash: "h2", Masked: "m2"})
	w.Write(t, "identity-i1",
		identity.Claimed{Identity: "i1", Account: "a1", Provider: "idp_1", SealedUTMSource: []byte{3}})
	w.Write(t, "voice-v1", voice.Created{Voice: "v1", Account: "a1", Type: voice.Instant, Sealed: []byte{4}})
	w.Write(t, "hosting-a1", hostingevents.VariableBegun{Account: "a1", Hash: "h1", Masked: "m1", SealedName: []byte{5}})
	var personal []*string
	for _, row := range entries(t, w) {
		personal = append(personal, row.Personal)
	}
	require.Equal(t, []*string{
		new(`[{"use": "api-key/h1/name", "name": "key_name", "sealed": "AQ==", "account": "a1"}]`),
		new(`[{"use": "api-key/h1/name", "name": "key_name", "sealed": "Ag==", "account": "a1"}]`),
		nil,
		new(`[{"use": "identity/utm-source", "name": "utm_source", "sealed": "Aw==", "account": "a1"}]`),
		new(`[{"use": "voice/v1", "name": "voice", "sealed": "BA==", "account": "a1"}]`),
		new(`[{"use": "hosting-project/h1", "name": "project", "sealed": "BQ==", "account": "a1"}]`),
	}, personal)
}

func TestAnEventThatComesAgainAfterARestartIsOneEntry(t *testing.T) {
	w := feedtest.New(t, registry(t), audit.ReadModels()...)
	w.Write(t, account.Stream("a1"), account.Opened{Account: "a1", Plan: "free", At: time.Now()})
	other := w.OnNewDatabase(t)
	other.Project(t, audit.ReadModels()...)
	for _, database := range []*feedtest.World{w, other} {
		require.Len(t, entries(t, database), 1)
	}
}

// A restore and a cleared alert have entries if an operator did them, and none if recitald opened its log or a
// condition ended.
func TestWhatOperatorsDoToTheServiceHasAnEntry(t *testing.T) {
	w := feedtest.New(t, registry(t), audit.ReadModels()...)
	operator := eventlog.Actor{Kind: eventlog.ActorOperator, Name: "root", Role: "offline", Reason: "Ticket 7"}
	_, err := eventlog.NextEpoch(t.Context(), w.Log, w.Registry, w.Identity, operator, noon)
	require.NoError(t, err)
	writeAs(t, w, system, uuid.New(), "condition-1", alert.ConditionCleared{Alert: "c1", At: noon})
	writeAs(t, w, operator, uuid.New(), alert.Stream, alert.Cleared{Alert: "c2", At: noon})
	writeAs(t, w, operator, uuid.New(), auditdomain.ActStream("o1"),
		auditdomain.OperatorActed{Act: "o1", Kind: "a kind of a later release", Subject: "usage", At: noon})

	var found []string
	for _, row := range entries(t, w) {
		require.Equal(t, "offline", row.Role)
		require.Equal(t, "Ticket 7", row.Reason)
		found = append(found, row.Said)
	}
	require.Equal(t, []string{
		fmt.Sprintf("Epoch 2 of log %s was opened: it was restored or moved", w.Identity.LogID),
		"Alert c2 was cleared", "a kind of a later release: usage",
	}, found)
}
