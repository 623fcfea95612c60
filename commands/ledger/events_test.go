package ledger_test

import (
	"testing"
	"time"

	commands "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	limit := int64(15_000)
	over := ledger.Overage{Plan: plan.Indie, Version: 2, Characters: 345, At: noon, Billed: true, Amount: 17}
	most := plan.SpendingCap{Amount: new(int64(2_500)), Currency: "usd", Version: 4}
	rate := plan.Rate{Unit: 1_000, Millis: 5_000, Currency: "usd"}
	terms := ledger.PeriodOpened{Account: "a1", Plan: plan.Free, Limit: &limit, Metered: true, Start: noon,
		End: noon.AddDate(0, 1, 0)}
	bought := terms
	bought.Plan, bought.Version = plan.Pro, 3
	open := ledger.Reservation{ID: "r2", Characters: 40, Source: ledger.Playground, At: noon,
		ExpiresAt: noon.Add(time.Minute)}
	eventtest.Golden(t, commands.Events(),
		eventtest.Of("usage-period-opened", 1, bought),
		eventtest.Of("usage-period-terms-changed", 1, ledger.TermsChanged{PeriodOpened: bought, Before: 2, Overage: 345,
			At: noon.Add(time.Hour)}),
		eventtest.Of("usage-period-ended", 1, ledger.Ended{
			Account: "a1", Start: noon, End: noon.AddDate(0, 0, 9), To: noon.AddDate(0, 0, 9), At: noon.AddDate(0, 0, 10),
		}),
		eventtest.Of("usage-period-closed", 1, ledger.Closed{
			Account: "a1", Version: 3, Overage: 12_345, Start: noon, To: noon.AddDate(0, 1, 0), At: noon.AddDate(0, 1, 1),
		}),
		eventtest.Of("usage-overage-billed", 1, ledger.OverageBilled{
			Account: "a1", Version: 3, Characters: 12_345, Units: 12, Amount: 54, Currency: "usd", Item: "ii_1", Start: noon,
			At: noon.AddDate(0, 1, 1),
		}),
		eventtest.Of("usage-brought-in", 1, ledger.BroughtIn{Account: "a1", Characters: 9_000, Start: noon}),
		eventtest.Of("usage-reserved", 1, ledger.Reserved{
			Account: "a1", Reservation: "r1", Characters: 120, Source: ledger.API, At: noon, ExpiresAt: noon.Add(time.Minute),
		}),
		eventtest.Of("usage-reserved", 2, ledger.Reserved{
			Account: "a1", Reservation: "r1", Characters: 120, Source: ledger.Playground, At: noon,
			ExpiresAt: noon.Add(time.Minute),
		}),
		eventtest.Of("usage-share-reached", 1, ledger.UsageReached{Account: "a1", Percent: 80, Characters: 12_001,
			Limit: 15_000, Start: noon, At: noon}),
		eventtest.Of("usage-spending-reached", 1, ledger.SpendingReached{Account: "a1", Percent: 80, Spent: 8_001,
			Cap: 10_000, Currency: "usd", Start: noon, At: noon}),
		eventtest.Of("usage-settled", 1, ledger.Settled{Account: "a1", Reservation: "r1", Characters: 100,
			Source: ledger.Playground, Start: noon, At: noon}),
		eventtest.Of("usage-expired", 1, ledger.Expired{Account: "a1", Reservation: "r1", At: noon}),
		eventtest.Of("usage-summed", 1, ledger.SnapshotTaken{
			PeriodOpened: bought, Characters: 100, Reservations: []ledger.Reservation{open}, Overages: []ledger.Overage{over},
			At: noon, Cap: most, Rate: rate,
		}),
		eventtest.Of("usage-spending-cap-set", 1, ledger.SpendingCapSet{Account: "a1", SpendingCap: most, Rate: rate,
			Start: noon, At: noon}),
		eventtest.Of("usage-credit-granted", 1, ledger.CreditGranted{
			Account: "a1", Grant: "spring-2026", Characters: 5_000, Start: noon, End: noon.AddDate(0, 1, 0),
			From: new(noon.AddDate(0, -1, 0)), At: noon,
		}),
		eventtest.Of("usage-credit-carried", 1, ledger.CreditCarried{Account: "a1", Characters: 1_200, Start: noon,
			To: noon.AddDate(0, 1, 0), At: noon.AddDate(0, 1, 0)}),
		eventtest.Of("usage-credit-summed", 1, ledger.CreditSnapshotTaken{Account: "a1", At: noon, Grants: []ledger.Credited{
			{Grant: "spring-2026", Characters: 5_000},
			{Grant: "c0ffee00-0000-5000-8000-00000000000a", Characters: 1_200, From: new(noon.AddDate(0, -1, 0))},
		}}),
	)
}
