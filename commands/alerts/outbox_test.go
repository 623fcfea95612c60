package alerts_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/domain/alert"
)

func (w *world) stopped(generation string, event uuid.UUID) alerts.Occasion {
	return alerts.Occasion{
		Source: "projection/clips", Subject: generation, Reason: alert.Stopped, Cause: event,
		Detail: "event clip-saved is poison", At: w.Clock.Now(),
	}
}

func TestAQueuedAlertDoesNotWaitForTheLog(t *testing.T) {
	// given a log that refuses alerts
	w := newWorld(t)
	w.Log.Break("alerts")
	instance := w.instance()
	w.goes(instance.Run)

	// when two alerts are raised, then they are logged and counted immediately
	first := w.stopped("clips_v1_g1", uuid.New())
	instance.RaiseLater(first)
	instance.RaiseLater(w.stopped("clips_v1_g2", first.Cause))
	require.Len(t, w.lines("msg=alert source=projection/clips subject=clips_v1_g1 reason=stopped"), 1)
	require.Equal(t, 2, w.counted("projection/clips stopped"))
	require.Empty(t, w.raised())

	// and they are in the log after the outage, once, although they were raised again meanwhile
	instance.RaiseLater(first)
	w.Log.Break("")
	instance.RaiseLater(w.stopped("clips_v1_g3", first.Cause))
	w.awaitSubjects("clips_v1_g1", "clips_v1_g2", "clips_v1_g3")
	require.Equal(t, alert.Raised{
		Alert: w.raised()[0].Alert, Source: "projection/clips", Subject: "clips_v1_g1", Reason: alert.Stopped, At: first.At,
	}, w.raised()[0])
	require.Equal(t, 4, w.counted("projection/clips stopped"))

	// and raising one again adds none
	instance.RaiseLater(first)
	instance.RaiseLater(w.stopped("clips_v1_g4", first.Cause))
	w.awaitSubjects("clips_v1_g1", "clips_v1_g2", "clips_v1_g3", "clips_v1_g4")
}

func TestAnAlertThatExceedsTheQueueIsLogged(t *testing.T) {
	// given a full queue
	w := newWorld(t)
	instance := w.instance()
	cause := uuid.New()
	for i := range 1000 {
		instance.RaiseLater(w.stopped(fmt.Sprint("g", i), cause))
	}
	require.Empty(t, w.lines("an alert is not in the log"))

	// when one more is raised, then it is dropped and logged
	instance.RaiseLater(w.stopped("one more", cause))
	instance.RaiseLater(w.stopped("g7", cause))
	dropped := w.lines("an alert is not in the log")
	require.Len(t, dropped, 1)
	require.Contains(t, dropped[0], `source=projection/clips subject="one more" reason=stopped`)
}

func TestAnAlertThatCannotBeAppendedHoldsUpNoOther(t *testing.T) {
	// given a queue with an alert without a subject
	w := newWorld(t)
	instance := w.instance()
	instance.RaiseLater(w.stopped("", uuid.New()))
	instance.RaiseLater(w.stopped("clips_v1_g1", uuid.New()))
	w.goes(instance.Run)
	w.awaitSubjects("clips_v1_g1")
	require.Len(t, w.lines("an alert is not in the log"), 1)
}

func TestTheQueueIsAppendedAtItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		broken string
		want   []string
		lost   int
	}{
		"the log answers":         {"", []string{"clips_v1_g1", "clips_v1_g2"}, 0},
		"the log does not answer": {"alerts", nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Log.Break(c.broken)
			instance := w.instance()
			instance.RaiseLater(w.stopped("clips_v1_g1", uuid.New()))
			instance.RaiseLater(w.stopped("clips_v1_g2", uuid.New()))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.NoError(t, instance.Run(ctx))
			w.awaitSubjects(c.want...)
			require.Len(t, w.lines("an alert is not in the log"), c.lost)
		})
	}
}
