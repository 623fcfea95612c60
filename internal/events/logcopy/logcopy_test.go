package logcopy_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var someHeader = logcopy.Header{
	Identity: eventlog.Identity{LogID: uuid.MustParse("0190b0c0-0000-7000-8000-000000000001"), Epoch: 3},
	After:    eventlog.Position{Commit: 4, Prepare: 3},
	Until:    eventlog.Position{Commit: 1 << 60, Prepare: 9},
}

// drawn draws events in log order.
func drawn(t *rapid.T) []eventlog.Recorded {
	bytesOf := rapid.SliceOfN(rapid.Byte(), 0, 300)
	position := someHeader.After
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) eventlog.Recorded {
		position.Commit += rapid.Uint64Range(1, 1<<40).Draw(t, "step")
		position.Prepare = position.Commit
		return eventlog.Recorded{
			ID:       uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")),
			Stream:   "s" + string(bytesOf.Draw(t, "stream")),
			Revision: rapid.Uint64().Draw(t, "revision"), Position: position,
			Type:     rapid.StringMatching(`[a-z-]{1,20}`).Draw(t, "type"),
			Data:     bytesOf.Draw(t, "data"),
			Metadata: bytesOf.Draw(t, "metadata"),
			Binary:   rapid.Bool().Draw(t, "binary"),
			Created: time.Unix(rapid.Int64Range(0, 1<<35).Draw(t, "seconds"),
				100*rapid.Int64Range(0, 9_999_999).Draw(t, "ticks")).UTC(),
		}
	}), 0, 12).Draw(t, "events")
}

func written(t require.TestingT, events []eventlog.Recorded) []byte {
	var copied bytes.Buffer
	w, err := logcopy.NewWriter(&copied, someHeader)
	require.NoError(t, err)
	for _, event := range events {
		require.NoError(t, w.Write(event))
		require.NoError(t, w.Idle())
	}
	require.NoError(t, w.End())
	return copied.Bytes()
}

// read returns the events before the error, which is nil for a complete copy.
func read(from io.Reader) (logcopy.Header, []eventlog.Recorded, error) {
	r, err := logcopy.NewReader(from)
	if err != nil {
		return logcopy.Header{}, nil, err
	}
	var events []eventlog.Recorded
	for event, err := range r.Events() {
		if err != nil {
			return r.Header(), events, err
		}
		events = append(events, event)
	}
	return r.Header(), events, nil
}

func equal(a, b []eventlog.Recorded) bool {
	return slices.EqualFunc(a, b, func(a, b eventlog.Recorded) bool {
		return a.ID == b.ID && a.Stream == b.Stream && a.Revision == b.Revision && a.Position == b.Position &&
			a.Type == b.Type &&
			bytes.Equal(a.Data, b.Data) && bytes.Equal(a.Metadata, b.Metadata) && a.Binary == b.Binary &&
			a.Created.Equal(b.Created)
	})
}

func TestACopyIsReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawn(t)
		copied := written(t, events)
		header, got, err := read(iotest.OneByteReader(bytes.NewReader(copied)))
		require.NoError(t, err)
		require.Equal(t, someHeader, header)
		require.True(t, equal(events, got), "%v\n%v", events, got)
		require.Equal(t, copied, written(t, events), "the same events give the same bytes")
	})
}

func TestATruncationIsDetectedAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawn(t)
		copied := written(t, events)
		length := rapid.IntRange(0, len(copied)-1).Draw(t, "length")
		_, got, err := read(bytes.NewReader(copied[:length]))
		require.ErrorIs(t, err, logcopy.ErrCut)
		require.True(t, equal(events[:len(got)], got), "events before the truncation are correct")
	})
}

// If a piece is lost in the middle, the other records can still be read. The count or the order shows the loss.
func TestAMissingOrRepeatedRecordIsDetected(t *testing.T) {
	events := slices.Collect(func(yield func(eventlog.Recorded) bool) {
		for n := range uint64(3) {
			event := eventlog.Recorded{ID: uuid.New(), Stream: "s", Revision: n, Type: "t",
				Position: eventlog.Position{Commit: 10 + n}}
			if !yield(event) {
				return
			}
		}
	})
	whole := written(t, events)
	for name, others := range map[string][]eventlog.Recorded{
		"missing": {events[0], events[2]}, "repeated": {events[0], events[0], events[1], events[2]},
		"swapped": {events[1], events[0], events[2]},
	} {
		t.Run(name, func(t *testing.T) {
			// given the records of the others with the end of the whole copy
			tail := whole[bytes.LastIndex(whole, []byte("$end"))-20:]
			body := written(t, others)
			cut := bytes.LastIndex(body, []byte("$end")) - 20
			_, _, err := read(io.MultiReader(bytes.NewReader(body[:cut]), bytes.NewReader(tail)))
			require.Error(t, err)
		})
	}
}

func TestOtherStreamsAreRefused(t *testing.T) {
	later := bytes.Replace(written(t, nil), []byte(`"format":1`), []byte(`"format":2`), 1)
	large := append([]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, strings.Repeat("x", 100)...)
	for name, c := range map[string]struct {
		from []byte
		want error
	}{
		"nothing":           {nil, logcopy.ErrCut},
		"a later format":    {later, logcopy.ErrFormat},
		"text":              {[]byte(strings.Repeat("hello world ", 100)), logcopy.ErrDamaged},
		"a gigantic record": {large, logcopy.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := read(bytes.NewReader(c.from))
			require.ErrorIs(t, err, c.want)
		})
	}
	t.Run("a reader that fails is not a damaged copy", func(t *testing.T) {
		broken := errors.New("the disk is gone")
		_, _, err := read(io.MultiReader(bytes.NewReader(written(t, nil)[:8]), iotest.ErrReader(broken)))
		require.ErrorIs(t, err, broken)
		require.NotErrorIs(t, err, logcopy.ErrDamaged)
	})
}

// For any input, the reader returns an error or a complete copy, and writing an accepted copy results in the same
// bytes.
func FuzzReader(f *testing.F) {
	f.Add(written(f, nil))
	f.Add(written(f, []eventlog.Recorded{
		{ID: uuid.New(), Stream: "account-1", Type: "account-opened", Data: []byte(`{}`), Metadata: []byte(`{"v":1}`),
			Position: eventlog.Position{Commit: 5, Prepare: 5}},
		{ID: uuid.New(), Stream: "s", Type: "t", Binary: true, Data: []byte{0, 1, 255},
			Position: eventlog.Position{Commit: 6, Prepare: 6}},
	}))
	f.Fuzz(func(t *testing.T, from []byte) {
		header, events, err := read(bytes.NewReader(from))
		if err != nil {
			require.NotEmpty(t, fmt.Sprint(err))
			return
		}
		var again bytes.Buffer
		w, err := logcopy.NewWriter(&again, header)
		require.NoError(t, err)
		for _, event := range events {
			require.NoError(t, w.Write(event))
		}
		require.NoError(t, w.End())
		_, same, err := read(&again)
		require.NoError(t, err)
		require.True(t, equal(events, same))
	})
}
