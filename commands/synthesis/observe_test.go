package synthesis_test

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
)

// observed collects the observations of syntheses.
type observed struct {
	mu  sync.Mutex
	all []synthesis.Observation
}

func (o *observed) note(one synthesis.Observation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, one)
}

// take returns the observations since the last call. Their times are reduced to whether there was audio.
func (o *observed) take() (all []synthesis.Observation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, one := range o.all {
		one.FirstAudio = min(one.FirstAudio, 1)
		all = append(all, one)
	}
	o.all = nil
	return all
}

func TestEverySynthesisIsObservedOnceAsItEnded(t *testing.T) {
	s, seen := newStudio(t), &observed{}
	s.Observe = seen.note
	id, free := s.Open("enterprise"), s.Open("free")
	characters := order(id, story, audio.Raw)
	becomes := func(want ...synthesis.Observation) {
		t.Helper()
		require.Equal(t, want, seen.take())
	}
	whole := int64(len([]rune(story)))

	// complete ones
	require.NoError(t, s.begin(t.Context(), characters).Write(t.Context(), io.Discard))
	becomes(synthesis.Observation{Kind: synthesis.Streamed, Format: audio.Raw, Outcome: synthesis.Done, FirstAudio: 1,
		Characters: whole})
	s.Must(s.begin(t.Context(), collected(order(id, story, audio.MP3))).Whole(t.Context()))
	becomes(synthesis.Observation{Kind: synthesis.Collected, Format: audio.MP3, Outcome: synthesis.Done,
		Characters: whole})
	talk := s.converse(id, audio.Raw, false, &audience{})
	talk.say(t, "One clause.")
	talk.finish(t)
	becomes(synthesis.Observation{Kind: synthesis.Spoken, Format: audio.Raw, Outcome: synthesis.Done, FirstAudio: 1,
		Characters: 11})

	// those that the client leaves
	require.ErrorIs(t, s.begin(t.Context(), characters).Write(t.Context(), &client{}), errHungUp)
	becomes(synthesis.Observation{Kind: synthesis.Streamed, Format: audio.Raw, Outcome: synthesis.Cut})
	listener := &audience{onAudio: func(synthesis.Chunk) error { return errHungUp }}
	talk = s.converse(id, audio.Raw, false, listener)
	talk.say(t, "One clause.")
	require.NoError(t, talk.Finish(context.Background()))
	require.ErrorIs(t, <-talk.done, errHungUp)
	becomes(synthesis.Observation{Kind: synthesis.Spoken, Format: audio.Raw, Outcome: synthesis.Cut})

	// refused ones
	held := commandstest.Reserve(t, s.Synthesiser.Ledger, free, commandstest.FreeLimit)
	_, err := s.Begin(t.Context(), order(free, story, audio.MP3))
	require.Error(t, err)
	becomes(synthesis.Observation{Kind: synthesis.Streamed, Format: audio.MP3, Outcome: synthesis.Refused})
	commandstest.Settle(t, s.Synthesiser.Ledger, held, 0)

	// and failed ones
	s.Speaker = speech.NewSpeaker(breaking{s.engines, "Then it rained"})
	require.ErrorIs(t, s.begin(t.Context(), characters).Write(t.Context(), io.Discard), speech.ErrEngineFailed)
	failed := seen.take()
	require.Len(t, failed, 1)
	require.Equal(t, synthesis.Failed, failed[0].Outcome)
	require.Less(t, failed[0].Characters, whole)
}
