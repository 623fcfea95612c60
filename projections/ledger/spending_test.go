package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
)

type capRow struct {
	Start        time.Time
	Amount       *int64
	Currency     string
	Unit, Millis int64
}

func TestASpendingCapIsDueUntilAPeriodFollowsIt(t *testing.T) {
	// given a cap, and a later one
	w := suite.World(t)
	capOf := func(amount, version int64) plan.SpendingCap {
		return plan.SpendingCap{Amount: &amount, Currency: "usd", Version: version}
	}
	set := func(amount, version int64) account.SpendingCapSet {
		return account.SpendingCapSet{Account: "a1", SpendingCap: capOf(amount, version), At: now}
	}
	own := w.Append(t, "account-a1", eventlog.NoStream, account.Opened{Account: "a1", Plan: plan.Indie, At: now})
	w.Append(t, "account-a1", own, set(5, 1), set(7, 2))
	require.Equal(t, map[string]time.Time{"a1": now}, due(t, w, "follow_spending_cap"))

	// when a period follows the first one, then the later one is still due
	var period history
	open := openPeriod("a1", plan.Indie, now)
	open.Cap, open.Rate = capOf(5, 1), plan.Rate{Unit: 1_000, Millis: 5_000, Currency: "usd"}
	period.do(open)
	used := w.Append(t, "usage-a1-1", eventlog.NoStream, period.take()...)
	require.Len(t, due(t, w, "follow_spending_cap"), 1)

	// and when a period follows the later one, then none is due, and the period shows it
	open.Cap = capOf(7, 2)
	period.do(open)
	w.Append(t, "usage-a1-1", used, period.take()...)
	require.Empty(t, due(t, w, "follow_spending_cap"))
	require.Equal(t, []capRow{{now, new(int64(7)), "usd", 1_000, 5_000}}, feedtest.Rows[capRow](t, w,
		`select period_start, amount, currency, rate_unit, rate_millis from read_v1.spending_caps where account_id = 'a1'`))
}
