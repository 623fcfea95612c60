package audit_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	domainaudit "github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi/audit"
)

func TestPersonalDataIsForAuditorsAndRecordedFirst(t *testing.T) {
	d := newServer(t)
	d.opened("a1", "ada@example.org")
	d.opened("a2", "bob@example.org")

	plain := d.list(t, auditor, "sessions", of("account", "a1"))
	require.Equal(t, "[account-opened account-profile-recorded session-opened]", kinds(plain))
	require.Equal(t, "Session session-of-a1 of account a1 was opened by a sign-in through idp_1. "+
		"The account's owner did it, with API key rk_…abc.", plain.Entries[2].Sentence)
	for _, e := range plain.Entries {
		require.Nil(t, e.Personal)
	}
	for name, c := range map[string]struct {
		who    string
		query  []string
		status int
	}{
		"an operator":                 {operator, []string{"personal", "true", "reason", "Ticket 7"}, 403},
		"no reason":                   {auditor, []string{"personal", "true"}, 422},
		"a blank reason":              {auditor, []string{"personal", "true", "reason", "  "}, 400},
		"a reason with an address":    {auditor, []string{"personal", "true", "reason", "Mail of ada@example.org"}, 400},
		"an address without a reason": {operator, []string{"email", "ada@example.org"}, 422},
	} {
		status, body := d.ask(t, c.who, "/admin/audit/sessions", of(c.query...))
		require.Equal(t, c.status, status, name)
		require.NotContains(t, body, "session-of", name)
	}
	require.Empty(t, d.reads(), "nothing was shown")

	shown := d.list(t, auditor, "sessions", of("account", "a1", "personal", "true", "reason", "Ticket 7"))
	require.Equal(t, map[string]string{"email": "ada@example.org", "name": "Ada"}, shown.Entries[1].Personal)
	require.Equal(t, map[string]string{"address": "192.0.2.7", "device": "Firefox"}, shown.Entries[2].Personal)
	reads := d.reads()
	require.Len(t, reads, 1)
	read := reads[0]
	require.Equal(t, []any{auditor, "Ticket 7", 3, "sessions", "a1"},
		[]any{read.By, read.Reason, read.Count, read.Query.Of, read.Query.Account})

	// and the read is an entry itself, which other auditors can see
	require.Eventually(t, func() bool {
		return len(d.list(t, operator, "sessions", of("kind", "personal-data-read")).Entries) == 1
	}, time.Minute, 10*time.Millisecond)
	entry := d.list(t, operator, "sessions", of("kind", "personal-data-read")).Entries[0]
	require.Equal(t, "ann read personal data (entries on sessions: 3), with the reason: Ticket 7. "+
		"Auditor ann did it, from 127.0.0.1.", entry.Sentence)
}

// All acts of operators are listed with name, address and reason.
func TestWhatOperatorsDidIsListedWithTheirReasons(t *testing.T) {
	d := newServer(t)
	d.opened("a1", "ada@example.org")
	otto := eventlog.Actor{
		Kind: eventlog.ActorOperator, Name: "otto", Role: "operator", Address: "192.0.2.9", Reason: "Ticket 8.",
	}
	olga := eventlog.Actor{Kind: eventlog.ActorOperator, Name: "olga"}
	d.writeAs(t, otto, domainaudit.ActStream("o1"), eventlog.NoStream, noon, domainaudit.OperatorActed{
		Act: "o1", Kind: domainaudit.ActRebuild, Subject: "account, usage", At: noon,
	})
	d.writeAs(t, otto, account.Stream("a2"), eventlog.NoStream, noon.Add(time.Second),
		account.Opened{Account: "a2", Plan: "free", At: noon})
	d.writeAs(t, olga, domainaudit.ActStream("o2"), eventlog.NoStream, noon.Add(2*time.Second),
		domainaudit.OperatorActed{Act: "o2", Kind: domainaudit.ActCopyKeyring, At: noon})

	list := func(query ...string) (sentences []string) {
		for _, e := range d.list(t, auditor, "operators", of(query...)).Entries {
			sentences = append(sentences, e.Sentence)
		}
		return sentences
	}
	by := "Operator otto did it, from 192.0.2.9, with the reason: Ticket 8."
	require.Equal(t, []string{
		"Read models are to be built again: account, usage. " + by,
		"Account a2 was opened on plan free. " + by,
		"The keyring is copied. Operator or auditor olga did it.",
	}, list())
	require.Len(t, list("operator", "otto"), 2)
	require.Len(t, list("operator", "otto", "kind", "operator-acted"), 1)
}

// An unknown kind is an error, not an empty list.
func TestAKindThatNoEventHasIsRefused(t *testing.T) {
	d := newServer(t)
	status, body := d.ask(t, auditor, "/admin/audit/sessions", of("kind", "session-opend"))
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, body, "no event is of the kind session-opend")
	require.Contains(t, body, "session-opened", "a suggestion")
}

// Auditors read the address of each command. An account's key opens only its own addresses.
func TestTheAddressOfEachCommand(t *testing.T) {
	d := newServer(t)
	by := eventlog.Actor{Kind: eventlog.ActorAccount, Account: "a1", Session: "s0"}
	sealed := func(address, account string) ([]byte, uuid.UUID) {
		command := uuid.New()
		return d.seal(account, address, eventlog.FromUse(command)), command
	}
	d.opened("a1", "ada@example.org") // without one in the metadata
	at := time.Now().UTC()
	from, command := sealed("203.0.113.7", "a1")
	d.writeFrom(t, from, command, by, account.Stream("a1"), 1, at,
		account.APIKeyCreated{Account: "a1", Masked: "rk_…xyz", At: at})
	from, command = sealed("2001:db8::7", "a1")
	d.writeFrom(t, from, command, by, subscription.Stream("a1"), -1, at,
		subscription.Requested{Account: "a1", Request: "r1", Kind: subscription.Cancel, At: at})
	from, command = sealed("203.0.113.8", "a1")
	d.writeFrom(t, from, command, by, voice.Stream("v1"), -1, at, voice.Created{
		Voice: "v1", Account: "a1", Type: voice.Instant, Recordings: make([]voice.Recording, 2),
		Sealed: d.seal("a1", `{"name":"Grandmother"}`, voice.SealedFor("v1")), At: at,
	})
	from, command = sealed("198.51.100.9", "a2") // of another account
	d.writeFrom(t, from, command, by, account.Stream("a1"), 2, at, account.TermsAccepted{Account: "a1", At: at})

	said := func(who, area string, query ...string) (all []string) {
		for _, e := range d.list(t, who, area, of(query...)).Entries {
			all = append(all, e.Sentence[strings.Index(e.Sentence, ". ")+2:]+" "+e.Personal["address"])
		}
		return all
	}
	personal := []string{"personal", "true", "reason", "Ticket 7"}
	require.Equal(t, []string{
		"The account's owner did it, with API key rk_…abc. ",
		"The account's owner did it, with API key rk_…abc. ",
		"The account's owner did it, with API key rk_…abc, from 192.0.2.7. 192.0.2.7",
		"The account's owner did it, in session s0, from 203.0.113.7. 203.0.113.7",
		"The account's owner did it, in session s0. ",
	}, said(auditor, "sessions", personal...))
	require.Equal(t, []string{"The account's owner did it, in session s0, from 2001:db8::7. 2001:db8::7"},
		said(auditor, "billing", personal...))
	require.Equal(t, []string{"The account's owner did it, in session s0. "}, said(auditor, "billing"),
		"addresses are not shown without a reason")
	require.Equal(t, []string{"The account's owner did it, in session s0. "}, said(operator, "billing"))
	require.Equal(t, []string{"The account's owner did it, in session s0, from 203.0.113.8. 203.0.113.8"},
		said(auditor, "activity", personal...))
	shown := d.list(t, auditor, "activity", of(personal...)).Entries[0]
	require.Equal(t, `{"name":"Grandmother"}`, shown.Personal["voice"])
	require.Equal(t, "Account a1 wants voice v1 of type instant (recordings: 2). "+
		"The account's owner did it, in session s0.", d.list(t, operator, "activity", of()).Entries[0].Sentence)

	require.NoError(t, d.keys.Erase(t.Context(), "a1"))
	for _, area := range []string{"sessions", "billing", "activity"} {
		for _, one := range said(auditor, area, append(personal, "account", "a1")...) {
			require.NotContains(t, one, ", from")
		}
	}
}

// A read that cannot be recorded is refused.
func TestPersonalDataIsNotShownWhileTheLogIsUnavailable(t *testing.T) {
	d := newServer(t)
	d.opened("a1", "ada@example.org")
	d.api.Record = func(*web.Call, audit.Query, int, string) error {
		return domain.Refuse(domain.Unavailable, "The event log does not answer")
	}
	for path, query := range map[string][]string{
		"/admin/audit/sessions": {"personal", "true", "reason", "Ticket 7"},
		"/admin/audit/billing":  {"email", "ada@example.org", "reason", "Ticket 7"},
		"/admin/audit/accounts": {"email", "ada@example.org", "reason", "Ticket 7"},
	} {
		status, body := d.ask(t, auditor, path, of(query...))
		require.Equal(t, http.StatusServiceUnavailable, status, path)
		require.NotContains(t, body, "a1", path)
	}
	require.Len(t, d.list(t, auditor, "sessions", of()).Entries, 3, "other reads work")
}

func TestAddressesIgnoreCaseAndEachLookUpIsRecorded(t *testing.T) {
	d := newServer(t)
	d.opened("a1", "ada@example.org")
	d.opened("a2", "bob@example.org")
	d.opened("a3", "ada@example.org")

	status, body := d.ask(t, operator, "/admin/audit/accounts", of("email", "Ada@Example.org", "reason", "Ticket 8"))
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, `"a1"`)
	require.Contains(t, body, `"a3"`)
	require.NotContains(t, body, `"a2"`)
	ofAda := of("email", "ada@example.org", "reason", "Ticket 8")
	require.Len(t, d.list(t, operator, "sessions", ofAda).Entries, 6)
	ofAda.Set("account", "a3")
	require.Len(t, d.list(t, operator, "sessions", ofAda).Entries, 3)
	ofAda.Set("account", "a2")
	require.Empty(t, d.list(t, operator, "sessions", ofAda).Entries)
	status, body = d.ask(t, operator, "/admin/audit/accounts", of("email", "eve@example.org", "reason", "Ticket 9"))
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"accounts": []}`, body)
	require.Empty(t, d.list(t, operator, "billing", of("email", "eve@example.org", "reason", "Ticket 9")).Entries)

	var counts []int
	ada, err := d.hash(t.Context(), "ada@example.org")
	require.NoError(t, err)
	for i, read := range d.reads() {
		counts = append(counts, read.Count)
		require.Equal(t, operator, read.By)
		require.Equal(t, i < 4, read.Query.EmailHash == ada)
	}
	require.Equal(t, []int{2, 6, 3, 0, 0, 0}, counts)
}

func TestOfAClosedAccountNoPersonalDataIsShown(t *testing.T) {
	d := newServer(t)
	d.opened("a1", "ada@example.org")
	at := time.Now().UTC()
	d.write(t, account.Stream("a1"), 1, at, account.Closed{Account: "a1", At: at})
	require.NoError(t, d.keys.Erase(t.Context(), "a1"))
	d.write(t, account.Stream("a1"), 2, at, account.Erased{Account: "a1", AgainAt: at, At: at})

	shown := d.list(t, auditor, "sessions", of("account", "a1", "personal", "true", "reason", "Ticket 7"))
	require.Equal(t, "[account-opened account-profile-recorded session-opened account-closed account-erased]",
		kinds(shown))
	for _, e := range shown.Entries {
		require.Empty(t, e.Personal, e.Kind)
	}
	require.Empty(t, d.list(t, auditor, "sessions", of("email", "ada@example.org", "reason", "Ticket 7")).Entries,
		"the address has no account any more")
}

func TestFiltersAreChecked(t *testing.T) {
	d := newServer(t)
	for _, query := range [][]string{
		{"from", "yesterday"}, {"to", "2026-13-01T00:00:00Z"}, {"from", "0000-01-01T00:00:00Z"},
		{"limit", "0"}, {"limit", "1001"}, {"page_token", "x"}, {"page_token", "MS4yLjMuNC41LjY"},
		{"page_token", "OTIyMzM3MjAzNjg1NDc3NTgwNy4xLjEuMS4x"}, {"account", "a\x00b"},
		{"account", "ada@example.org"}, {"session", "' or true --"}, {"operator", "ada@example.org"},
	} {
		status, body := d.ask(t, auditor, "/admin/audit/sessions", of(query...))
		require.Equal(t, http.StatusUnprocessableEntity, status, "%v %s", query, body)
	}
	for _, query := range [][]string{
		{"account", "nobody"}, {"session", "none"}, {"operator", "nobody"}, {"kind", "session-opened"},
		{"from", "9999-12-31T23:59:59Z"},
	} {
		require.Empty(t, d.list(t, auditor, "sessions", of(query...)).Entries)
	}
}

// An event that arrives between the reads of two pages, with a time that belongs on the first, is on neither, and in
// all later lists.
func TestAllPagesTogetherShowTheLogAtTheFirst(t *testing.T) {
	d := newServer(t)
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	ended := func(id string, at time.Time) {
		d.write(t, session.Stream(id), -1, at, session.Ended{Session: id, Account: "a1", Reason: session.Expired, At: at})
	}
	for i, id := range []string{"s0", "s1", "s2", "s3"} {
		ended(id, noon.Add(time.Duration(i)*time.Second))
	}
	first := d.list(t, auditor, "sessions", of("limit", "2"))
	ended("early", noon.Add(-time.Hour))
	ended("late", noon.Add(2500*time.Millisecond))
	second := d.list(t, auditor, "sessions", of("limit", "2", "page_token", first.Next))

	var seen []string
	for _, e := range append(first.Entries, second.Entries...) {
		seen = append(seen, e.Session)
	}
	require.Equal(t, []string{"s0", "s1", "s2", "s3"}, seen)
	require.Empty(t, second.Next)
	require.Equal(t, first.Position, second.Position)
	require.Len(t, d.list(t, auditor, "sessions", of()).Entries, 6)
}
