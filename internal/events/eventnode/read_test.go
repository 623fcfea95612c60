package eventnode_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

func TestReadStream(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	appendTo(t, client, "before", esdb.NoStream{}, numbered(3)...)
	appendTo(t, client, "letters", esdb.NoStream{}, events("a", "b", "c", "d")...)
	appendTo(t, client, "other", esdb.NoStream{}, numbered(3)...)
	cases := []struct {
		name      string
		direction esdb.Direction
		from      esdb.StreamPosition
		count     uint64
		want      []string
	}{
		{"from the start", esdb.Forwards, esdb.Start{}, everything, []string{"a", "b", "c", "d"}},
		{"from a revision, which is included", esdb.Forwards, esdb.Revision(2), everything, []string{"c", "d"}},
		{"a number of events", esdb.Forwards, esdb.Revision(1), 2, []string{"b", "c"}},
		{"after the end", esdb.Forwards, esdb.Revision(4), everything, []string{}},
		{"far after the end", esdb.Forwards, esdb.Revision(math.MaxInt64), everything, []string{}},
		{"forwards from the end", esdb.Forwards, esdb.End{}, everything, []string{}},
		{"backwards from the end", esdb.Backwards, esdb.End{}, everything, []string{"d", "c", "b", "a"}},
		{"backwards from a revision, which is included", esdb.Backwards, esdb.Revision(2), everything,
			[]string{"c", "b", "a"}},
		{"backwards, a number of events", esdb.Backwards, esdb.End{}, 1, []string{"d"}},
		{"backwards from the start", esdb.Backwards, esdb.Start{}, everything, []string{"a"}},
		{"backwards from after the end", esdb.Backwards, esdb.Revision(99), 2, []string{"d", "c"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			read, err := readStream(t, client, "letters", esdb.ReadStreamOptions{Direction: c.direction, From: c.from}, c.count)
			require.NoError(t, err)
			require.Equal(t, c.want, kinds(read))
		})
	}
}

func TestReadAll(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	var at []esdb.Position
	for i, kind := range []string{"a", "b", "c", "d"} {
		result := appendTo(t, client, fmt.Sprintf("all-%d", i%2), esdb.Any{}, event(kind))
		at = append(at, esdb.Position{Commit: result.CommitPosition, Prepare: result.PreparePosition})
	}
	after := func(p esdb.Position) esdb.Position {
		return esdb.Position{Commit: p.Commit + 1, Prepare: p.Prepare + 1}
	}
	cases := []struct {
		name      string
		direction esdb.Direction
		from      esdb.AllPosition
		count     uint64
		want      []string
	}{
		{"from the start", esdb.Forwards, esdb.Start{}, everything, []string{"a", "b", "c", "d"}},
		{"from a position, which is included", esdb.Forwards, at[1], everything, []string{"b", "c", "d"}},
		{"from between two events", esdb.Forwards, after(at[1]), everything, []string{"c", "d"}},
		{"a number of events", esdb.Forwards, at[1], 2, []string{"b", "c"}},
		{"from position 0", esdb.Forwards, esdb.Position{}, 1, []string{"a"}},
		{"from the end", esdb.Forwards, esdb.End{}, everything, []string{}},
		{"after the end", esdb.Forwards, after(at[3]), everything, []string{}},
		{"backwards from the end", esdb.Backwards, esdb.End{}, everything, []string{"d", "c", "b", "a"}},
		{"backwards from a position, which is left out", esdb.Backwards, at[2], everything, []string{"b", "a"}},
		{"backwards, a number of events", esdb.Backwards, esdb.End{}, 2, []string{"d", "c"}},
		{"backwards from the start", esdb.Backwards, esdb.Start{}, everything, []string{}},
		{"backwards from far after the end", esdb.Backwards, esdb.Position{Commit: math.MaxInt64, Prepare: math.MaxInt64}, 1,
			[]string{"d"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want,
				kinds(readAll(t, client, esdb.ReadAllOptions{Direction: c.direction, From: c.from}, c.count)))
		})
	}
}

func TestReadAllOfAnEmptyLog(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	require.Empty(t, readAll(t, client, esdb.ReadAllOptions{Direction: esdb.Forwards, From: esdb.Start{}}, everything))
	require.Empty(t, readAll(t, client, esdb.ReadAllOptions{Direction: esdb.Backwards, From: esdb.End{}}, everything))
}

// More events, and larger ones, than a page of the node holds.
func TestReadManyPages(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	const total = 3000
	var want []string
	for first := 0; first < total; first += 500 {
		list := make([]esdb.EventData, 0, 500)
		for i := range 500 {
			e := event(fmt.Sprintf("e%d", first+i))
			e.Data = make([]byte, 10+(first+i)%1500)
			list = append(list, e)
			want = append(want, e.EventType)
		}
		appendTo(t, client, "many", esdb.Any{}, list...)
	}
	reversed := make([]string, total)
	for i, kind := range want {
		reversed[total-1-i] = kind
	}

	require.Equal(t, want, seen(t, client, "many"))
	read, err := readStream(t, client, "many", esdb.ReadStreamOptions{Direction: esdb.Backwards, From: esdb.End{}},
		everything)
	require.NoError(t, err)
	require.Equal(t, reversed, kinds(read))
	require.Equal(t, want, kinds(readAll(t, client, esdb.ReadAllOptions{}, everything)))
	require.Equal(t, reversed,
		kinds(readAll(t, client, esdb.ReadAllOptions{Direction: esdb.Backwards, From: esdb.End{}}, everything)))
	require.Equal(t, want[:700], kinds(readAll(t, client, esdb.ReadAllOptions{}, 700)))
}
