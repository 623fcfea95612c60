package eventnode_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

func TestAppendAtExpectedRevision(t *testing.T) {
	socket := nodetest.Start(t)
	client := nodetest.Client(t, socket)
	cases := []struct {
		name     string
		given    int // events in the stream
		expected esdb.ExpectedRevision
		conflict string // the error for the client, empty if the append succeeds
	}{
		{"no stream, new", 0, esdb.NoStream{}, ""},
		{"no stream, but there is one", 2, esdb.NoStream{}, "expecting 'no_stream' but got '1'"},
		{"any, new", 0, esdb.Any{}, ""},
		{"any, existing", 2, esdb.Any{}, ""},
		{"stream exists, new", 0, esdb.StreamExists{}, "expecting 'stream_exists' but got 'no_stream'"},
		{"stream exists, existing", 2, esdb.StreamExists{}, ""},
		{"revision, new", 0, esdb.Revision(0), "expecting '0' but got 'no_stream'"},
		{"revision, the last", 2, esdb.Revision(1), ""},
		{"revision, an earlier one", 2, esdb.Revision(0), "expecting '0' but got '1'"},
		{"revision, a later one", 2, esdb.Revision(2), "expecting '2' but got '1'"},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			stream := fmt.Sprintf("expected-%d", i)
			if c.given > 0 {
				appendTo(t, client, stream, esdb.NoStream{}, numbered(c.given)...)
			}

			result, err := tryAppend(t, client, stream, c.expected, events("x", "y")...)

			if c.conflict != "" {
				requireCode(t, esdb.ErrorCodeWrongExpectedVersion, err)
				require.ErrorContains(t, err, c.conflict)
				return
			}
			require.NoError(t, err)
			require.Equal(t, uint64(c.given+1), result.NextExpectedVersion)
			read, err := readStream(t, client, stream, esdb.ReadStreamOptions{From: esdb.Revision(uint64(c.given))}, everything)
			require.NoError(t, err)
			require.Equal(t, []string{"x", "y"}, kinds(read))
		})
	}
}

func TestAppendKeepsAllOfAnEvent(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	given := []esdb.EventData{
		{EventID: uuid.New(), EventType: "json", ContentType: esdb.ContentTypeJson, Data: []byte(`{"a":"ü"}`),
			Metadata: []byte(`{"b":1}`)},
		{EventID: uuid.New(), EventType: "binary", ContentType: esdb.ContentTypeBinary, Data: []byte{0, 255, 10},
			Metadata: []byte{1}},
		{EventID: uuid.New(), EventType: "empty", ContentType: esdb.ContentTypeBinary},
	}

	written := appendTo(t, client, "straße-1", esdb.NoStream{}, given...)
	read, err := readStream(t, client, "straße-1", esdb.ReadStreamOptions{}, everything)

	require.NoError(t, err)
	require.Len(t, read, len(given))
	for i, resolved := range read {
		got := resolved.Event
		require.Equal(t, given[i].EventID, got.EventID)
		require.Equal(t, given[i].EventType, got.EventType)
		require.Equal(t, "straße-1", got.StreamID)
		require.Equal(t, uint64(i), got.EventNumber)
		require.True(t, bytes.Equal(given[i].Data, got.Data))
		require.True(t, bytes.Equal(given[i].Metadata, got.UserMetadata))
		require.False(t, got.CreatedDate.IsZero())
		require.Equal(t, got.Position.Commit, got.Position.Prepare)
		require.Equal(t, got.Position.Commit, *resolved.Commit)
	}
	require.Equal(t, "application/json", read[0].Event.ContentType)
	require.Equal(t, "application/octet-stream", read[1].Event.ContentType)
	require.Equal(t, written.CommitPosition, read[2].Event.Position.Commit)
	require.Equal(t, written.PreparePosition, read[2].Event.Position.Prepare)
}

func TestAppendRepeated(t *testing.T) {
	socket := nodetest.Start(t)
	client := nodetest.Client(t, socket)
	cases := []struct {
		name     string
		first    esdb.ExpectedRevision
		expected esdb.ExpectedRevision
		events   string // names of a, b and c, which are in the stream, and of d
		last     int    // revision in the response; -1: conflict
		length   int    // of the stream afterwards
	}{
		{"no stream, all events", esdb.NoStream{}, esdb.NoStream{}, "abc", 2, 3},
		{"no stream, the first events", esdb.NoStream{}, esdb.NoStream{}, "ab", 1, 3},
		{"no stream, other events", esdb.NoStream{}, esdb.NoStream{}, "d", -1, 3},
		{"no stream, an event too many", esdb.NoStream{}, esdb.NoStream{}, "abcd", -1, 3},
		{"no stream, another order", esdb.NoStream{}, esdb.NoStream{}, "bac", -1, 3},
		{"revision, the events after it", esdb.NoStream{}, esdb.Revision(0), "bc", 2, 3},
		{"revision, the first event after it", esdb.NoStream{}, esdb.Revision(0), "b", 1, 3},
		{"revision, events from elsewhere", esdb.NoStream{}, esdb.Revision(0), "a", -1, 3},
		{"any, all events", esdb.Any{}, esdb.Any{}, "abc", 2, 3},
		{"any, the last events", esdb.Any{}, esdb.Any{}, "bc", 2, 3},
		{"any, a new event after known ones", esdb.Any{}, esdb.Any{}, "cd", -1, 3},
		{"any, a new event before known ones", esdb.Any{}, esdb.Any{}, "dc", 4, 5},
		{"stream exists, all events", esdb.NoStream{}, esdb.StreamExists{}, "abc", 2, 3},
		{"the last revision accepts known events", esdb.NoStream{}, esdb.Revision(2), "a", 3, 4},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			stream := fmt.Sprintf("repeated-%d", i)
			named := events("a", "b", "c", "d")
			var list []esdb.EventData
			for _, name := range c.events {
				list = append(list, named[name-'a'])
			}
			first := appendTo(t, client, stream, c.first, named[:3]...)

			again, err := tryAppend(t, client, stream, c.expected, list...)

			if c.last < 0 {
				requireCode(t, esdb.ErrorCodeWrongExpectedVersion, err)
			} else {
				require.NoError(t, err)
				require.Equal(t, uint64(c.last), again.NextExpectedVersion)
			}
			if c.last == 2 {
				require.Equal(t, first.CommitPosition, again.CommitPosition)
			}
			read, err := readStream(t, client, stream, esdb.ReadStreamOptions{}, everything)
			require.NoError(t, err)
			require.Len(t, read, c.length)
		})
	}
}

// Without an exact revision an event is identified by the place where it was first written, as in EventStoreDB.
func TestAppendRepeatedInItsFirstPlace(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	for name, expected := range map[string]esdb.ExpectedRevision{"any": esdb.Any{}, "exists": esdb.StreamExists{}} {
		t.Run(name, func(t *testing.T) {
			here, there := name+"-here", name+"-there"
			appendTo(t, client, here, esdb.NoStream{}, event("opening"))
			appendTo(t, client, there, esdb.NoStream{}, event("opening"))
			known := event("known")
			first := appendTo(t, client, here, expected, known)
			appendTo(t, client, there, expected, known)

			again := appendTo(t, client, here, expected, known)
			_, mixed := tryAppend(t, client, here, expected, known, event("new"))
			appendTo(t, client, there, expected, known)

			require.Equal(t, first.NextExpectedVersion, again.NextExpectedVersion)
			require.Equal(t, first.CommitPosition, again.CommitPosition)
			requireCode(t, esdb.ErrorCodeWrongExpectedVersion, mixed)
			require.Equal(t, []string{"opening", "known"}, seen(t, client, here))
			require.Equal(t, []string{"opening", "known", "known"}, seen(t, client, there))
		})
	}
}

// The response to a repeat has the position of its last event, unless that event is no longer visible.
func TestAppendRepeatedOfHiddenEvents(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	hidden := map[string]func(*esdb.StreamMetadata){
		"$tb":       func(m *esdb.StreamMetadata) { m.SetTruncateBefore(2) },
		"$maxCount": func(m *esdb.StreamMetadata) { m.SetMaxCount(1) },
		"$maxAge":   func(m *esdb.StreamMetadata) { m.SetMaxAge(time.Second) },
	}
	for stream, hide := range hidden {
		t.Run(stream, func(t *testing.T) {
			first, last := event("first"), event("last")
			appendTo(t, client, stream, esdb.NoStream{}, first, event("second"))
			written := appendTo(t, client, stream, esdb.Any{}, last)
			describe(t, client, stream, hide)
			require.Eventually(t, func() bool { return len(seen(t, client, stream)) < 2 }, patience, 10*time.Millisecond)

			for _, expected := range []esdb.ExpectedRevision{esdb.NoStream{}, esdb.Any{}} {
				again := appendTo(t, client, stream, expected, first)
				require.Zero(t, again.NextExpectedVersion)
				require.Zero(t, again.CommitPosition)
			}
			again := appendTo(t, client, stream, esdb.Revision(1), last)
			require.Equal(t, uint64(2), again.NextExpectedVersion)
			if stream != "$maxAge" {
				require.Equal(t, written.CommitPosition, again.CommitPosition)
			}
		})
	}
}

func TestAppendWithoutEvents(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	appendTo(t, client, "empty", esdb.NoStream{})
	_, err := readStream(t, client, "empty", esdb.ReadStreamOptions{}, everything)
	requireCode(t, esdb.ErrorCodeResourceNotFound, err)

	written := appendTo(t, client, "empty", esdb.NoStream{}, event("a"))
	again := appendTo(t, client, "empty", esdb.Revision(0))

	require.Equal(t, uint64(0), again.NextExpectedVersion)
	require.Equal(t, written.CommitPosition, again.CommitPosition)
	_, err = tryAppend(t, client, "empty", esdb.NoStream{})
	requireCode(t, esdb.ErrorCodeWrongExpectedVersion, err)
}

func TestAppendLimit(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	const limit = 1 << 20
	sized := func(data, metadata int) esdb.EventData {
		return esdb.EventData{
			EventID: uuid.New(), EventType: "type", ContentType: esdb.ContentTypeBinary,
			Data: make([]byte, data), Metadata: make([]byte, metadata),
		}
	}
	const tooLarge = "Maximum Append Size of 1048576 Exceeded"
	cases := []struct {
		name    string
		events  []esdb.EventData
		refusal string
	}{
		{"one event of the limit", []esdb.EventData{sized(limit-8, 0)}, ""},
		{"one byte more", []esdb.EventData{sized(limit-7, 0)}, tooLarge},
		{"metadata counts", []esdb.EventData{sized(limit-9, 2)}, tooLarge},
		{"the limit is for the append", []esdb.EventData{sized(limit/2, 0), sized(limit/2, 0)}, tooLarge},
		{"much more, read to its end", []esdb.EventData{sized(3<<20, 0), sized(3<<20, 0), sized(3<<20, 0)}, tooLarge},
		{"very many events", slices.Repeat([]esdb.EventData{{EventType: "x"}}, 1<<16+1), "too many events"},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			stream := fmt.Sprintf("limit-%d", i)

			_, err := tryAppend(t, client, stream, esdb.NoStream{}, c.events...)

			if c.refusal == "" {
				require.NoError(t, err)
				return
			}
			requireCode(t, esdb.ErrorCodeUnknown, err)
			require.ErrorContains(t, err, c.refusal)
			require.ErrorContains(t, err, "InvalidArgument")
			_, err = readStream(t, client, stream, esdb.ReadStreamOptions{}, everything)
			requireCode(t, esdb.ErrorCodeResourceNotFound, err)
		})
	}
}

func TestAppendRefusesNames(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	for name, code := range map[string]esdb.ErrorCode{
		"":                          esdb.ErrorCodeUnknown,
		"$all":                      esdb.ErrorCodeAccessDenied,
		strings.Repeat("x", 70_000): esdb.ErrorCodeUnknown,
	} {
		_, err := tryAppend(t, client, name, esdb.Any{}, event("a"))
		requireCode(t, code, err)
	}
	_, err := tryAppend(t, client, "untyped", esdb.Any{}, event(""))
	requireCode(t, esdb.ErrorCodeUnknown, err)
}

func TestNamesThatContainEachOtherAreDifferentStreams(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	names := []string{"a", "aa", "a\x00", "a\x00\x00\x00\x00\x00\x00\x00\x00", strings.Repeat("a", 256), "b"}
	for _, name := range names {
		appendTo(t, client, name, esdb.NoStream{}, event(name+"-0"), event(name+"-1"))
	}
	for _, name := range names {
		for _, direction := range []esdb.Direction{esdb.Forwards, esdb.Backwards} {
			options := esdb.ReadStreamOptions{Direction: direction, From: esdb.Start{}}
			want := []string{name + "-0", name + "-1"}
			if direction == esdb.Backwards {
				options.From = esdb.End{}
				want = []string{name + "-1", name + "-0"}
			}
			read, err := readStream(t, client, name, options, everything)
			require.NoError(t, err)
			require.Equal(t, want, kinds(read))
		}
	}
}
