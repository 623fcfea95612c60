package todo_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo"
)

const aMoment = 100 * time.Millisecond

func TestAnItemIsDoneWhenItIsDue(t *testing.T) {
	for name, test := range map[string]struct {
		due  time.Duration
		want time.Duration // the time when it is done
	}{
		"long ago":                   {-time.Hour, 0},
		"now":                        {0, 0},
		"soon":                       {700 * time.Millisecond, 700 * time.Millisecond},
		"after several looks":        {17*time.Second + 300*time.Millisecond, 17*time.Second + 300*time.Millisecond},
		"an instant after the start": {time.Nanosecond, 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBoard(t)
				b.put("a", test.due)
				b.run(todo.Limits{})
				live(time.Minute)
				require.Equal(t, []try{{"a", test.want}}, b.tried())
				require.Empty(t, b.left())
			})
		})
	}
}

// An item that the list shows as due but that is not due yet waits, which is not a failure.
func TestAnItemThatIsNotDueYetRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(t)
		b.put("early", -time.Hour)
		b.put("due", time.Second)
		b.do = func(_ context.Context, n int, id string) error {
			if id == "early" && n <= 20 {
				return &todo.NotYetError{After: time.Minute}
			}
			return nil
		}
		metrics, _ := b.run(todo.Limits{})
		live(time.Hour)
		require.Equal(t, []time.Duration{time.Second}, b.triedAt("due"), "it does not delay others")
		early := b.triedAt("early")
		require.Len(t, early, 21)
		for i, at := range early {
			require.Equal(t, time.Duration(i)*time.Minute, at)
		}
		require.Empty(t, b.left())
		require.Empty(t, b.alerts())
		require.Contains(t, figures(t, metrics, "recital_todo_failures_total"), " 0")
	})
}

func TestNothingIsDoneBeforeTheReadModelsHaveCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(t)
		b.ready = make(chan struct{})
		b.put("a", 0)
		b.run(todo.Limits{})
		live(time.Hour)
		require.Empty(t, b.tried())
		close(b.ready)
		live(aMoment)
		require.Len(t, b.tried(), 1)
	})
}

func TestAnItemThatAppearsIsSeen(t *testing.T) {
	t.Run("at the next look", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBoard(t)
			b.run(todo.Limits{Poll: 10 * time.Second})
			live(time.Second)
			b.put("a", 0)
			live(time.Minute)
			require.Equal(t, []try{{"a", 10 * time.Second}}, b.tried())
		})
	})
	t.Run("at once on a notification", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBoard(t)
			b.run(todo.Limits{Poll: time.Hour})
			live(time.Second)
			b.put("a", 0)
			for range 1000 {
				b.notifier.Notify(choresModel)
			}
			live(aMoment)
			require.Equal(t, []try{{"a", time.Second}}, b.tried())
		})
	})
	t.Run("not before the next poll on a notification of another read model", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBoard(t)
			b.run(todo.Limits{Poll: 10 * time.Second})
			live(time.Second)
			b.put("a", 0)
			b.notifier.Notify(readmodel.Model{Name: choresModel.Name, Version: 2}, readmodel.Model{Name: "errands", Version: 1})
			live(time.Minute)
			require.Equal(t, []try{{"a", 10 * time.Second}}, b.tried())
		})
	})
	t.Run("under load the list is read in bounds", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBoard(t)
			b.run(todo.Limits{Poll: time.Hour})
			for range 10_000 {
				b.notifier.Notify(choresModel)
				live(time.Millisecond)
			}
			require.Less(t, len(b.looks()), 10*25)
			require.Greater(t, len(b.looks()), 10*15)
		})
	})
}

func TestAFailingItemIsRetriedAfterDoublingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// given an item that fails five times, and one that succeeds
		b := newBoard(t)
		b.do = func(_ context.Context, n int, id string) error {
			if id == "bad" && n <= 5 {
				return errBroken
			}
			return nil
		}
		b.put("bad", 0)
		b.put("good", 0)
		metrics, _ := b.run(todo.Limits{FirstPause: time.Second, LongestPause: 6 * time.Second})
		live(time.Minute)

		// then both are done, and the pauses double up to their limit, within a half
		require.Empty(t, b.left())
		require.Equal(t, []time.Duration{0}, b.triedAt("good"))
		tries := b.triedAt("bad")
		require.Len(t, tries, 6)
		for i, want := range []time.Duration{1, 2, 4, 6, 6} {
			pause := tries[i+1] - tries[i]
			require.GreaterOrEqual(t, pause, want*time.Second/2)
			require.LessOrEqual(t, pause, want*time.Second*3/2+aMoment)
		}
		require.Empty(t, b.alerts())
		require.Equal(t, "recital_todo_attempts_total 7", figures(t, metrics, "recital_todo_attempts_total"))
		require.Equal(t, "recital_todo_failures_total 5", figures(t, metrics, "recital_todo_failures_total"))
	})
}

func TestAnItemIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// given an item that fails and a limit of three attempts
		b := newBoard(t)
		b.do = func(context.Context, int, string) error { return errBroken }
		b.put("a", 0)
		metrics, _ := b.run(todo.Limits{Attempts: 3, Rest: time.Hour})
		live(30 * time.Minute)

		// then an alert is raised, and the item waits
		require.Len(t, b.tried(), 3)
		require.Len(t, b.alerts(), 1)
		require.Equal(t, "chores", b.alerts()[0].Process)
		b.with(func() { require.Equal(t, b.items["a"], b.given[0].Item) })
		require.Equal(t, 3, b.alerts()[0].Attempts)
		require.ErrorIs(t, b.alerts()[0].Err, errBroken)
		require.Equal(t, "recital_todo_given_up_items 1", figures(t, metrics, "recital_todo_given_up_items"))

		// and it is retried once an hour, without another alert
		live(3 * time.Hour)
		require.Len(t, b.tried(), 6)
		require.Len(t, b.alerts(), 1)

		// and once the cause is removed, it is done by itself
		b.with(func() { b.do = nil })
		live(time.Hour + aMoment)
		require.Empty(t, b.left())
		require.Equal(t, "recital_todo_given_up_items 0", figures(t, metrics, "recital_todo_given_up_items"))
	})
}

func TestAnAlertThatCouldNotBeRaisedIsRaisedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(t)
		b.do = func(context.Context, int, string) error { return errBroken }
		b.giveUp = func() error { return unavailable }
		b.put("a", 0)
		b.run(todo.Limits{Attempts: 2, LongestPause: time.Minute})
		live(10 * time.Minute)
		require.Empty(t, b.alerts())
		b.with(func() { b.giveUp = nil })
		live(10 * time.Minute)
		require.Len(t, b.alerts(), 1)
	})
}

func TestAnOutageIsNotAnAttempt(t *testing.T) {
	for name, test := range map[string]struct {
		begin, end func(b *board)
	}{
		"of a dependency of all items": {
			func(b *board) {
				b.do = func(context.Context, int, string) error { return fmt.Errorf("asking: %w", unavailable) }
			},
			func(b *board) { b.do = nil },
		},
		"of the list": {func(b *board) { b.outage = errBroken }, func(b *board) { b.outage = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// given an outage of an hour
				b := newBoard(t)
				test.begin(b)
				for i := range 100 {
					b.put(fmt.Sprint(i), 0)
				}
				metrics, _ := b.run(todo.Limits{Concurrency: 4, Attempts: 2, OutagePause: 20 * time.Second})
				live(time.Hour)

				// then the process tries a few items now and then, and gives none of them up
				require.LessOrEqual(t, len(b.tried()), 4*2*3600/20)
				require.LessOrEqual(t, len(b.looks()), 2*3600/20)
				require.Empty(t, b.alerts())
				require.Equal(t, "recital_todo_failures_total 0", figures(t, metrics, "recital_todo_failures_total"))

				// and when it is over, all is done
				b.with(func() { test.end(b) })
				live(time.Minute)
				require.Empty(t, b.left())
				require.Empty(t, b.alerts())
			})
		})
	}
}

func TestADoneItemIsNotRepeatedBeforeTheListShowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// given a list that shows outcomes late
		b := newBoard(t)
		learned := make(chan struct{})
		b.after = func(string) {}
		b.shown = func(ctx context.Context) error {
			select {
			case <-learned:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		b.put("a", 0)
		b.put("b", 0)
		metrics, _ := b.run(todo.Limits{})
		live(time.Hour)
		require.Len(t, b.tried(), 2)

		// when it shows them, then no item was done twice, and there was no failure
		b.remove("a")
		b.remove("b")
		close(learned)
		live(time.Hour)
		require.Len(t, b.tried(), 2)
		require.Equal(t, "recital_todo_failures_total 0", figures(t, metrics, "recital_todo_failures_total"))
	})
}

func TestAnItemThatStaysOnTheListIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// given an item that stays on the list after its outcome
		b := newBoard(t)
		b.after = func(string) {}
		b.put("a", 0)
		b.run(todo.Limits{Attempts: 4, Rest: time.Hour})
		live(30 * time.Minute)

		// then it is given up like one that fails
		require.Len(t, b.tried(), 4)
		require.Len(t, b.alerts(), 1)
	})
}

func TestAnItemThatIsDoneElsewhereIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// given an item that was given up
		b := newBoard(t)
		b.do = func(context.Context, int, string) error { return errBroken }
		b.put("a", 0)
		metrics, _ := b.run(todo.Limits{Attempts: 2, Rest: time.Hour})
		live(time.Minute)
		tries := len(b.tried())
		require.Equal(t, "recital_todo_given_up_items 1", figures(t, metrics, "recital_todo_given_up_items"))

		// when another instance does it, then it is not retried
		b.remove("a")
		live(2 * time.Hour)
		require.Len(t, b.tried(), tries)
		require.Equal(t, "recital_todo_given_up_items 0", figures(t, metrics, "recital_todo_given_up_items"))
	})
}

func TestANewCauseIsANewItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// given an item that was given up
		b := newBoard(t)
		b.do = func(context.Context, int, string) error { return errBroken }
		b.put("a", 0)
		b.run(todo.Limits{Attempts: 2, Rest: 24 * time.Hour})
		live(time.Minute)
		tries := len(b.tried())

		// when a new cause makes it due, then it is tried immediately
		b.with(func() { b.do = nil })
		b.put("a", time.Minute)
		b.notifier.Notify(choresModel)
		live(aMoment)
		require.Len(t, b.tried(), tries+1)
		require.Empty(t, b.left())
	})
}

func TestManyItemsAreDoneInBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// given a thousand items, some of which fail once
		b := newBoard(t)
		b.do = func(_ context.Context, n int, id string) error {
			time.Sleep(10 * time.Millisecond)
			if n == 1 && id[len(id)-1] == '7' {
				return errBroken
			}
			return nil
		}
		for i := range 1000 {
			b.put(fmt.Sprint(i), -time.Duration(i)*time.Second)
		}
		b.run(todo.Limits{Batch: 30, Concurrency: 5})
		live(time.Minute)

		// then each is done once, within the limit of concurrent items
		require.Empty(t, b.left())
		require.Len(t, b.tried(), 1000+100)
		b.with(func() { require.Equal(t, 5, b.most) })
		for _, limit := range b.looks() {
			require.Equal(t, 30, limit)
		}
		for i := range 30 {
			require.GreaterOrEqual(t, b.tried()[i].id, "970", "the oldest first")
		}
	})
}

func TestManyFailingItemsSlowOthersDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// given more failing items than the worker can remember, and others that are due later
		b := newBoard(t)
		b.do = func(_ context.Context, _ int, id string) error {
			if id[0] == 'b' {
				return errBroken
			}
			return nil
		}
		for i := range 10 {
			b.put(fmt.Sprint("bad", i), -time.Hour)
			b.put(fmt.Sprint("good", i), -time.Minute)
		}
		b.run(todo.Limits{MaxFailing: 3, Batch: 20, Attempts: 3, OutagePause: 10 * time.Second})
		live(time.Hour)

		// then the good ones are done, the remembered ones are given up, and no item is tried continuously
		require.Len(t, b.left(), 10)
		require.Len(t, b.alerts(), 3)
		require.Less(t, len(b.tried()), 20*2*3600/10)
	})
}

func TestAPanicIsAFailedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(t)
		b.do = func(_ context.Context, n int, _ string) error {
			if n == 1 {
				panic("jane@example.org")
			}
			return nil
		}
		b.put("a", 0)
		metrics, _ := b.run(todo.Limits{})
		live(time.Minute)
		require.Empty(t, b.left())
		require.Equal(t, "recital_todo_failures_total 1", figures(t, metrics, "recital_todo_failures_total"))
	})
}

func TestAnAttemptThatTakesTooLongHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(t)
		b.do = func(ctx context.Context, n int, _ string) error {
			if n == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		b.put("a", 0)
		metrics, _ := b.run(todo.Limits{Timeout: 7 * time.Second})
		live(time.Minute)
		require.Empty(t, b.left())
		require.GreaterOrEqual(t, b.triedAt("a")[1], 7*time.Second)
		require.Equal(t, "recital_todo_failures_total 1", figures(t, metrics, "recital_todo_failures_total"))
	})
}

func TestAHangingItemDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// given an item that hangs until its time limit at each attempt
		b := newBoard(t)
		b.do = func(ctx context.Context, _ int, id string) error {
			if id == "hangs" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		b.put("hangs", -time.Hour)
		for i := range 100 {
			b.put(fmt.Sprint(i), time.Duration(i)*time.Second)
		}
		b.run(todo.Limits{Timeout: 10 * time.Second, Attempts: 3, FirstPause: time.Second, Poll: time.Hour, Concurrency: 2})
		live(10 * time.Minute)

		// then all others are done when they are due, and it is retried and given up
		require.Equal(t, []string{"hangs"}, b.left())
		for i := range 100 {
			tries := b.triedAt(fmt.Sprint(i))
			require.Len(t, tries, 1)
			require.LessOrEqual(t, tries[0], time.Duration(i)*time.Second+aMoment)
		}
		tries := b.triedAt("hangs")
		require.Len(t, tries, 3)
		require.Greater(t, tries[1], 10*time.Second)
		require.Len(t, b.alerts(), 1)
		require.Equal(t, 3, b.alerts()[0].Attempts)
		require.Less(t, len(b.looks()), 500, "the worker does not poll while an item hangs")
	})
}

func TestAFollowingWorkerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// given a worker of an instance that does not lead
		b := newBoard(t)
		b.follows = true
		b.put("a", 0)
		_, stop := b.run(todo.Limits{Takeover: 30 * time.Second})
		live(29 * time.Second)
		require.Empty(t, b.tried())

		// then it does items that the leader does not do
		live(time.Minute)
		require.Equal(t, []try{{"a", 30 * time.Second}}, b.tried())

		// and when it leads, it does all items immediately
		b.with(func() { b.follows = false })
		live(10 * time.Second)
		b.put("b", 0)
		b.notifier.Notify(choresModel)
		live(aMoment)
		require.Len(t, b.tried(), 2)
		stop()
	})
}

func TestRunEndsWithItsContextAndLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// given an item in progress, and another that waits
		b := newBoard(t)
		ended := false
		b.do = func(ctx context.Context, _ int, _ string) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended = true
			return ctx.Err()
		}
		b.put("a", 0)
		b.put("b", 0)
		metrics, stop := b.run(todo.Limits{Concurrency: 1})
		live(time.Second)

		// when the worker is stopped, then the first has ended, the second was not started, and neither has failed
		stop()
		require.True(t, ended)
		require.Len(t, b.tried(), 1)
		require.Equal(t, "recital_todo_failures_total 0", figures(t, metrics, "recital_todo_failures_total"))
	})
}

func TestAnInvalidConfigurationIsRefused(t *testing.T) {
	b := newBoard(t)
	good := func() todo.Config {
		return todo.Config{
			Process: todo.Process{Name: "chores", List: b, Do: b.carryOut},
			Ready:   b.ready,
			Shown:   func(context.Context, eventlog.Position) error { return nil },
			GiveUp:  func(context.Context, todo.GivenUp) error { return nil },
		}
	}
	_, err := todo.NewWorker(good())
	require.NoError(t, err)
	for name, change := range map[string]func(c *todo.Config){
		"no name":            func(c *todo.Config) { c.Process.Name = "" },
		"a name with blanks": func(c *todo.Config) { c.Process.Name = "two words" },
		"no list":            func(c *todo.Config) { c.Process.List = nil },
		"no function":        func(c *todo.Config) { c.Process.Do = nil },
		"never ready":        func(c *todo.Config) { c.Ready = nil },
		"no end of waiting":  func(c *todo.Config) { c.Shown = nil },
		"no alert":           func(c *todo.Config) { c.GiveUp = nil },
	} {
		t.Run(name, func(t *testing.T) {
			config := good()
			change(&config)
			_, err := todo.NewWorker(config)
			require.Error(t, err)
		})
	}
}
