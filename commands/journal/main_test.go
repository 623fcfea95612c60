package journal_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/memlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// world is a log, a journal on it, and the journal's observations.
type world struct {
	*journal.Journal
	t        testing.TB
	log      *watchedLog
	observed chan journal.Observation
}

func newWorld(t testing.TB) *world {
	t.Helper()
	client := memlog.New()
	registry, err := eventlog.NewRegistry(eventlog.In("counter-", eventlog.Define[added]("counter-added", 1),
		eventlog.Define[snapshotTaken]("counter-snapshot-taken", 1), eventlog.Define[foreign]("foreign-written", 1))...)
	require.NoError(t, err)
	w := &world{t: t, log: &watchedLog{Log: client}, observed: make(chan journal.Observation, 1000)}
	w.Journal = &journal.Journal{Log: w.log, Registry: registry, Observe: func(o journal.Observation) { w.observed <- o }}
	return w
}

// other returns a journal of another instance on the same log, which is not watched.
func (w *world) other() *journal.Journal {
	return &journal.Journal{Log: w.log.Log, Registry: w.Registry}
}

// recorded returns the events of a stream, with their metadata.
func (w *world) recorded(stream string) (all []eventlog.Decoded) {
	w.t.Helper()
	for recorded, err := range w.log.Log.ReadStream(w.t.Context(), stream, 0) {
		require.NoError(w.t, err)
		decoded, err := w.Registry.Decode(recorded)
		require.NoError(w.t, err)
		all = append(all, decoded)
	}
	return all
}

// folded returns the state after all events of a stream.
func (w *world) folded(stream string) (s state) {
	w.t.Helper()
	for _, event := range w.recorded(stream) {
		s = evolve(s, event.Event.(counterEvent))
	}
	return s
}

// watchedLog is a log that counts reads and appends, and can disturb appends.
type watchedLog struct {
	eventlog.Log
	appends, reads atomic.Int64
	before         func() // called before each append; may be nil
	lost           bool   // appends succeed, but report an error
}

func (l *watchedLog) Append(
	ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) (eventlog.Appended, error) {
	if l.before != nil {
		l.before()
	}
	l.appends.Add(1)
	appended, err := l.Log.Append(ctx, stream, expected, events)
	if l.lost {
		return eventlog.Appended{}, eventlog.ErrUnavailable
	}
	return appended, err
}

func (l *watchedLog) ReadStream(ctx context.Context, stream string, from uint64) iter.Seq2[eventlog.Recorded, error] {
	return l.counted(l.Log.ReadStream(ctx, stream, from))
}

func (l *watchedLog) ReadStreamBackwards(ctx context.Context, stream string) iter.Seq2[eventlog.Recorded, error] {
	return l.counted(l.Log.ReadStreamBackwards(ctx, stream))
}

func (l *watchedLog) counted(events iter.Seq2[eventlog.Recorded, error]) iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		for event, err := range events {
			l.reads.Add(1)
			if !yield(event, err) {
				return
			}
		}
	}
}

// cost returns the numbers of appends and events read during a call.
func (l *watchedLog) cost(do func()) (appends, reads int64) {
	appends, reads = l.appends.Load(), l.reads.Load()
	do()
	return l.appends.Load() - appends, l.reads.Load() - reads
}

// meta returns the metadata of a new command.
func meta() journal.Metadata { return journal.System().Metadata(uuid.New(), noon) }
