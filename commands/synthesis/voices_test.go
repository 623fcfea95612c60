package synthesis_test

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
)

// cast has the voices of one account.
type cast struct {
	owner string

	mu     sync.Mutex
	voices map[string]error // by id: why it cannot speak; nil if it can
}

func (c *cast) Speaking(_ context.Context, account, id string) (speech.Voice, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refused, found := c.voices[id]
	switch {
	case !found || account != c.owner:
		return speech.Voice{}, domain.Refuse(domain.NotFound, "There is no such voice")
	case refused != nil:
		return speech.Voice{}, refused
	}
	voice, err := new(speech.Catalogue).Find("morgan")
	voice.ID = id
	return voice, err
}

func (c *cast) delete(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.voices, id)
}

// hire gives an account a voice that can speak.
func (s *studio) hire(account, id string) *cast {
	c := &cast{owner: account, voices: map[string]error{id: nil}}
	s.Voices = c
	return c
}

func TestAVoiceThatCannotSpeakIsRefusedBeforeAnythingIsReserved(t *testing.T) {
	s := newStudio(t)
	id, stranger := s.Open("free"), s.Open("free")
	own := s.hire(id, "mine")
	own.voices["training"] = domain.Refuse(domain.Conflict, "The voice is not ready yet")
	own.voices["broken"] = domain.Refuse(domain.Rejected, "The voice is broken")
	for _, c := range []struct {
		account, voice string
		want           domain.Code
	}{
		{id, "nobody", domain.NotFound}, {stranger, "mine", domain.NotFound}, {id, "training", domain.Conflict},
		{id, "broken", domain.Rejected},
	} {
		o := order(c.account, story, audio.MP3)
		o.Voice = c.voice
		_, err := s.Begin(t.Context(), o)
		require.Equal(t, c.want, domain.CodeOf(err), "%v", err)
		_, err = s.Converse(t.Context(), o, false, nil)
		require.Equal(t, c.want, domain.CodeOf(err), "%v", err)
		require.Empty(t, s.Books(c.account).SettledBy)
		s.requireIdle(c.account)
	}
}

func TestAReplyGoesOnWhenItsVoiceIsDeleted(t *testing.T) {
	s := newStudio(t)
	id := s.Open("free")
	own := s.hire(id, "mine")
	o := order(id, story, audio.Raw)
	o.Voice = "mine"
	var want, got bytes.Buffer
	require.NoError(t, s.begin(t.Context(), o).Write(t.Context(), &want))

	// given a reply that has begun
	reply := s.begin(t.Context(), o)
	require.NoError(t, reply.AwaitAudio(t.Context()))

	// when its voice is deleted, then it is spoken and charged to its end
	own.delete("mine")
	require.NoError(t, reply.Write(t.Context(), &got))
	require.True(t, bytes.Equal(want.Bytes(), got.Bytes()))
	require.Equal(t, reply.Characters(), s.Books(id).SettledBy[reply.ID()])

	// and no later one begins
	_, err := s.Begin(t.Context(), o)
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
}

// A unit in progress continues when the voice is deleted; the next flush is refused.
func TestASessionEndsBetweenUnitsWhenItsVoiceIsDeleted(t *testing.T) {
	s := newStudio(t)
	id := s.Open("free")
	own := s.hire(id, "mine")
	o := order(id, "", audio.Raw)
	o.Voice = "mine"
	talk := s.converseIn(o, false, &audience{})
	const said = "This is said in full."
	talk.say(t, said)
	require.NoError(t, talk.Flush(talk.ctx, nonce(1)))
	talk.awaitTold(t, "flushed 1")
	spoken := talk.length()

	own.delete("mine")
	talk.say(t, "This is not said.")
	require.NoError(t, talk.Flush(talk.ctx, nonce(2)))
	require.NoError(t, talk.Finish(talk.ctx))
	require.Equal(t, domain.NotFound, domain.CodeOf(<-talk.done))
	require.Equal(t, spoken, talk.length())
	require.EqualValues(t, len(said), s.totalOf(id))
	s.requireIdle(id)
}

// full is an installed voice without a free slot.
type full struct{ rate int }

func (f full) Engine(speech.Installed) (speech.Engine, bool) { return f, true }
func (full) Admit(context.Context, string) bool              { return false }
func (full) Substituted()                                    {}
func (f full) SampleRate() int                               { return f.rate }
func (full) Speak(context.Context, speech.Job) (speech.Utterance, error) {
	return nil, speech.ErrEngineBusy
}

// busy are voices for which that installed voice speaks.
type busy struct{}

func (busy) Speaking(_ context.Context, _, id string) (speech.Voice, error) {
	voice, found := speech.LookupVoice(id)
	if !found {
		voice = speech.Voice{ID: id, Variant: "f2"}
	}
	voice.Installed = &speech.Installed{ID: "installed", Languages: []string{"en-us"}}
	return voice, nil
}

// A reply of a system voice has a warning that another one spoke, and the same price. A voice with a name of its own is
// refused without a charge.
func TestASystemVoiceSpeaksWhereTheInstalledOneIsBusy(t *testing.T) {
	s := newStudio(t)
	id := s.Open("free")
	s.Voices, s.Speaker = busy{}, s.Speaker.WithInstalled(full{s.engines.SampleRate()})
	o := order(id, story, audio.Raw)
	o.Voice, o.Language = "leah", "en-us"
	reply := s.begin(t.Context(), o)
	require.Contains(t, reply.Warning(), "another one speaks in its place")
	require.NoError(t, reply.AwaitAudio(t.Context()))
	require.NoError(t, reply.Write(t.Context(), &bytes.Buffer{}))
	require.Equal(t, reply.Characters(), s.Books(id).SettledBy[reply.ID()])

	o.Voice = "installed"
	_, err := s.Begin(t.Context(), o)
	require.ErrorIs(t, err, speech.ErrEngineBusy)
	s.requireIdle(id)
	require.Equal(t, reply.Characters(), s.totalOf(id))
}
