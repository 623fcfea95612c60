package alerts_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

var diskFull = alert.Condition{Source: "disk", Subject: "host:/data", Reason: alert.DiskFull}

// conditions runs the alerts of an instance until stop is called or the test ends.
func (w *world) conditions() (c *alerts.Alerts, stop func()) {
	w.T.Helper()
	c = w.instance()
	return c, w.goes(c.Run)
}

func (w *world) goes(run func(context.Context) error) (stop func()) {
	w.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(w.T, <-ended)
	})
	w.T.Cleanup(stop)
	return stop
}

// history returns the events of the only condition in the log.
func (w *world) history() []alert.ConditionEvent {
	w.T.Helper()
	streams := w.Log.Written(alert.ConditionPrefix)
	if len(streams) == 0 {
		return nil
	}
	require.Len(w.T, streams, 1)
	return commandstest.Fold[alert.ConditionEvent](w.World, streams[0])
}

func (w *world) awaitHistory(events int) []alert.ConditionEvent {
	w.T.Helper()
	require.Eventually(w.T, func() bool { return len(w.history()) >= events }, patience, tick)
	require.Len(w.T, w.history(), events)
	return w.history()
}

func TestAConditionThatComesAndGoes(t *testing.T) {
	w := newWorld(t)
	c, _ := w.conditions()
	since := commandstest.StartTime()

	// when it begins to hold, and is reported repeatedly, then one alert is in the log, the log lines and the metrics
	c.Holds(diskFull, since, "97 % are used")
	c.Holds(diskFull, since.Add(time.Minute), "")
	raised := w.awaitHistory(1)[0].(alert.ConditionRaised)
	require.NotEmpty(t, raised.Alert)
	require.Equal(t, alert.ConditionRaised{Alert: raised.Alert, Source: "disk", Subject: "host:/data",
		Reason: alert.DiskFull, At: since}, raised)
	require.Len(t, w.lines(`msg=alert source=disk subject=host:/data reason=disk_full detail="97 % are used"`), 1)
	require.Equal(t, 1, w.counted("disk disk_full"))
	require.Equal(t, []alert.Open{{Condition: diskFull, Since: since, Lasting: true}}, c.Open())

	// when it ends, then the alert is cleared once
	c.Over(diskFull)
	c.Over(diskFull)
	require.Empty(t, c.Open())
	require.Equal(t, raised.Alert, w.awaitHistory(2)[1].(alert.ConditionCleared).Alert)

	// and the next time is another alert
	c.Holds(diskFull, time.Time{}, "")
	again := w.awaitHistory(3)[2].(alert.ConditionRaised)
	require.NotEqual(t, raised.Alert, again.Alert)
}

func TestAConditionOfWhichTheLogWasNotTold(t *testing.T) {
	// given a log that refuses events
	w := newWorld(t)
	c, _ := w.conditions()
	c.Holds(diskFull, time.Time{}, "")
	stream := func() []string { return w.Log.Written(alert.ConditionPrefix) }
	require.Eventually(t, func() bool { return len(stream()) == 1 }, patience, tick)
	c.Over(diskFull)
	w.awaitHistory(2)
	w.Log.Break(stream()[0])

	// when a condition begins and ends meanwhile, then it is known immediately
	since := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	c.Holds(diskFull, since, "")
	require.Len(t, c.Open(), 1)
	c.Over(diskFull)
	require.Empty(t, c.Open())
	over := time.Now()
	c.Adopt([]alert.Open{{Condition: diskFull, Lasting: true}}) // the log still has it as open
	c.Over(diskFull)
	require.Len(t, w.lines(`msg="alert is over"`), 2, "each time once")

	// and it is in the log after the outage, with its times
	w.Log.Break("")
	events := w.awaitHistory(4)
	require.Equal(t, since, events[2].(alert.ConditionRaised).At)
	require.WithinDuration(t, over, events[3].(alert.ConditionCleared).At, time.Minute)
	require.False(t, events[3].(alert.ConditionCleared).At.After(over))
}

func TestAConditionIsKnownAfterARestart(t *testing.T) {
	w := newWorld(t)
	c, stop := w.conditions()
	c.Holds(diskFull, time.Time{}, "")
	raised := w.awaitHistory(1)[0].(alert.ConditionRaised)
	stop()

	// when the next instance finds that it still holds, then the alert is the same
	c, stop = w.conditions()
	c.Holds(diskFull, time.Time{}, "")
	stop()
	w.awaitHistory(1)

	// and when a later one finds that it does not, after reading that it was open, then the alert is cleared
	c, _ = w.conditions()
	c.Over(diskFull)
	c.Adopt([]alert.Open{{Condition: diskFull, Alert: raised.Alert, Lasting: true}})
	require.Empty(t, c.Open())
	c.Over(diskFull)
	require.Equal(t, raised.Alert, w.awaitHistory(2)[1].(alert.ConditionCleared).Alert)
}

// Only the instance itself can observe its own disk.
func TestWhatIsOfOneInstanceIsOverWhenThatStopsInOrder(t *testing.T) {
	w := newWorld(t)
	shared := alert.Condition{Source: "ledger", Subject: "reservations", Reason: alert.Unsettled}
	c := w.instance()
	c.Own = func(one alert.Condition) bool { return one == diskFull }
	stop := w.goes(c.Run)
	c.Holds(diskFull, time.Time{}, "")
	c.Holds(shared, time.Time{}, "")
	open := func() (sources []string) { // in the log
		for _, stream := range w.Log.Written(alert.ConditionPrefix) {
			events := commandstest.Fold[alert.ConditionEvent](w.World, stream)
			if len(events) == 0 {
				continue
			}
			if raised, is := events[len(events)-1].(alert.ConditionRaised); is {
				sources = append(sources, raised.Source)
			}
		}
		return sources
	}
	require.Eventually(t, func() bool { return len(open()) == 2 }, patience, tick)

	stop()
	require.Equal(t, []string{"ledger"}, open())
}

func TestInstancesThatFindTheSameConditionAtOnce(t *testing.T) {
	w := newWorld(t)
	var all []*alerts.Alerts
	for range 3 {
		c, _ := w.conditions()
		all = append(all, c)
	}
	for _, c := range all {
		c.Holds(diskFull, time.Time{}, "")
		c.RaiseLater(w.stopped("clips_v1_g2", uuid.New())) // is appended after the condition
	}
	require.Eventually(t, func() bool { return len(w.raised()) == len(all) }, patience, tick)
	w.awaitHistory(1)
	require.Equal(t, 3, w.counted("disk disk_full"))
	for _, c := range all {
		c.Over(diskFull)
	}
	w.awaitHistory(2)
}

func operator(name string) journal.Origin {
	return journal.Origin{Actor: eventlog.Actor{Kind: eventlog.ActorOperator, Name: name}}
}

func TestAnOperatorClearsAnAlert(t *testing.T) {
	// given an alert of an occasion
	w := newWorld(t)
	instance := w.instance()
	require.NoError(t, instance.Raise(t.Context(), w.stopped("clips_v1_g1", uuid.New())))
	raised := w.raised()[0]
	open := alert.Open{Alert: raised.Alert, Condition: alert.Condition{Source: raised.Source, Subject: raised.Subject,
		Reason: raised.Reason}}

	// when an operator clears it twice, then that is in the log once, with the name
	at := w.Clock.Now()
	for range 2 {
		_, err := instance.Clear(t.Context(), open, at, operator("ada"))
		require.NoError(t, err)
	}
	events := commandstest.Fold[alert.Event](w.World, alert.Stream)
	require.Equal(t, alert.Cleared{Alert: raised.Alert, At: at}, events[1])
	require.Len(t, events, 2)
	for recorded, err := range w.Log.ReadStreamBackwards(t.Context(), alert.Stream) {
		require.NoError(t, err)
		decoded, err := w.Journal.Registry.Decode(recorded)
		require.NoError(t, err)
		require.Equal(t, "ada", decoded.Meta.Actor.Name)
		break
	}
	_, err := instance.Clear(t.Context(), alert.Open{}, at, operator("ada"))
	require.Error(t, err)
}

func TestAnOperatorClearsTheAlertOfAConditionThatNobodyLooksAtAnyMore(t *testing.T) {
	w := newWorld(t)
	c, stop := w.conditions()
	c.Holds(diskFull, commandstest.StartTime(), "")
	raised := w.awaitHistory(1)[0].(alert.ConditionRaised)
	stop()
	instance, open := w.instance(), alert.Open{Alert: raised.Alert, Condition: diskFull, Lasting: true}
	for range 2 {
		_, err := instance.Clear(t.Context(), open, w.Clock.Now(), operator("ada"))
		require.NoError(t, err)
	}
	require.Equal(t, alert.ConditionCleared{Alert: raised.Alert, At: w.Clock.Now()}, w.awaitHistory(2)[1])

	// and an alert of another time stays open
	c, _ = w.conditions()
	c.Holds(diskFull, time.Time{}, "")
	w.awaitHistory(3)
	w.Must(instance.Clear(t.Context(), open, w.Clock.Now(), operator("ada")))
	w.awaitHistory(3)
}
