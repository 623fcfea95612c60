package alerts_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/todo"
)

func (w *world) givenUp(process, item string, cause uuid.UUID) todo.GivenUp {
	return todo.GivenUp{
		Process: process, Item: todo.Item{ID: item, Stream: "s", Cause: cause}, Attempts: 10, Err: errors.New("broken"),
		At: w.Clock.Now(),
	}
}

const (
	patience = commandstest.Patience
	tick     = time.Millisecond
)

func TestAnItemThatIsGivenUpRaisesOneAlert(t *testing.T) {
	// given an item that was given up
	w := newWorld(t)
	cause := uuid.New()
	require.NoError(t, w.instance().GaveUp(t.Context(), w.givenUp("expiry", "r1", cause)))

	// when it is given up again after a restart, and others in between
	w.Clock.Advance(time.Hour)
	restarted := w.instance()
	require.NoError(t, restarted.GaveUp(t.Context(), w.givenUp("expiry", "r2", cause)))
	require.NoError(t, restarted.GaveUp(t.Context(), w.givenUp("expiry", "r1", cause)))

	// then its alert is in the log once, with the details for a person
	require.Len(t, w.raised(), 2)
	first := w.raised()[0]
	require.Equal(t, alert.Raised{Alert: first.Alert, Source: "todo/expiry", Subject: "r1", Reason: alert.GaveUp,
		At: commandstest.StartTime()}, first)
	require.NotEmpty(t, first.Alert)
	for recorded, err := range w.Log.ReadStream(t.Context(), "alerts", 0) {
		require.NoError(t, err)
		decoded, err := w.Journal.Registry.Decode(recorded)
		require.NoError(t, err)
		require.Equal(t, cause, decoded.Meta.CausationID)
	}

	// and each time was logged and counted
	lines := w.lines("msg=alert source=todo/expiry subject=r1 reason=gave_up")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], `detail="attempt 10 of an item in stream s failed: broken"`)
	require.Equal(t, 3, w.counted("todo/expiry gave_up"))

	// and another cause or process raises another alert
	require.NoError(t, restarted.GaveUp(t.Context(), w.givenUp("expiry", "r1", uuid.New())))
	require.NoError(t, restarted.GaveUp(t.Context(), w.givenUp("refresh", "r1", cause)))
	require.Len(t, w.raised(), 4)
}

// An alert that another release has raised is not raised again.
func TestTheAlertOfAnItemKeepsItsID(t *testing.T) {
	w := newWorld(t)
	cause := uuid.MustParse("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
	require.NoError(t, w.instance().GaveUp(t.Context(), w.givenUp("expiry", "r1", cause)))
	require.Equal(t, todo.CommandID("expiry gave up", "r1", cause).String(), w.raised()[0].Alert)
}

func TestAnAlertThatIsNotInTheLogIsNeitherLoggedNorCounted(t *testing.T) {
	// given a log that refuses alerts
	w := newWorld(t)
	w.Log.Break("alerts")
	instance, given := w.instance(), w.givenUp("expiry", "r1", uuid.New())

	// when an alert is raised, then the error makes the process pause and raise it again
	require.Equal(t, domain.Unavailable, domain.CodeOf(instance.GaveUp(t.Context(), given)))
	require.Empty(t, w.lines("msg=alert"))
	require.Zero(t, w.counted("todo/expiry gave_up"))

	w.Log.Break("")
	require.NoError(t, instance.GaveUp(t.Context(), given))
	require.Len(t, w.lines("msg=alert"), 1)
	require.Equal(t, 1, w.counted("todo/expiry gave_up"))
	w.awaitSubjects("r1")
}

func TestInstancesThatRaiseTheSameAlertsAtOnce(t *testing.T) {
	w := newWorld(t)
	cause := uuid.New()
	var wait sync.WaitGroup
	for range 3 {
		instance := w.instance()
		for i := range 10 {
			wait.Go(func() {
				assert.NoError(t, instance.GaveUp(t.Context(), w.givenUp("expiry", fmt.Sprint("r", i), cause)))
			})
		}
	}
	wait.Wait()
	require.Len(t, w.raised(), 10)
}
