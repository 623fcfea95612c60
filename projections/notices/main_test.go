package notices_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/commands/ledger"
	noticeevents "github.com/recital-tts/recital/commands/notices"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/alert"
	ledgerevents "github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/notice"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	projections "github.com/recital-tts/recital/projections/notices"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReleasedReadModels(t *testing.T) {
	feedtest.RequireReleased(t, projections.ReadModels()...)
}

type world struct {
	*feedtest.World
	t         *testing.T
	revisions map[string]eventlog.Revision
}

func newWorld(t *testing.T) *world {
	return &world{feedtest.New(t, feedtest.Registry(t, slices.Concat(accounts.Events(), alerts.Events(), billing.Events(),
		ledger.Events(), noticeevents.Events())), projections.ReadModels()...), t, map[string]eventlog.Revision{}}
}

func (w *world) append(stream string, events ...any) {
	w.t.Helper()
	revision, known := w.revisions[stream]
	if !known {
		revision = eventlog.NoStream
	}
	w.revisions[stream] = w.Append(w.t, stream, revision, events...)
}

type row struct{ Item, Stream, Cause string }

func (w *world) due(channel string) []row {
	w.t.Helper()
	return feedtest.Rows[row](w.t, w.World, fmt.Sprintf(
		`select item, stream, cause from read_v1.todo_%s_notice order by due_at, item`, channel))
}

func (w *world) items(channel string) (items []string) {
	for _, r := range w.due(channel) {
		items = append(items, r.Item)
	}
	return items
}

func TestANoticeIsDueUntilItHasAnOutcome(t *testing.T) {
	w := newWorld(t)
	now := time.Now().UTC()
	key := account.APIKeyCreated{Account: "a1", Hash: "c0ffee", Masked: "rk_abcd****wxyz", At: now}
	w.append("account-a1", account.Opened{Account: "a1", Plan: "free", At: now}, key)
	item := notice.OfKey("a1", "rk_abcd****wxyz").Item()

	// without an address, a notice only goes to the webhook
	require.Empty(t, w.due("mail"))
	require.Equal(t, []string{item}, w.items("webhook"))
	w.append("account-a1", account.ProfileRecorded{Account: "a1", Name: []byte("n"), Email: []byte("e"), At: now})
	require.Equal(t, []string{item}, w.items("mail"))

	// an owner who refuses e-mail gets none
	w.append("account-a1", account.EmailPreferencesSet{Account: "a1", At: now})
	require.Empty(t, w.due("mail"))
	w.append("account-a1", account.EmailPreferencesSet{Account: "a1", WantsEmail: true, At: now})
	due := w.due("mail")
	require.Len(t, due, 1)
	require.Equal(t, notice.Stream("a1", now), due[0].Stream)

	// an outcome removes a notice from its channel
	id := uuid.NewSHA1(uuid.MustParse(due[0].Cause), []byte(item)).String()
	w.append(due[0].Stream, notice.Ended{Account: "a1", Notice: id, Kind: notice.APIKeyCreated, Channel: notice.Mail,
		Outcome: notice.Sent, At: now})
	require.Empty(t, w.due("mail"))
	require.Len(t, w.due("webhook"), 1)
}

func TestWhatReachesAShareIsTold(t *testing.T) {
	w := newWorld(t)
	now := time.Now().UTC()
	w.append("usage-a1-1795521600", ledgerevents.UsageReached{Account: "a1", Percent: 80, Limit: 15_000, At: now})
	require.Equal(t, []string{notice.OfUsage("a1", 80, 15_000).Item()}, w.items("webhook"))
	w.append("usage-a1-1795521600", ledgerevents.SpendingReached{Account: "a1", Percent: 100, Cap: 500, Currency: "usd",
		At: now.Add(time.Second)})
	require.Equal(t, notice.OfSpending("a1", 100, 500, "usd").Item(), w.items("webhook")[1])
}

func TestWhoIsClosedGetsNothingMore(t *testing.T) {
	w := newWorld(t)
	now := time.Now().UTC()
	w.append("account-a1", account.Opened{Account: "a1", Plan: "free", At: now},
		account.ProfileRecorded{Account: "a1", Name: []byte("n"), Email: []byte("e"), At: now})
	w.append("subscription-a1", subscription.PaymentFailed{Account: "a1", Invoice: "in_1", Attempts: 2, At: now})
	require.Equal(t, []string{notice.OfPayment("a1", "in_1", 2).Item()}, w.items("mail"))
	w.append("account-a1", account.Closed{Account: "a1", At: now})
	require.Empty(t, w.due("mail"))
}

func TestAlertsAreForOperators(t *testing.T) {
	w := newWorld(t)
	now := time.Now().UTC()
	full := alert.Condition{Source: "disk", Subject: "host:/data", Reason: alert.DiskFull}
	w.append("condition-1", alert.ConditionRaised{Alert: "c1", Source: full.Source, Subject: full.Subject,
		Reason: full.Reason, At: now})
	w.append("alerts", alert.Raised{Alert: "r1", Source: "todo/mail_notice", Subject: "n1", Reason: alert.GaveUp, At: now})
	for _, channel := range []string{"mail", "webhook"} {
		require.Equal(t, []string{notice.OfAlert(full, now, true).Item()}, w.items(channel), "and none about notices")
	}
}

func TestAnHourAtItsLimitHasNothingDue(t *testing.T) {
	w := newWorld(t)
	now := time.Now().UTC()
	for i := range 3 {
		w.append("subscription-a1", subscription.PaymentFailed{Account: "a1", Invoice: "in_1", Attempts: int64(i), At: now})
	}
	require.Len(t, w.due("webhook"), 3)
	w.append(notice.Stream("a1", now), notice.LimitReached{Account: "a1", Notice: "n1", Channel: notice.Webhook, At: now})
	require.Empty(t, w.due("webhook"))
}

func TestWhatHappenedWhileNoticesWereOffIsNotSentLater(t *testing.T) {
	w := newWorld(t)
	at := time.Now().UTC().Add(-72 * time.Hour)
	w.append("subscription-a1", subscription.PaymentFailed{Account: "a1", Invoice: "in_1", Attempts: 1, At: at})
	require.Empty(t, w.due("webhook"))
}
