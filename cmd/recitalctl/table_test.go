package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/chain"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/standins"
)

// tableHead matches a table that begins with its head.
var tableHead = regexp.MustCompile(`^[A-Z]{2}[A-Z ]+\n`)

// requireNarrow checks that a printed table fits a terminal, unless --wide is given.
func requireNarrow(t *testing.T, args []string, out string) {
	t.Helper()
	if slices.Contains(args, "--wide") {
		return
	}
	for line := range strings.Lines(out) {
		if line == "\n" || !tableHead.MatchString(out) {
			return
		}
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), lineWidth, "recitalctl %s: %s",
			strings.Join(args, " "), line)
	}
}

// The values are as long as after years of operation.
func TestEveryTableFitsALineAndWideShowsAllColumns(t *testing.T) {
	id, account := "0190b0c0-1111-7222-8333-444455556666", "0190b0c0111172228333444455556666"
	position, unix := "123456789012/123456789012", float64(time.Now().Unix())
	long := strings.Repeat("what the handler said about it, in many words ", 6)
	read := adminapi.GenerationID{Name: "todo_follow_entitlement", Version: 12, Generation: 34}
	for name, c := range map[string]struct {
		print func(to terminal) error
		keeps []string // values that people copy, which must not be broken
		wide  []string // heads of columns that need --wide
	}{
		"projections list": {func(to terminal) error {
			return show(table, to, nil, generationRows([]adminapi.GenerationReply{{
				GenerationID: read, State: building, Promote: true, Progress: 0.5, Position: position, Rows: 1 << 40,
				Size: 1 << 45, Lag: 1e6, Parked: 1000, MovedAt: &unix,
			}}))
		}, []string{read.Name}, []string{"POSITION"}},
		"projections parked list": {func(to terminal) error {
			return show(table, to, nil, byEvent([]adminapi.ParkedEventReply{{
				GenerationID: read, EventID: id,
				Type: "subscription-scheduled-change-dropped", Stream: "subscription-" + account, Position: position,
				State:  "blocking",
				Reason: "event account-adopted of stream account-" + account + " is not known", ParkedAt: &unix,
			}, {
				GenerationID: adminapi.GenerationID{Name: "unissued_keys (1), sessions (1), closings (1), account (2)"},
				EventID:      position, State: "blocking", Reason: long, ParkedAt: &unix,
			}}))
		}, []string{id, read.Name, "account-" + account}, []string{"TYPE", "STREAM", "REVISION", "POSITION", "PARKED AT"}},
		"alerts": {func(to terminal) error {
			return show(table, to, nil, []adminapi.AlertInfo{{
				ID: id, Source: "projection/" + read.Name, Subject: account, Reason: "reservations_past_expiry",
				Since: time.Now(), Sentence: long,
			}})
		}, []string{id}, []string{"SOURCE", "REASON", "CLEARS ITSELF"}},
		"outbox": {func(to terminal) error {
			return show(table, to, nil, []adminapi.SentNotice{{
				At: time.Now(), ID: id, Kind: "payment", Account: account, To: "ada.lovelace@example.com",
				Subject: "80 % of your characters are used", Text: long,
			}})
		}, []string{"ada.lovelace@example.com"}, []string{"ID", "ACCOUNT"}},
		"audit heads": {func(to terminal) error {
			hash := strings.Repeat("0f", 32)
			return show(table, to, nil, headRows([]chain.LoggedHead{{Head: audit.Head{
				Count: 1 << 40, Hash: hash, Key: hash, At: time.Now(),
			}}}))
		}, []string{strings.Repeat("0f", 32)}, []string{"KEY"}},
		"audit sessions": {func(to terminal) error {
			entry := adminapi.AuditEntry{
				At: time.Now().Format(time.RFC3339Nano), Kind: "subscription-scheduled-change-dropped", AccountID: &account,
				SessionID: &id, Sentence: long,
				Correlation: "req_NCwcMfUDpDJoBg7QaMnYRk", Causation: id, EventID: id, Stream: "subscription-" + account,
				Position: position,
				Personal: map[string]string{"address": "2001:db8::1234", "device": long},
			}
			printer := newPrinter[adminapi.AuditEntry](table, to)
			if err := printer.print(entry); err != nil {
				return err
			}
			return printer.print(entry)
		}, nil, []string{"ACCOUNT ID", "ACTOR REASON", "CAUSATION"}},
		"sandbox customers": {func(to terminal) error {
			return show(table, to, nil, []standins.Customer{{
				Customer: "cus_1234", Account: account, Subscription: "sub_1234", Price: "price_premium_monthly",
				Status: "incomplete_expired", Invoice: "in_1234",
				InvoiceStatus: "uncollectible", CardPage: "http://127.0.0.1:12345/pages/setup/seti_1234_secret_5678",
			}})
		}, []string{
			"cus_1234", "in_1234", "http://127.0.0.1:12345/pages/setup/seti_1234_secret_5678",
		}, []string{"ACCOUNT", "SUBSCRIPTION", "INVOICE PAGE"}},
		"accounts show": {func(to terminal) error {
			return table.print(to, nil, []string{"ACCOUNT", account},
				[][]string{{"folded from", "usage-" + account + "-1764547200, until revision 1234567 of " + long}})
		}, []string{account}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var narrow, wide bytes.Buffer
			require.NoError(t, c.print(terminal{out: &narrow}))
			require.NoError(t, c.print(terminal{out: &wide, wide: true}))
			requireNarrow(t, []string{name}, narrow.String())
			for _, kept := range c.keeps {
				require.Contains(t, narrow.String(), kept)
			}
			head, _, _ := strings.Cut(narrow.String(), "\n")
			wideHead, _, _ := strings.Cut(wide.String(), "\n")
			for _, column := range c.wide {
				require.NotRegexp(t, `(^|  )`+column+`(  |$)`, head)
				require.Regexp(t, `(^|  )`+column+`(  |$)`, wideHead)
			}
		})
	}
}

// Ids in help texts have the form of recitald's ids.
func TestAccountIDsInHelpTextsHaveTheirForm(t *testing.T) {
	for _, args := range [][]string{
		{"--help"}, {"accounts", "show", "--help"}, {"audit", "sessions", "--help"}, {"events", "--help"},
	} {
		text := recitalctl(t, nil, args...).out
		ids := regexp.MustCompile(`0190b0c0[0-9a-f-]*`).FindAllString(text, -1)
		require.NotEmpty(t, ids, "%q", args)
		for _, id := range ids {
			require.Regexp(t, `^[0-9a-f]{32}$`, id)
		}
	}
}
