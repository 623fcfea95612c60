package lifecycle_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/process/lifecycle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// diary records events in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) write(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

// part returns a part that records its stop and the end of its run.
func (d *diary) part(name string) lifecycle.Part {
	return lifecycle.Part{
		Name: name,
		Run: func(ctx context.Context) error {
			<-ctx.Done()
			d.write("end " + name)
			return nil
		},
		Stop: func() error { d.write("stop " + name); return nil },
	}
}

func TestPartsAreStoppedInTheReverseOrder(t *testing.T) {
	var g lifecycle.Group
	var d diary
	g.Add(d.part("log"), d.part("server"))
	g.Add(lifecycle.Closing("the lock", func() error { d.write("close"); return nil }))

	require.NoError(t, g.Stop())
	require.NoError(t, g.Stop())

	require.Equal(t, []string{"close", "stop server", "end server", "stop log", "end log"}, d.lines)
}

func TestAPartThatEndsByItselfEndsTheProgram(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"with an error": {errors.New("disk full"), "the node ended: disk full"},
		"without one":   {nil, "the node ended"},
	} {
		t.Run(name, func(t *testing.T) {
			var g lifecycle.Group
			g.Add(lifecycle.Background("the node", func(context.Context) error { return c.err }))
			require.EqualError(t, g.Wait(t.Context()), c.says)
			require.NoError(t, g.Stop(), "it was reported")
		})
	}
}

func TestTheFirstFailureCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g lifecycle.Group
		for i, name := range []string{"first", "second", "third"} {
			g.Add(lifecycle.Background(name, func(context.Context) error {
				time.Sleep(time.Duration(i) * time.Second)
				return nil
			}))
		}
		time.Sleep(time.Minute)
		require.EqualError(t, g.Wait(t.Context()), "first ended")
		require.NoError(t, g.Stop())
	})
}

func TestAProgramThatIsAskedToEndReportsNoError(t *testing.T) {
	var g lifecycle.Group
	var d diary
	g.Add(d.part("server"))
	ctx, end := context.WithCancel(t.Context())
	end()
	require.NoError(t, g.Wait(ctx))
	require.NoError(t, g.Stop())
}

// A server's Run returns because of Stop, as net/http's Serve does because of Shutdown. This is not a failure.
func TestAPartMayEndBecauseOfItsStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g lifecycle.Group
		closed := make(chan struct{})
		g.Add(lifecycle.Part{
			Name: "the server",
			Run:  func(context.Context) error { <-closed; return errors.New("a reply was cut") },
			Stop: func() error { close(closed); time.Sleep(time.Second); return errors.New("it took too long") },
		})
		err := g.Stop()
		require.EqualError(t, err, "closing the server: it took too long\na reply was cut")
		ctx, end := context.WithCancel(t.Context())
		end()
		require.NoError(t, g.Wait(ctx))
	})
}

func TestStopContinuesAfterErrorsAndReportsAll(t *testing.T) {
	var g lifecycle.Group
	stuck, torn := errors.New("stuck"), errors.New("torn")
	g.Add(
		lifecycle.Closing("the log", func() error { return stuck }),
		lifecycle.Closing("the pool", func() error { return torn }),
	)
	err := g.Stop()
	require.ErrorIs(t, err, stuck)
	require.ErrorIs(t, err, torn)
	require.EqualError(t, err, "closing the pool: torn\nclosing the log: stuck")
}
