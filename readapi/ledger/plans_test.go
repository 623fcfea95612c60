package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
)

// Each period is in the history once, with its plan and its end, even without usage.
func TestTheHistoryAcrossPlans(t *testing.T) {
	// given an account that was free, bought a plan, upgraded it, cancelled it, and is free again
	w := newWorld(t)
	now := time.Now().UTC().Truncate(time.Second)
	bought := now.AddDate(0, 0, -80)
	opened, border := bought.AddDate(0, 0, -40), bought.AddDate(0, 0, 30)
	end, ended := bought.AddDate(0, 0, 60), bought.AddDate(0, 0, 65)
	entitled := func(version int64, e plan.Entitlement) account.Entitled {
		return account.Entitled{Account: "a1", Entitlement: e, Revision: version, Version: version, At: e.Start}
	}
	w.Write(t, "account-a1",
		account.Opened{Account: "a1", Plan: plan.Free, At: opened},
		entitled(1, plan.Entitlement{Plan: plan.Indie, Start: bought, End: border, Next: plan.Indie}),
		entitled(2, plan.Entitlement{Plan: plan.Pro, Start: bought, End: border, Next: plan.Pro}),
		entitled(3, plan.Entitlement{Plan: plan.Pro, Start: border, End: end, Next: plan.Pro}),
		entitled(4, plan.Entitlement{Plan: plan.Pro, Start: end, End: end.AddDate(0, 0, 30), Next: plan.Pro}),
		entitled(5, plan.Entitlement{Plan: plan.Free, Start: ended}))
	_, month := plan.MonthlyPeriod(opened, opened)
	_, last := plan.MonthlyPeriod(ended, ended)
	item := func(on string, end time.Time, characters int64) usageHistoryItem {
		return usageHistoryItem{Plan: on, PeriodEnd: end.Unix(), CharsUsed: characters}
	}

	// then unused periods end at the start of another plan
	want := []usageHistoryItem{
		item("free", last, 0), item("pro", ended, 0), item("pro", end, 0),
		item("pro", border, 0), item("free", bought, 0), item("free", month, 0),
	}
	require.Equal(t, want, w.periods(t, "a1"))

	// and used ones have their usage and their end
	use := func(start time.Time, on plan.Type, end, cut time.Time, characters int64) {
		limit, r := int64(1), fmt.Sprint(start.Unix())
		terms := ledger.PeriodOpened{Account: "a1", Plan: on, Limit: &limit, Start: start, End: end, Version: 9}
		w.Write(t, "usage-a1-"+r,
			ledger.PeriodOpened{Account: "a1", Plan: plan.Free, Limit: &limit, Start: start, End: end},
			ledger.TermsChanged{PeriodOpened: terms, At: start},
			ledger.Reserved{
				Account: "a1", Reservation: r, Characters: characters, Source: ledger.API, At: start, ExpiresAt: end,
			},
			ledger.Settled{Account: "a1", Reservation: r, Characters: characters, Source: ledger.API, Start: start, At: start},
			ledger.Ended{Account: "a1", Start: start, End: cut, To: cut, At: cut})
	}
	use(month, plan.Free, month.AddDate(0, 1, 0), bought, 11)
	use(bought, plan.Pro, border, border, 22)
	use(end, plan.Pro, end.AddDate(0, 0, 30), ended, 33)
	want[4].CharsUsed, want[3].CharsUsed, want[1].CharsUsed = 11, 22, 33
	require.Equal(t, want, w.periods(t, "a1"))
}
