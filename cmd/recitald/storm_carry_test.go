package main_test

import (
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
)

// carryChecker checks that credit left at a period's end is carried over once. The periods of its accounts end one
// after the other during the storm.
type carryChecker struct {
	stormClient
	all []customer
}

const (
	carriedCredit     = 500 // characters
	carriedAccounts   = 8
	betweenPeriodEnds = 3 * time.Second
)

func newCarryChecker(t *testing.T, config esdb.Config, v stormClient) *carryChecker {
	t.Helper()
	log, err := esdb.Open(config)
	require.NoError(t, err)
	defer log.Close()
	registry, err := app.Registry()
	require.NoError(t, err)
	write := func(stream string, events ...any) {
		t.Helper()
		meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: time.Now()}
		proposed, err := registry.Encode(uuid.New(), 0, meta, events...)
		require.NoError(t, err)
		_, err = log.Append(t.Context(), stream, eventlog.NoStream, proposed)
		require.NoError(t, err)
	}
	h := &carryChecker{stormClient: v}
	end, limit := time.Now().UTC().Truncate(time.Second), int64(freeCharacters)
	for range carriedAccounts {
		end = end.Add(betweenPeriodEnds)
		opened := openedAMonthBefore(end)
		start, _ := plan.MonthlyPeriod(opened, end.Add(-1))
		key, err := account.DrawAPIKey(rand.Reader)
		require.NoError(t, err)
		id, hash := uuid.NewString(), account.HashAPIKey(key)
		write(apikey.Stream(hash), apikey.Issued{Hash: hash, Account: id, At: opened})
		write(account.Stream(id), account.Opened{Account: id, Plan: plan.Free, At: opened},
			account.APIKeyCreated{Account: id, Hash: hash, Masked: account.MaskAPIKey(key), At: opened})
		write(fmt.Sprintf("usage-%s-%d", id, start.Unix()),
			ledger.PeriodOpened{Account: id, Plan: plan.Free, Limit: &limit, Start: start, End: end},
			ledger.CreditGranted{Account: id, Grant: "g", Characters: carriedCredit, Start: start, End: end, At: start})
		h.all = append(h.all, customer{id: id, key: key})
	}
	return h
}

// openedAMonthBefore returns an opening time for an account with the given period end: a month before, or several
// months if that month has no such day.
func openedAMonthBefore(end time.Time) time.Time {
	for months := 1; ; months++ {
		opened := end.AddDate(0, -months, 0)
		if _, ends := plan.MonthlyPeriod(opened, end.Add(-1)); ends.Equal(end) {
			return opened
		}
	}
}

// work synthesises with an account, which opens its next period and uses no credit.
func (h *carryChecker) work(at *server, r *mathrand.Rand) error {
	c := h.all[r.IntN(len(h.all))].at(at)
	if r.IntN(4) == 0 {
		c.try(h.client, speech{bytesRoute, "mp3", 10})
	}
	if h.asks(c) == http.StatusUnauthorized {
		return fmt.Errorf("a key of %s that was not revoked is refused", c.id)
	}
	return nil
}

func (h *carryChecker) check(at *server, b books) error {
	for _, c := range h.all {
		carried := 0
		for _, period := range b.periods {
			for _, grant := range period.Grants {
				if period.Terms.Account == c.id && grant.From != nil {
					carried++
				}
			}
		}
		if carried != 1 {
			return fmt.Errorf("the credit of %s was carried %d times", c.id, carried)
		}
		if err := h.requireCredit(c.at(at), b, carriedCredit); err != nil {
			return err
		}
	}
	return nil
}

func (h *carryChecker) customers() []customer { return h.all }

func (h *carryChecker) String() string { return fmt.Sprintf("carried credit: %d", len(h.all)) }
