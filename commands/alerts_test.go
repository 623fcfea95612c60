package commands_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/todo"
)

func (w *world) givenUp(process, item string, cause uuid.UUID) todo.GivenUp {
	return todo.GivenUp{Process: process, Item: todo.Item{ID: item, Stream: "s", Cause: cause}, Attempts: 10, At: w.clock.Now()}
}

func TestAnItemThatIsGivenUpRaisesOneAlert(t *testing.T) {
	// given an item that was given up
	w := newWorld(t)
	cause := uuid.New()
	require.NoError(t, commands.NewAlerts(w.journal).GaveUp(t.Context(), w.givenUp("expiry", "r1", cause)))

	// when it is given up again after a restart, while others were given up in between
	w.clock.advance(time.Hour)
	restarted := commands.NewAlerts(w.journal)
	require.NoError(t, restarted.GaveUp(t.Context(), w.givenUp("expiry", "r2", cause)))
	require.NoError(t, restarted.GaveUp(t.Context(), w.givenUp("expiry", "r1", cause)))

	// then its alert is in the log once, with what a person needs to look into it
	alerts := fold[alert.Event](w, "alerts")
	require.Len(t, alerts, 2)
	first := alerts[0].(alert.Raised)
	require.Equal(t, alert.Raised{Alert: first.Alert, Source: "todo/expiry", Subject: "r1", Reason: alert.GaveUp, At: startTime}, first)
	require.NotEmpty(t, first.Alert)
	for recorded, err := range w.log.ReadStream(t.Context(), "alerts", 0) {
		require.NoError(t, err)
		decoded, err := w.journal.Registry.Decode(recorded)
		require.NoError(t, err)
		require.Equal(t, cause, decoded.Meta.CausationID)
	}

	// and another cause, or another process, is another alert
	require.NoError(t, restarted.GaveUp(t.Context(), w.givenUp("expiry", "r1", uuid.New())))
	require.NoError(t, restarted.GaveUp(t.Context(), w.givenUp("refresh", "r1", cause)))
	require.Len(t, fold[alert.Event](w, "alerts"), 4)
}

func TestInstancesThatRaiseTheSameAlertsAtOnce(t *testing.T) {
	w := newWorld(t)
	cause := uuid.New()
	var wait sync.WaitGroup
	for range 3 {
		instance := commands.NewAlerts(w.journal)
		for i := range 10 {
			wait.Go(func() {
				assert.NoError(t, instance.GaveUp(t.Context(), w.givenUp("expiry", fmt.Sprint("r", i), cause)))
			})
		}
	}
	wait.Wait()
	require.Len(t, fold[alert.Event](w, "alerts"), 10)
}
