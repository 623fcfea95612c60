package synthesis_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/speech/audio"
)

func TestARecordingHoldsItsSlotAndItsPlaceUntilItWasSent(t *testing.T) {
	s := newStudio(t)
	s.Slots = synthesis.NewSlots(map[plan.Type]int{plan.Free: 1})
	id := s.Open("free")
	for name, release := range map[string]func(*synthesis.Reply, context.CancelFunc){
		"sent":     func(reply *synthesis.Reply, _ context.CancelFunc) { reply.Release() },
		"given up": func(_ *synthesis.Reply, leave context.CancelFunc) { leave() },
	} {
		t.Run(name, func(t *testing.T) {
			// given a complete reply that its client has not read yet
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			reply := s.begin(ctx, collected(free(id, story, audio.PCMF32LE)))
			recording, err := reply.Whole(ctx)
			require.NoError(t, err)
			require.Equal(t, recording.Audio.Size(), s.Spool.Claimed(), "what was claimed and is not needed is given back")

			// then it counts among the account's syntheses
			_, err = s.Begin(t.Context(), free(id, "Hello.", audio.MP3))
			requireBusy(t, err, 1)

			// until it was sent, or its client has disconnected
			release(reply, leave)
			require.Eventually(t, func() bool { return s.Slots.Busy() == 0 && s.Spool.Claimed() == 0 }, commandstest.Patience,
				time.Millisecond)
		})
	}
	s.requireIdle(id)
}

func TestAFullSpoolRefusesARecordingBeforeAnythingIsReserved(t *testing.T) {
	// given a spool that is full
	s := newStudio(t)
	s.Spool = openSpool(t, 64<<20, 48<<20)
	held, err := s.Spool.Create("somebody", 48<<20)
	require.NoError(t, err)
	id := s.Open("free")

	// when a recording is begun, then it is refused, and no event was written
	_, err = s.Begin(t.Context(), collected(order(id, story, audio.WAV)))
	require.ErrorIs(t, err, spool.ErrFull)
	require.Empty(t, s.Books(id).Events)

	// while streams need no room
	require.NoError(t, s.speakTo(t.Context(), id, &strings.Builder{}))

	// and there is room after a release
	held.Close()
	s.Must(s.begin(t.Context(), collected(order(id, story, audio.WAV))).Whole(t.Context()))
	s.requireIdle(id)
}

func TestARecordingThatIsTooLongCostsNothing(t *testing.T) {
	s := newStudio(t)
	s.Spool = openSpool(t, 64<<20, 1<<20)
	id := s.Open("free")
	o := collected(order(id, strings.Repeat("🦑", 200), audio.PCMF32LE))
	o.Speed = 0.25
	reply := s.begin(t.Context(), o)
	_, err := reply.Whole(t.Context())
	var tooLong *synthesis.TooLongError
	require.ErrorAs(t, err, &tooLong)
	require.Equal(t, synthesis.TooLongError{Audio: o.Audio, Speed: 0.25, Characters: 200}, *tooLong)
	require.Equal(t, map[string]int64{reply.ID(): 0}, s.Books(id).SettledBy)
	require.Zero(t, s.Spool.Claimed())
	s.requireIdle(id)
}

// stalled is a client that reads nothing until it is cut.
type stalled struct{ cut <-chan struct{} }

func (c stalled) Write(p []byte) (int, error) {
	<-c.cut
	return len(p), nil
}

func TestAReplyIsInterruptedBeforeItsReservationExpires(t *testing.T) {
	// given replies that may take half a second
	s := newStudio(t)
	s.Longest = 500 * time.Millisecond
	id := s.Open("free")
	cut := time.After(s.Longest)
	ends := make(chan struct{})
	go func() { <-cut; close(ends) }()

	// when a client takes longer for its first piece, then the reply ends, and the client pays for the received part
	err := s.speakTo(t.Context(), id, stalled{ends})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	books := s.Books(id)
	require.Len(t, books.SettledBy, 1)
	require.Less(t, books.Settled, int64(len(story)))

	// and a recording that takes longer is free
	s.Longest = time.Millisecond
	_, err = s.begin(t.Context(), collected(order(id, strings.Repeat(story, 8), audio.MP3))).Whole(t.Context())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, books.Settled, s.Books(id).Settled)
	s.requireIdle(id)
}
