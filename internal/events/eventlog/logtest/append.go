package logtest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

func appendThenRead(t *testing.T, log *bench) {
	stream := newStream()
	proposed := events("ä", "b")
	proposed[1].Type = "log-tested-otherwise"
	result := log.appended(t, stream, eventlog.NoStream, proposed...)

	read := log.forwards(t, stream, 0)
	require.Len(t, read, 2)
	for i, event := range read {
		require.Equal(t, proposed[i].ID, event.ID)
		require.Equal(t, stream, event.Stream)
		require.EqualValues(t, i, event.Revision)
		require.Equal(t, proposed[i].Type, event.Type)
		require.Equal(t, proposed[i].Data, event.Data)
		require.Equal(t, proposed[i].Metadata, event.Metadata)
		require.WithinDuration(t, time.Now(), event.Created, time.Hour)
	}
	require.Positive(t, read[0].Position.Compare(eventlog.Start()))
	require.Positive(t, read[1].Position.Compare(read[0].Position))
	require.Equal(t, result.Position, read[1].Position, "an append ends at its last event")
}

func appendConflicts(t *testing.T, log *bench) {
	tests := map[string]struct {
		existing         int
		expected, actual eventlog.Revision
	}{
		"no stream, but there is one":  {2, eventlog.NoStream, 1},
		"behind the end":               {3, 1, 2},
		"past the end":                 {2, 4, 1},
		"a stream that does not exist": {0, 0, eventlog.NoStream},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stream := newStream()
			before := log.fill(t, stream, test.existing)

			_, err := log.Append(log.ctx, stream, test.expected, events("late"))

			var conflict *eventlog.ConflictError
			require.ErrorAs(t, err, &conflict)
			require.Equal(t, &eventlog.ConflictError{Stream: stream, Expected: test.expected, Actual: test.actual}, conflict)
			require.Equal(t, proposedIDs(before), recordedIDs(log.forwards(t, stream, 0)))
		})
	}
}

func appendRepeated(t *testing.T, log *bench) {
	stream := newStream()
	opening, more := events("a", "b"), events("c", "d", "e")
	first := log.appended(t, stream, eventlog.NoStream, opening...)
	second := log.appended(t, stream, 1, more...)

	t.Run("the first append", func(t *testing.T) {
		require.Equal(t, first, log.appended(t, stream, eventlog.NoStream, opening...))
	})
	t.Run("a later append", func(t *testing.T) {
		require.Equal(t, second, log.appended(t, stream, 1, more...))
	})
	t.Run("one that shares only its first event", func(t *testing.T) {
		_, err := log.Append(log.ctx, stream, 1, append(more[:1:1], events("other")...))
		var conflict *eventlog.ConflictError
		require.ErrorAs(t, err, &conflict)
	})
	require.Equal(t, proposedIDs(append(opening, more...)), recordedIDs(log.forwards(t, stream, 0)))
}

func appendKnownElsewhere(t *testing.T, log *bench) {
	one, two := newStream(), newStream()
	known := events("a", "b")
	first := log.appended(t, one, eventlog.NoStream, known...)
	second := log.appended(t, two, eventlog.NoStream, known...)
	require.Positive(t, second.Position.Compare(first.Position))
	require.Equal(t, first, log.appended(t, one, eventlog.NoStream, known...))
	require.Equal(t, second, log.appended(t, two, eventlog.NoStream, known...))
	for _, stream := range []string{one, two} {
		require.Equal(t, proposedIDs(known), recordedIDs(log.forwards(t, stream, 0)))
	}
}

func appendRepeatedAtOnce(t *testing.T, log *bench) {
	const callers = 16
	stream := newStream()
	log.appended(t, stream, eventlog.NoStream, events("first")...)
	batch := events("a", "b", "c")

	results := make([]eventlog.Appended, callers)
	var wait sync.WaitGroup
	for i := range callers {
		wait.Go(func() {
			var err error
			if results[i], err = log.Append(log.ctx, stream, 0, batch); err != nil {
				t.Errorf("appending: %v", err)
			}
		})
	}
	wait.Wait()

	written := log.forwards(t, stream, 1)
	require.Equal(t, proposedIDs(batch), recordedIDs(written))
	for _, result := range results {
		require.Equal(t, eventlog.Appended{Revision: 3, Position: written[2].Position}, result)
	}
}

// A caller that does not know the outcome of an append, because its context ended, learns it by repeating the append.
func appendSettled(t *testing.T, log *bench) {
	stream := newStream()
	for revision := eventlog.NoStream; revision < 20; revision++ {
		next := events("x")
		ctx, cancel := context.WithCancel(log.ctx)
		given := make(chan error, 1)
		go func() {
			_, err := log.Append(ctx, stream, revision, next)
			given <- err
		}()
		cancel()
		if err := <-given; err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
		log.appended(t, stream, revision, next...)
	}
	require.Len(t, log.forwards(t, stream, 0), 21)
}

func appendKeepsBytes(t *testing.T, log *bench) {
	stream := newStream()
	proposed := events("spaces", "escapes", "no metadata")
	proposed[0].Data = []byte(" {\n\t\"b\": 1.0,  \"a\": 1e3 } ")
	proposed[0].Metadata = []byte(`{"b":{ },"a":[ ]}`)
	proposed[1].Data = []byte(`{"text":"\u00e4ä\u2028<\/>\ud83d\ude00"}`)
	proposed[2].Metadata = nil
	log.appended(t, stream, eventlog.NoStream, proposed...)

	for i, event := range log.forwards(t, stream, 0) {
		require.Equal(t, string(proposed[i].Data), string(event.Data),
			"not merely the same JSON: the audit chain counts on it")
		require.Equal(t, string(proposed[i].Metadata), string(event.Metadata))
	}
}

func appendNothing(t *testing.T, log *bench) {
	stream := newStream()
	result, err := log.Append(log.ctx, stream, 7, nil)
	require.NoError(t, err)
	require.Equal(t, eventlog.Appended{Revision: 7, Position: eventlog.Start()}, result)
	require.Empty(t, log.forwards(t, stream, 0))
}

func appendNoRevision(t *testing.T, log *bench) {
	stream := newStream()
	for _, expected := range []eventlog.Revision{-2, -3, -1 << 63} {
		_, err := log.Append(log.ctx, stream, expected, events("a"))
		require.Error(t, err)
	}
	require.Empty(t, log.forwards(t, stream, 0))
}

func appendTooLarge(t *testing.T, log *bench) {
	stream := newStream()
	large := events("large")
	large[0].Data = append(append([]byte(`"`), bytes.Repeat([]byte("x"), 20<<20)...), '"')

	_, err := log.Append(log.ctx, stream, eventlog.NoStream, large)
	require.ErrorIs(t, err, eventlog.ErrTooLarge)

	log.appended(t, stream, eventlog.NoStream, events("small")...)
}

func appendOneWinner(t *testing.T, log *bench) {
	const writers = 32
	stream := newStream()
	log.appended(t, stream, eventlog.NoStream, events("first")...)

	var (
		wait    sync.WaitGroup
		start   = make(chan struct{})
		outcome = make(chan error, writers)
		mu      sync.Mutex
		winners []uuid.UUID // the events of the appends that succeeded
	)
	for range writers {
		wait.Go(func() {
			mine := events("second", "third", "fourth")
			<-start
			_, err := log.Append(log.ctx, stream, 0, mine)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				winners = append(winners, proposedIDs(mine)...)
			}
			outcome <- err
		})
	}
	close(start)
	wait.Wait()
	close(outcome)

	for err := range outcome {
		var conflict *eventlog.ConflictError
		require.True(t, err == nil || errors.As(err, &conflict), "%v", err)
	}
	require.Len(t, winners, 3, "one append, in one step")
	require.Equal(t, winners, recordedIDs(log.forwards(t, stream, 1)))
}

func appendEndedContext(t *testing.T, log *bench) {
	ended, cancel := context.WithCancel(log.ctx)
	cancel()
	stream := newStream()
	_, err := log.Append(ended, stream, eventlog.NoStream, events("a"))
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, log.forwards(t, stream, 0))
}
