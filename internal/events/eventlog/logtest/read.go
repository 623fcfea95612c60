package logtest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

func readUnknownStream(t *testing.T, log *bench) {
	stream := newStream()
	require.Empty(t, log.forwards(t, stream, 0))
	require.Empty(t, log.forwards(t, stream, 5))
	require.Empty(t, log.backwards(t, stream))
}

func readFrom(t *testing.T, log *bench) {
	stream := newStream()
	ids := proposedIDs(log.fill(t, stream, 5))
	tests := map[string]struct {
		from uint64
		want int
	}{
		"the first":       {0, 5},
		"a middle one":    {2, 3},
		"the last":        {4, 1},
		"right after it":  {5, 0},
		"far past it":     {500, 0},
		"past every page": {1 << 40, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			read := log.forwards(t, stream, test.from)
			require.Len(t, read, test.want)
			require.Equal(t, ids[5-test.want:], recordedIDs(read))
		})
	}
}

func readLong(t *testing.T, log *bench) {
	// The sizes are at and around the ends of pages.
	for _, size := range []int{1, 15, 16, 17, 80, 336, 1500} {
		stream := newStream()
		ids := proposedIDs(log.fill(t, stream, size))

		forwards := log.forwards(t, stream, 0)
		require.Equal(t, ids, recordedIDs(forwards))
		for i, event := range forwards {
			require.EqualValues(t, i, event.Revision)
			if i > 0 {
				require.Positive(t, event.Position.Compare(forwards[i-1].Position))
			}
		}
		slices.Reverse(forwards)
		require.Equal(t, forwards, log.backwards(t, stream))
	}
}

func readLarge(t *testing.T, log *bench) {
	stream := newStream()
	large := numbered(12)
	for i := range large {
		large[i].Data = fmt.Appendf(nil, `{"n":%d,"text":%q}`, i, strings.Repeat("x", 900_000))
		log.appended(t, stream, eventlog.Revision(i-1), large[i])
	}
	read := log.forwards(t, stream, 0)
	require.Equal(t, proposedIDs(large), recordedIDs(read))
	for i, event := range read {
		require.Equal(t, string(large[i].Data), string(event.Data))
	}
	slices.Reverse(read)
	require.Equal(t, recordedIDs(read), recordedIDs(log.backwards(t, stream)))
}

func readStopsEarly(t *testing.T, log *bench) {
	stream := newStream()
	ids := proposedIDs(log.fill(t, stream, 100))
	for range 50 {
		for event, err := range log.ReadStreamBackwards(log.ctx, stream) {
			require.NoError(t, err)
			require.Equal(t, ids[99], event.ID)
			break
		}
	}
	require.Len(t, log.forwards(t, stream, 90), 10, "the log still responds")
}

func readEndedContext(t *testing.T, log *bench) {
	stream := newStream()
	log.fill(t, stream, 1000)
	for name, read := range map[string]func(context.Context) iter.Seq2[eventlog.Recorded, error]{
		"forwards": func(ctx context.Context) iter.Seq2[eventlog.Recorded, error] {
			return log.ReadStream(ctx, stream, 0)
		},
		"backwards": func(ctx context.Context) iter.Seq2[eventlog.Recorded, error] {
			return log.ReadStreamBackwards(ctx, stream)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(log.ctx)
			defer cancel()
			events := 0
			var errs []error
			for _, err := range read(ctx) {
				if err != nil {
					errs = append(errs, err)
				} else if events++; events == 10 {
					cancel()
				}
			}
			require.Len(t, errs, 1, "an error is the last element")
			require.ErrorIs(t, errs[0], context.Canceled)
			require.Less(t, events, 1000)

			_, err := log.Head(ctx)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

func readAfterEnd(t *testing.T, log *bench) {
	stream := newStream()
	log.fill(t, stream, 3)
	ctx, cancel := context.WithCancel(log.ctx)
	cancel()
	for name, read := range map[string]iter.Seq2[eventlog.Recorded, error]{
		"forwards":            log.ReadStream(ctx, stream, 0),
		"backwards":           log.ReadStreamBackwards(ctx, stream),
		"an unknown stream":   log.ReadStream(ctx, newStream(), 0),
		"past a stream's end": log.ReadStream(ctx, stream, 3),
	} {
		t.Run(name, func(t *testing.T) {
			yielded := 0
			for event, err := range read {
				yielded++
				require.ErrorIs(t, err, context.Canceled)
				require.Zero(t, event)
			}
			require.Equal(t, 1, yielded)
		})
	}
}

func positionsGrow(t *testing.T, log *bench) {
	streams := []string{newStream(), newStream(), newStream()}
	last, err := log.Head(log.ctx)
	require.NoError(t, err)
	for revision := eventlog.NoStream; revision < 5; revision += 2 {
		for _, stream := range streams {
			appended := log.appended(t, stream, revision, events("a", "b")...)
			require.Positive(t, appended.Position.Compare(last))
			last = appended.Position
		}
	}
}

// Other writers may append events meanwhile, so the head may be after our events.
func headIsLast(t *testing.T, log *bench) {
	stream := newStream()
	last := log.appended(t, stream, eventlog.NoStream, events("a", "b")...)
	head, err := log.Head(log.ctx)
	require.NoError(t, err)
	require.GreaterOrEqual(t, head.Compare(last.Position), 0)

	next := log.appended(t, stream, 1, events("c")...)
	require.Negative(t, head.Compare(next.Position))
}
