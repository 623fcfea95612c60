package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// due returns the times at which the items of a list are due, by their ids.
func due(t *testing.T, w *feedtest.World, list string) map[string]time.Time {
	t.Helper()
	found := map[string]time.Time{}
	for _, row := range feedtest.Rows[todoRow](t, w, `select item, stream, due_at from read_v1.todo_`+list) {
		found[row.Item] = row.Due
	}
	return found
}

func onVersion(command ledger.OpenPeriod, version int64) ledger.OpenPeriod {
	command.Version = version
	return command
}

func TestAnEntitlementIsDueUntilAPeriodHasItsTerms(t *testing.T) {
	w := suite.World(t)
	entitled := func(version int64) account.Entitled {
		at := now.Add(time.Duration(version) * time.Second)
		e := plan.Entitlement{Plan: plan.Pro, Start: now}
		return account.Entitled{Account: "a1", Entitlement: e, Version: version, At: at}
	}
	is := func(version int64) map[string]time.Time { return map[string]time.Time{"a1": entitled(version).At} }
	var period history
	period.do(openPeriod("a1", plan.Free, now))
	used := w.Append(t, "usage-a1-1", eventlog.NoStream, period.take()...)
	own := w.Append(t, "account-a1", eventlog.NoStream, account.Opened{Account: "a1", Plan: plan.Free, At: now})
	require.Empty(t, due(t, w, "follow_entitlement"))

	// when there are two, and the first is followed, then the other one is due
	own = w.Append(t, "account-a1", own, entitled(1))
	require.Equal(t, is(1), due(t, w, "follow_entitlement"))
	own = w.Append(t, "account-a1", own, entitled(2))
	require.Equal(t, is(2), due(t, w, "follow_entitlement"))
	period.do(onVersion(openPeriod("a1", plan.Indie, now), 1))
	used = w.Append(t, "usage-a1-1", used, period.take()...)
	require.Equal(t, is(2), due(t, w, "follow_entitlement"))

	// and the period shows its terms
	indie := int64(200_000)
	row := periodRow{"a1", now, now.AddDate(0, 1, 0), "indie", &indie, 0, 0, 0, 0, 0}
	require.Equal(t, []periodRow{row}, feedtest.Rows[periodRow](t, w, periodsOf, "a1"))

	// and when the other one is followed in place, or by another period, then none is due
	period.do(onVersion(openPeriod("a1", plan.Pro, now), 2))
	w.Append(t, "usage-a1-1", used, period.take()...)
	require.Empty(t, due(t, w, "follow_entitlement"))
	w.Append(t, "account-a1", own, entitled(3))
	require.Equal(t, is(3), due(t, w, "follow_entitlement"))
	var next history
	next.do(onVersion(openPeriod("a1", plan.Pro, now.AddDate(0, 1, 0)), 3))
	w.Append(t, "usage-a1-2", eventlog.NoStream, next.take()...)
	require.Empty(t, due(t, w, "follow_entitlement"))
}

func TestAPeriodThatEndsEarlyIsDueThen(t *testing.T) {
	// given a metered period with credit, and one that is not metered
	w := suite.World(t)
	end, cut, seen := now.AddDate(0, 1, 0), now.AddDate(0, 0, 9), now.AddDate(0, 0, 10)
	var metered, free history
	metered.do(openPeriod("a1", plan.Indie, now))
	metered.do(ledger.Grant{Grant: "g", Characters: 50, At: now})
	free.do(openPeriod("a2", plan.Free, now))
	at := w.Append(t, "usage-a1-1", eventlog.NoStream, metered.take()...)
	w.Append(t, "usage-a2-1", eventlog.NoStream, free.take()...)
	require.Equal(t, map[string]time.Time{"usage-a1-1": end.Add(time.Hour)}, due(t, w, "close_period"),
		"an hour after the end, when the provider's notices are in")
	require.Equal(t, map[string]time.Time{"usage-a1-1": end}, due(t, w, "credit"))

	// when it ends early, then the tasks at its end are due at that time
	metered.do(ledger.End{To: cut, At: seen})
	at = w.Append(t, "usage-a1-1", at, metered.take()...)
	require.Equal(t, map[string]time.Time{"usage-a1-1": seen}, due(t, w, "close_period"))
	require.Equal(t, map[string]time.Time{"usage-a1-1": seen}, due(t, w, "credit"))
	require.Equal(t, cut, feedtest.Rows[periodRow](t, w, periodsOf, "a1")[0].End)

	// and once it is closed without overage, no bill is due
	metered.do(ledger.Close{To: cut, At: seen})
	w.Append(t, "usage-a1-1", at, metered.take()...)
	require.Empty(t, due(t, w, "close_period"))
	require.Empty(t, due(t, w, "bill_overage"))
}

func TestOverageIsDueUntilItIsBilled(t *testing.T) {
	w := suite.World(t)
	end := now.AddDate(0, 1, 0)
	speak := func(h *history, reservation string, characters int64) {
		h.do(ledger.Reserve{Reservation: reservation, Characters: characters, At: now, ExpiresAt: end})
		h.do(ledger.Settle{Reservation: reservation, Characters: characters, At: now})
	}
	billed := func(version int64) ledger.RecordBilled {
		return ledger.RecordBilled{Version: version, Units: 12, Amount: 60, Currency: "usd", Item: "ii_1", At: end}
	}
	var h history
	h.do(openPeriod("a1", plan.Indie, now))
	h.do(ledger.Reserve{Reservation: "r1", Characters: 1, At: now, ExpiresAt: end})
	at := w.Append(t, "usage-a1-1", eventlog.NoStream, h.take()...)
	require.Empty(t, due(t, w, "close_period"), "while something is reserved")
	h.do(ledger.Settle{Reservation: "r1", Characters: 1, At: now})
	speak(&h, "r2", 212_344)
	at = w.Append(t, "usage-a1-1", at, h.take()...)
	require.Len(t, due(t, w, "close_period"), 1)

	// when the terms change, then the overage is due immediately, and no longer counts
	pro := onVersion(openPeriod("a1", plan.Pro, now), 1)
	pro.At = now.AddDate(0, 0, 3)
	h.do(pro)
	at = w.Append(t, "usage-a1-1", at, h.take()...)
	require.Equal(t, map[string]time.Time{"usage-a1-1/0": pro.At}, due(t, w, "bill_overage"))
	require.Equal(t, "200000 0", counted(t, w, "a1"))
	speak(&h, "r3", 1_050_700)
	at = w.Append(t, "usage-a1-1", at, h.take()...)
	require.Equal(t, "1250700 0", counted(t, w, "a1"))
	require.EqualValues(t, 1_250_700, h.Settled)

	// and when the period is closed, then the overage under its last terms is due, too
	h.do(ledger.Close{To: end, At: end})
	at = w.Append(t, "usage-a1-1", at, h.take()...)
	require.Empty(t, due(t, w, "close_period"))
	require.Equal(t, map[string]time.Time{"usage-a1-1/0": pro.At, "usage-a1-1/1": end}, due(t, w, "bill_overage"))

	// each until it is billed
	h.do(billed(1))
	at = w.Append(t, "usage-a1-1", at, h.take()...)
	require.Equal(t, map[string]time.Time{"usage-a1-1/0": pro.At}, due(t, w, "bill_overage"))
	h.do(billed(0))
	w.Append(t, "usage-a1-1", at, h.take()...)
	require.Empty(t, due(t, w, "bill_overage"))
}

// counted returns the counted usage in the period of an account.
func counted(t *testing.T, w *feedtest.World, account string) string {
	t.Helper()
	rows := feedtest.Rows[struct{ Characters, Playground, Overage int64 }](t, w,
		`select characters, playground_characters, overage from read_v1.usage_periods where account_id = $1`, account)
	require.Len(t, rows, 1)
	row := readmodel.UsagePeriodRow{Characters: rows[0].Characters, Playground: rows[0].Playground,
		Overage: rows[0].Overage}
	return fmt.Sprint(row.Counted())
}

// Terms that change in place may shorten a period, and end its billing.
func TestTermsThatChangeInPlace(t *testing.T) {
	w := suite.World(t)
	var h history
	h.do(openPeriod("a1", plan.Indie, now))
	h.do(ledger.Grant{Grant: "g", Characters: 50, At: now})
	shorter := onVersion(openPeriod("a1", plan.Free, now), 1)
	shorter.End = now.AddDate(0, 0, 12)
	h.do(shorter)
	w.Write(t, "usage-a1-1", h.take()...)
	require.Empty(t, due(t, w, "close_period"))
	require.Equal(t, map[string]time.Time{"usage-a1-1": shorter.End}, due(t, w, "credit"))
	limit := int64(15_000)
	require.Equal(t, []periodRow{{"a1", now, shorter.End, "free", &limit, 0, 0, 50, 0, 50}},
		feedtest.Rows[periodRow](t, w, periodsOf, "a1"), fmt.Sprint(h.State))
}
