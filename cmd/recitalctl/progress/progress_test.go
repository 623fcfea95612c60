package progress

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestThePaceIsThatOfTheLastSeconds(t *testing.T) {
	start := time.Now()
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	var p Pace
	require.Zero(t, p.Rate())

	// given a first observation, then pace and remaining time are unknown
	p.See(at(0), 0, 0)
	_, known := p.Left()
	require.False(t, known)
	require.Zero(t, p.Rate())

	// given a slow start, then a tenfold pace
	for second := 1; second <= 20; second++ {
		p.See(at(second), int64(second*10), float64(second)*0.001)
	}
	require.InDelta(t, 10, p.Rate(), 1e-9)
	for second := 21; second <= 40; second++ {
		p.See(at(second), int64(200+(second-20)*100), 0.02+float64(second-20)*0.01)
	}
	require.InDelta(t, 100, p.Rate(), 1e-9, "observations before the window do not count")
	left, known := p.Left()
	require.True(t, known)
	require.InDelta(t, 78, left.Seconds(), 1e-6) // 0.78 of the log at 0.01 per second

	// when the build restarts, then the pace does, too
	p.See(at(41), 5, 0.001)
	require.Zero(t, p.Rate())

	// when it does not advance, then the remaining time is unknown
	p.See(at(42), 5, 0.001)
	_, known = p.Left()
	require.False(t, known)

	// when it is at the end, no time is left
	p.See(at(43), 5, 1)
	left, known = p.Left()
	require.True(t, known)
	require.Zero(t, left)
}

func TestThePaceIsNeverNonsense(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Pace
		now := time.Now()
		for range rapid.IntRange(0, 100).Draw(t, "sightings") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(20*time.Second)).Draw(t, "step")))
			p.See(now, rapid.Int64Range(0, 1e15).Draw(t, "events"), rapid.Float64Range(0, 1).Draw(t, "share"))
			require.GreaterOrEqual(t, p.Rate(), 0.0)
			left, known := p.Left()
			require.GreaterOrEqual(t, left, time.Duration(0))
			require.True(t, known || left == 0)
			require.Less(t, len(p.seen), 102)
		}
	})
}

func TestALineIsPrintedOnAChangeAndEachFewSeconds(t *testing.T) {
	var out bytes.Buffer
	lines := New(nil, &out)
	now := time.Now()
	account := Item{Title: "account v1 g2", State: "building", Details: "50 %"}
	stage := Item{Title: "copying the log", Details: "0 %"}
	printed := func() string {
		defer out.Reset()
		return out.String()
	}

	// when items start, then only changes of state have a line immediately
	lines.show([]Item{account, stage}, now)
	require.Equal(t, "account v1 g2    50 %\n", printed())
	account.Details, stage.Details = "60 %", "10 %"
	lines.show([]Item{account, stage}, now.Add(every/2))
	require.Empty(t, printed(), "too soon")
	lines.show([]Item{account, stage}, now.Add(every))
	require.Equal(t, "account v1 g2    60 %\ncopying the log  10 %\n", printed())

	// when one changes and one ends, then both have a line, and the ended one has no more lines
	account.State, stage.Failed = "stopped", true
	lines.show([]Item{account, stage}, now.Add(every+1))
	require.Equal(t, "account v1 g2    60 %\ncopying the log  10 %\n", printed())
	lines.show([]Item{stage}, now.Add(time.Hour))
	require.Empty(t, printed())
}

func TestObjectsForPrograms(t *testing.T) {
	var out, notes bytes.Buffer
	lines := NewJSON(&out, &notes)
	item := Item{Title: "account", State: "building", Object: map[string]any{"progress": 0.5}}
	lines.Show(item)
	item.State, item.Object = "stopped", math.Inf(1)
	lines.Show(item)
	lines.Note("recitald is back")
	lines.Close()
	require.Equal(t, "{\"progress\":0.5}\n{}\n", out.String())
	require.Equal(t, "recitald is back\n", notes.String())
}

func TestWordsForFigures(t *testing.T) {
	for share, want := range map[float64]string{-1: "0 %", 0: "0 %", 0.5: "50 %", 0.9999: "99 %", 1: "100 %", 7: "100 %"} {
		require.Equal(t, want, Percent(share))
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234"} {
		require.Equal(t, want, Count(n))
	}
	for d, want := range map[time.Duration]string{
		-1: "0s", 0: "0s", time.Nanosecond: "1ms", 1500 * time.Microsecond: "2ms", 250 * time.Millisecond: "250ms",
		1500 * time.Millisecond: "1.5s", time.Minute: "1m00s", 65 * time.Second: "1m05s", time.Hour: "1h00m", 26*time.Hour +
			5*time.Minute: "26h05m",
	} {
		require.Equal(t, want, Span(d), d)
	}
}
