package pronunciations_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/pronunciations"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/pronunciation"
	"github.com/recital-tts/recital/internal/access/keyring/memkeys"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/memlog"
	"github.com/recital-tts/recital/internal/speech"
)

// newLists returns two instances on one log.
func newLists(t *testing.T) (w *commandstest.World, keys *memkeys.Keyring, one, other *pronunciations.Pronunciations) {
	w, keys = commandstest.New(t), memkeys.New()
	open := func() *pronunciations.Pronunciations { return pronunciations.New(w.Journal, keys, w.Clock.Now) }
	return w, keys, open(), open()
}

func TestAListIsReadWhereverItIsWritten(t *testing.T) {
	w, _, one, other := newLists(t)
	origin := commandstest.Operator()
	words := func(p *pronunciations.Pronunciations) (words []string) {
		list, _, err := p.List(t.Context(), "a1")
		require.NoError(t, err)
		for _, e := range list {
			words = append(words, e.Word+"="+e.Spoken)
		}
		return words
	}
	require.Empty(t, words(one))
	none, err := other.Lexicon(t.Context(), "a1")
	require.NoError(t, err)
	require.Nil(t, none)

	// an entry is added once, and changed by its word and language
	said := speech.Pronunciation{Word: "Nguyen", Spoken: "win"}
	first, at, err := one.Set(t.Context(), "a1", said, origin)
	require.NoError(t, err)
	again, still, err := other.Set(t.Context(), "a1", said, origin)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, at, still)
	said.Spoken = "noo yen"
	changed, _, err := other.Set(t.Context(), "a1", said, origin)
	require.NoError(t, err)
	require.Equal(t, first.ID, changed.ID)
	said.Language = "vi"
	second, _, err := one.Set(t.Context(), "a1", said, origin)
	require.NoError(t, err)
	require.NotEqual(t, first.ID, second.ID)
	require.Equal(t, []string{"Nguyen=noo yen", "Nguyen=noo yen"}, words(other))

	// and removed once
	_, err = one.Remove(t.Context(), "a1", first.ID, origin)
	require.NoError(t, err)
	_, err = other.Remove(t.Context(), "a1", first.ID, origin)
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
	require.Len(t, words(one), 1)
	there, err := other.Lexicon(t.Context(), "a1")
	require.NoError(t, err)
	require.NotNil(t, there)

	// and the log has no word in clear
	require.Len(t, w.Decoded(pronunciation.Stream("a1")), 4)
	for _, event := range w.Decoded(pronunciation.Stream("a1")) {
		require.NotContains(t, fmt.Sprintf("%s", event.Event), "Nguyen")
	}
}

func TestAListIsSharedByWhoeverWritesIt(t *testing.T) {
	_, _, one, other := newLists(t)
	var writing sync.WaitGroup
	for i := range 20 {
		writing.Go(func() {
			said := speech.Pronunciation{Word: fmt.Sprint("word", i/2), Spoken: "x"}
			_, _, err := []*pronunciations.Pronunciations{one, other}[i%2].Set(t.Context(), "a1", said,
				commandstest.Operator())
			assert.NoError(t, err)
		})
	}
	writing.Wait()
	list, _, err := one.List(t.Context(), "a1")
	require.NoError(t, err)
	require.Len(t, list, 10)
}

func TestASkippedEventIsNotSpoken(t *testing.T) {
	w, _, one, _ := newLists(t)
	spoken := func() *speech.Lexicon {
		lexicon, err := one.Lexicon(t.Context(), "a1")
		require.NoError(t, err)
		return lexicon
	}
	_, _, err := one.Set(t.Context(), "a1", speech.Pronunciation{Word: "Nguyen", Spoken: "win"}, commandstest.Operator())
	require.NoError(t, err)
	require.NotNil(t, spoken())
	stream := pronunciation.Stream("a1")
	for recorded, err := range w.Log.ReadStream(t.Context(), stream, 0) {
		require.NoError(t, err)
		w.Journal.Registry.Skip(map[uuid.UUID]string{recorded.ID: stream})
	}
	require.Nil(t, spoken())
	w.Journal.Registry.Skip(nil)
	require.NotNil(t, spoken())
}

func TestAListEndsWithItsAccount(t *testing.T) {
	_, keys, one, _ := newLists(t)
	said := speech.Pronunciation{Word: "Nguyen", Spoken: "win"}
	_, _, err := one.Set(t.Context(), "a1", said, commandstest.Operator())
	require.NoError(t, err)
	_, err = one.Lexicon(t.Context(), "a1")
	require.NoError(t, err)
	require.NoError(t, keys.Erase(t.Context(), "a1"))
	require.NoError(t, one.Forget(t.Context(), "a1"))
	_, _, err = one.List(t.Context(), "a1")
	require.Equal(t, domain.Unauthenticated, domain.CodeOf(err))
	_, _, err = one.Set(t.Context(), "a1", said, commandstest.Operator())
	require.Equal(t, domain.Unauthenticated, domain.CodeOf(err))
}

// countedLog counts the events that are read of streams and the appends, which it holds while hold is locked.
type countedLog struct {
	eventlog.Log
	read, appends atomic.Int64
	hold          sync.Mutex
}

func (l *countedLog) Append(
	ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) (eventlog.Appended, error) {
	l.appends.Add(1)
	l.hold.Lock()
	defer l.hold.Unlock()
	return l.Log.Append(ctx, stream, expected, events)
}

func (l *countedLog) count(events iter.Seq2[eventlog.Recorded, error]) iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		for event, err := range events {
			if l.read.Add(1); !yield(event, err) {
				return
			}
		}
	}
}

func (l *countedLog) ReadStream(ctx context.Context, stream string, from uint64) iter.Seq2[eventlog.Recorded, error] {
	return l.count(l.Log.ReadStream(ctx, stream, from))
}

func (l *countedLog) ReadStreamBackwards(ctx context.Context, stream string) iter.Seq2[eventlog.Recorded, error] {
	return l.count(l.Log.ReadStreamBackwards(ctx, stream))
}

// A client may change a long list often, so that a change reads at most the newest event.
func TestAChangeReadsNoLongList(t *testing.T) {
	log := &countedLog{Log: memlog.New()}
	w := commandstest.NewOn(t, log)
	lists := pronunciations.New(w.Journal, memkeys.New(), w.Clock.Now)
	log.read.Store(0)
	for i := range 50 {
		said := speech.Pronunciation{Word: fmt.Sprint("word", i), Spoken: "x"}
		entry, _, err := lists.Set(t.Context(), "a1", said, commandstest.Operator())
		require.NoError(t, err)
		if i%2 == 0 {
			_, err = lists.Remove(t.Context(), "a1", entry.ID, commandstest.Operator())
			require.NoError(t, err)
		}
		_, err = lists.Remove(t.Context(), "a1", "another", commandstest.Operator())
		require.Equal(t, domain.NotFound, domain.CodeOf(err))
	}
	require.LessOrEqual(t, log.read.Load(), int64(125), "one for each command")

	// and speech does not wait for one
	log.hold.Lock()
	log.appends.Store(0)
	changed := make(chan error)
	go func() {
		_, _, err := lists.Set(t.Context(), "a1", speech.Pronunciation{Word: "late", Spoken: "x"}, commandstest.Operator())
		changed <- err
	}()
	require.Eventually(t, func() bool { return log.appends.Load() == 1 }, time.Minute, time.Millisecond)
	list, _, err := lists.List(t.Context(), "a1")
	require.NoError(t, err)
	require.Len(t, list, 25)
	log.hold.Unlock()
	require.NoError(t, <-changed)
	list, _, err = lists.List(t.Context(), "a1")
	require.NoError(t, err)
	require.Len(t, list, 26)
}

// The memory is bounded for any number of accounts with long lists, and lists that were dropped are read again.
func TestWhatIsInMemoryIsBounded(t *testing.T) {
	_, _, one, _ := newLists(t)
	one.KeepAtMost(4)
	for range 2 {
		for _, account := range []string{"a1", "a2", "a3"} {
			for _, word := range []string{"one", "two"} {
				_, _, err := one.Set(t.Context(), account, speech.Pronunciation{Word: word, Spoken: "x"}, commandstest.Operator())
				require.NoError(t, err)
			}
			list, _, err := one.List(t.Context(), account)
			require.NoError(t, err)
			require.Len(t, list, 2)
			require.LessOrEqual(t, one.Kept(), int64(4))
		}
	}
}

func TestWhatIsWrongIsNotKept(t *testing.T) {
	_, _, one, _ := newLists(t)
	_, _, err := one.Set(t.Context(), "a1", speech.Pronunciation{Word: "?", Spoken: "x"}, commandstest.Operator())
	require.Equal(t, domain.Invalid, domain.CodeOf(err))
	require.ErrorAs(t, err, new(*speech.PronunciationError))
}
