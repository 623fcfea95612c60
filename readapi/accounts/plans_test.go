package accounts

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

func TestAnAccountIsShownOnThePlanThatItIsEntitledTo(t *testing.T) {
	// given a free account with some usage that buys a plan, and cancels it for the end of the period
	w := newWorld(t)
	opened := time.Date(2026, 3, 5, 10, 0, 0, 0, time.UTC)
	bought := opened.AddDate(0, 0, 10)
	end := bought.AddDate(0, 1, 0)
	used := func(start, end time.Time, on plan.Type, limit, characters int64) {
		id := fmt.Sprint("r", start.Unix())
		w.Write(t, fmt.Sprintf("usage-a1-%d", start.Unix()),
			ledger.PeriodOpened{Account: "a1", Plan: on, Limit: &limit, Start: start, End: end},
			ledger.Reserved{Account: "a1", Reservation: id, Characters: characters, At: start, ExpiresAt: end},
			ledger.Settled{Account: "a1", Reservation: id, Characters: characters, Start: start, At: start})
	}
	own := w.Append(t, "account-a1", eventlog.NoStream, account.Opened{Account: "a1", Plan: plan.Free, At: opened})
	used(opened, opened.AddDate(0, 1, 0), plan.Free, 15_000, 400)
	w.Append(t, "account-a1", own,
		account.Entitled{Account: "a1", Entitlement: plan.Entitlement{Plan: plan.Pro, Start: bought, End: end,
			Next: plan.Free, Anchor: bought}, Revision: 3, Version: 1, At: bought})
	used(bought, end, plan.Pro, 1_250_000, 70_000)

	// then the plan, limit, usage and end of the period are right at each time, even before the provider's notice that the
	// plan has ended
	for _, c := range []struct {
		now        time.Time
		on         plan.Type
		limit      int64
		commercial bool
		characters int64
		end        time.Time
	}{
		{bought.Add(-time.Minute), plan.Pro, 1_250_000, true, 70_000, end}, // by a clock that is behind the provider's
		{bought, plan.Pro, 1_250_000, true, 70_000, end},
		{end.Add(-1), plan.Pro, 1_250_000, true, 70_000, end},
		{end, plan.Free, 15_000, false, 0, end.AddDate(0, 1, 0)},
	} {
		got, err := w.readAccount("a1", c.now)
		require.NoError(t, err)
		want := planInfo{Type: string(c.on), CommercialUseAllowed: c.commercial, CharacterLimit: &c.limit}
		require.Equal(t, want, got.Plan, c.now)
		require.Equal(t, c.characters, got.Usage.Characters, c.now)
		require.Equal(t, c.end.Unix(), *got.Usage.PeriodEnd, c.now)
	}
}

func TestTheSubscriptionThatCountsIsShown(t *testing.T) {
	w := newWorld(t)
	at := time.Now().UTC().Add(-time.Hour)
	w.Write(t, "account-a1", opened("a1", plan.Free, at))
	terms := func(id, status string) subscription.Terms {
		return subscription.Terms{Subscription: id, Status: status}
	}
	shows := func(state any, cancelled bool) {
		t.Helper()
		status, got := w.api.get(t, "a1")
		require.Equal(t, 200, status)
		require.Equal(t, state, got["sub_state"])
		require.Equal(t, cancelled, got["cancel_at_period_end"])
	}
	revision := eventlog.NoStream
	happens := func(events ...any) {
		t.Helper()
		revision = w.Append(t, "subscription-a1", revision, events...)
	}
	shows(nil, false)
	happens(subscription.Created{Account: "a1", Terms: terms("s1", "incomplete"), At: at})
	shows("incomplete", false)
	happens(subscription.Activated{Account: "a1", Terms: terms("s1", "active"), At: at},
		subscription.CancellationScheduled{Account: "a1", Subscription: "s1", At: at})
	shows("active", true)

	// subscriptions that wait or have ended do not replace it
	happens(subscription.Created{Account: "a1", Terms: terms("s2", "incomplete"), At: at.Add(time.Minute)})
	shows("active", true)
	happens(subscription.Ended{Account: "a1", Terms: terms("s2", "incomplete_expired"), At: at.Add(time.Minute)})
	shows("active", true)

	// until it has ended, and then the newest is shown
	happens(subscription.FellDue{Account: "a1", Terms: terms("s1", "past_due"), At: at})
	shows("past_due", true)
	happens(subscription.Ended{Account: "a1", Terms: terms("s1", "canceled"), At: at},
		subscription.Created{Account: "a1", Terms: terms("s3", "incomplete"), At: at.Add(2 * time.Minute)},
		subscription.Ended{Account: "a1", Terms: terms("s3", "canceled"), At: at.Add(2 * time.Minute)})
	shows("canceled", false)
}
