package voices_test

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/star"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// history is a command that records its events.
type history[S, E any] []E

func (h history[S, E]) Decide(S) ([]E, error) { return h, nil }

func write[S, E any](s *studio, stream string, evolve func(S, E) S, events ...E) {
	s.T.Helper()
	j := &journal.Journal{Log: s.Log, Registry: s.Journal.Registry}
	_, _, err := journal.Execute(s.T.Context(), j, journal.Stream[S, E]{Name: stream, Evolve: evolve},
		journal.Decider[S, E](history[S, E](events)),
		origin.Metadata(uuid.New(), s.now()))
	require.NoError(s.T, err)
}

// collection creates an account with a number of voices from events: most are broken, and some were never created. Each
// has a blob and a star, and the account has starred a system voice.
func (s *studio) collection(account string, size int) {
	s.T.Helper()
	taken := []roster.Event{}
	starred := []star.Event{star.Starred{Account: account, Voice: "leah", At: s.now()}}
	for i := range size {
		id, err := voice.DrawID(rand.Reader)
		require.NoError(s.T, err)
		blob := blobs.NewAddress(blobs.Owner(voice.Stream(id)))
		s.Must(s.store.Put(s.T.Context(), blob, strings.NewReader("a recording"), 11))
		taken = append(taken, roster.PlaceTaken{Account: account, Voice: id, Type: voice.Instant, At: s.now()})
		starred = append(starred, star.Starred{Account: account, Voice: id, At: s.now()})
		if i%10 == 0 {
			continue
		}
		write(s, voice.Stream(id), voice.Evolve, voice.Event(voice.Created{
			Voice: id, Account: account, Type: voice.Instant, Sealed: []byte{1},
			Recordings: []voice.Recording{{Blob: string(blob)}}, At: s.now(),
		}), voice.Event(voice.Broken{Voice: id, Account: account, Reason: "broken", Message: "Broken", At: s.now()}))
	}
	for at := 0; at < len(taken); at += 250 {
		write(s, roster.Stream(account), roster.Evolve, taken[at:min(at+250, len(taken))]...)
	}
	for at := 0; at < len(starred); at += 250 {
		write(s, star.Stream(account), star.Evolve, starred[at:min(at+250, len(starred))]...)
	}
}

// counting counts the events read from the streams that all voices of an account share.
type counting struct {
	eventlog.Log
	read atomic.Int64
}

func (c *counting) ReadStreamBackwards(ctx context.Context, stream string) iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		for event, err := range c.Log.ReadStreamBackwards(ctx, stream) {
			if !strings.HasPrefix(stream, voice.StreamPrefix) {
				c.read.Add(1)
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// The cost of erasing the voices of an account is linear in their number.
func TestClosingAnAccountWithManyVoices(t *testing.T) {
	s := newStudio(t)
	size := 500
	if testing.Short() {
		size = 200
	}
	account := s.Open("enterprise")
	s.collection(account, size)
	log := &counting{Log: s.Log}
	one := s.instance(log, s.store, s.limits)

	require.NoError(t, one.EndFor(t.Context(), account))
	turns := 1
	for err := one.EraseFor(t.Context(), account); err != nil; err = one.EraseFor(t.Context(), account) {
		require.True(t, errors.As(err, new(*todo.NotYetError)), err)
		turns++
	}

	require.Less(t, log.read.Load(), int64(10*size), "events read of the account's own streams, in %d turns", turns)
	require.Empty(t, s.roster(account).Places)
	require.Empty(t, s.stars(account).Voices)
	require.Empty(t, s.stored(""))
	s.requireOrder(t)
}

// After a crash while the voices of a closed account are erased, the next turn completes the erasure.
func TestAClosingThatIsCutShortGoesOn(t *testing.T) {
	longtest.Only(t)
	s := newStudio(t)
	for at := 1; ; at++ {
		for _, after := range commandstest.Sides(at) {
			account := s.Open("enterprise")
			s.collection(account, 3)
			require.NoError(t, s.EndFor(t.Context(), account))
			f := &commandstest.Fuse{At: at, After: after}
			dying := s.mortal(f)
			err := dying.EraseFor(t.Context(), account)
			if !f.Blown() {
				require.NoError(t, err)
				require.Greater(t, at, 6)
				return
			}
			require.NoError(t, s.EraseFor(t.Context(), account))
			s.settle(t, s.Voices)
			require.Empty(t, s.roster(account).Places)
			require.Empty(t, s.stars(account).Voices)
			s.requireOrder(t)
		}
	}
}
