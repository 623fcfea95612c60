package app_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// patience and pause are for waits on a busy machine. No test depends on times.
const (
	patience = 5 * time.Minute       // only ends waits that would last forever
	pause    = 50 * time.Millisecond // between two attempts, each of which may be a request
)

func TestAnUnsettledReservationExpiresWhenItIsDue(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given a running recitald
	cfg := config(t)
	a := open(t, cfg)
	log := joinLog(t, cfg.DataDir)

	// when another instance makes two reservations, one of which is due soon, and disappears
	now := time.Now().UTC()
	short, lasting := uuid.NewString(), uuid.NewString()
	appendTo(t, log, "usage-elsewhere-1", eventlog.NoStream,
		ledger.PeriodOpened{Account: "elsewhere", Plan: plan.Enterprise, Start: now, End: now.Add(time.Hour)},
		ledger.Reserved{
			Account: "elsewhere", Reservation: short, Characters: 7, At: now, ExpiresAt: now.Add(700 * time.Millisecond),
		},
		ledger.Reserved{Account: "elsewhere", Reservation: lasting, Characters: 8, At: now, ExpiresAt: now.Add(time.Hour)})

	// then this instance expires that one after its lifetime, and not the other one
	var ended []ledger.Expired
	require.Eventually(t, func() bool {
		ended = nil
		for _, e := range eventsOf(t, log, "usage-elsewhere-1", 3) {
			ended = append(ended, e.Event.(ledger.Expired))
		}
		return len(ended) > 0
	}, patience, pause)
	require.Len(t, ended, 1)
	require.Equal(t, short, ended[0].Reservation)
	require.False(t, ended[0].At.Before(now.Add(700*time.Millisecond)))

	// and the metrics show that
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		lines := figures(t, a, secret(t, cfg, "operator-token"))
		require.Subset(c, lines, []string{
			`recital_todo_attempts_total{process="expiry"} 2`, `recital_todo_failures_total{process="expiry"} 0`,
			`recital_alerts_total{reason="gave_up",source="todo/expiry"} 0`, `recital_todo_given_up_items{process="expiry"} 0`,
			`recital_todo_due_items{process="expiry"} 0`, `recital_todo_oldest_due_age_seconds{process="expiry"} 0`,
		})
	}, patience, pause)
}

// figures returns the lines of the metrics in Prometheus' format.
func figures(t *testing.T, a *app.App, token string) []string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+a.AdminAddr()+"/metrics", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return strings.Split(string(text), "\n")
}
