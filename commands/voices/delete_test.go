package voices_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/todo"
)

func TestDeletingAVoice(t *testing.T) {
	s := newStudio(t)
	account := s.Open("pro")
	id, kept := s.ready(account), s.ready(account)
	s.Must(s.Update(t.Context(), account, id, voices.Change{Starred: new(true)}, origin))
	other := s.instance(s.Log, s.store, s.limits) // which has opened it before
	s.Must(other.Speaking(t.Context(), account, id))

	s.Must(s.Delete(t.Context(), account, id, origin))
	for _, instance := range []*voices.Voices{s.Voices, other} {
		_, err := instance.Speaking(t.Context(), account, id)
		require.Equal(t, domain.NotFound, domain.CodeOf(err), "on every instance, at once")
	}
	require.Equal(t, []roster.Place{{Voice: kept, Type: voice.Instant}}, s.roster(account).Places)
	require.Empty(t, s.stars(account).Voices)
	_, err := s.Delete(t.Context(), account, id, origin)
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
	s.settle(t, s.Voices)
	require.True(t, s.state(id).Erased)
	require.Empty(t, s.stored(voice.Stream(id)+"."))
	s.requireOrder(t)
}

func TestDeletingAVoiceEndsItsMaking(t *testing.T) {
	s := newStudio(t)
	account := s.Open("pro")
	for _, of := range []voice.Type{voice.Instant, voice.Professional} {
		id := s.create(wish(account, of, sound(time.Second, 440)))
		release := s.cloner.wait()
		ended := make(chan error, 1)
		go func() {
			if of == voice.Professional {
				s.carryOut(t, s.Voices, id, (*voices.Voices).Prepare)
				ended <- s.attempt(s.Voices, id, (*voices.Voices).Train)
				return
			}
			ended <- s.attempt(s.Voices, id, (*voices.Voices).Prepare)
		}()
		<-s.cloner.began
		s.Must(s.Delete(t.Context(), account, id, origin))
		require.NoError(t, <-ended, "although nobody has released it")
		release()
		state := s.state(id)
		require.Equal(t, voice.Withdrawn, state.Phase)
		require.True(t, state.Deleted)
	}
	s.settle(t, s.Voices)
	s.requireOrder(t)
	require.Empty(t, s.stored(""))
}

// The making of a voice that another instance deletes ends with its next command.
func TestAVoiceThatIsDeletedElsewhere(t *testing.T) {
	s := newStudio(t)
	account := s.Open("pro")
	id := s.create(wish(account, voice.Instant, sound(short, 440)))
	release := s.cloner.wait()
	ended := make(chan error, 1)
	go func() { ended <- s.attempt(s.Voices, id, (*voices.Voices).Prepare) }()
	<-s.cloner.began
	other := s.instance(s.Log, s.store, s.limits)
	s.Must(other.Delete(t.Context(), account, id, origin))
	s.Must(other.Erase(t.Context(), id, uuid.New()))
	release()
	require.NoError(t, <-ended)
	require.Empty(t, s.stored(""), "whoever is late removes what it has stored")
	s.requireOrder(t)
}

func TestALongMakingHoldsUpNoOther(t *testing.T) {
	s := newStudio(t)
	account := s.Open("pro")
	limits := s.limits
	limits.AtOnce = 1
	one := s.instance(s.Log, s.store, limits)
	long, waiting := s.create(wish(account, voice.Instant, sound(short, 440))),
		s.create(wish(account, voice.Instant, sound(short, 220)))
	trained := s.create(wish(account, voice.Professional, sound(time.Second, 330)))
	s.carryOut(t, one, trained, (*voices.Voices).Prepare)
	release := s.cloner.wait()
	_, err := one.Prepare(t.Context(), long, uuid.New())
	require.ErrorAs(t, err, new(*todo.NotYetError), "it goes on in the background")
	_, err = one.Prepare(t.Context(), waiting, uuid.New())
	require.ErrorAs(t, err, new(*todo.NotYetError))
	require.Equal(t, 1, one.Making(), "the other waits for its place")
	_, err = one.Train(t.Context(), trained, uuid.New())
	require.ErrorAs(t, err, new(*todo.NotYetError))
	require.Equal(t, 2, one.Making(), "trainings have places of their own")
	release()
	for _, id := range []string{long, waiting} {
		s.carryOut(t, one, id, (*voices.Voices).Prepare)
		require.Equal(t, voice.Speaking, s.state(id).Phase)
	}
	s.carryOut(t, one, trained, (*voices.Voices).Train)
	require.Equal(t, voice.Speaking, s.state(trained).Phase)
	require.Zero(t, one.Making())
}

func TestAnAccountWithManyVoicesLeavesRoomForOthers(t *testing.T) {
	s := newStudio(t)
	limits := s.limits
	limits.AtOnce = 2
	one := s.instance(s.Log, s.store, limits)
	account, other := s.Open("pro"), s.Open("pro")
	many := []string{s.create(wish(account, voice.Instant, sound(short, 440))),
		s.create(wish(account, voice.Instant, sound(short, 220)))}
	theirs := s.create(wish(other, voice.Instant, sound(short, 330)))
	release := s.cloner.wait()
	defer release()
	for _, id := range many {
		_, err := one.Prepare(t.Context(), id, uuid.New())
		require.ErrorAs(t, err, new(*todo.NotYetError))
	}

	// given an account with a voice that is being made and another that waits, then there is room for others' voices
	require.Eventually(t, func() bool { return s.cloner.count() == 1 && one.Making() == 1 }, commandstest.Patience,
		time.Millisecond)
	_, err := one.Prepare(t.Context(), theirs, uuid.New())
	require.ErrorAs(t, err, new(*todo.NotYetError))
	require.Eventually(t, func() bool { return s.cloner.count() == 2 }, commandstest.Patience, time.Millisecond)
	release()
	s.carryOut(t, one, theirs, (*voices.Voices).Prepare)
	require.Equal(t, voice.Speaking, s.state(theirs).Phase)

	// and the waiting one is next
	for _, id := range many {
		s.carryOut(t, one, id, (*voices.Voices).Prepare)
		require.Equal(t, voice.Speaking, s.state(id).Phase)
	}
}

func TestTheVoicesOfAClosedAccountAreErased(t *testing.T) {
	s := newStudio(t)
	account, other := s.Open("pro"), s.Open("pro")
	kept := s.ready(other)
	s.ready(account)
	s.create(wish(account, voice.Instant, sound(short, 440)))
	s.create(wish(account, voice.Professional, sound(time.Second, 440)))
	mortal := s.mortal(&commandstest.Fuse{At: 2, After: true})
	_, err := mortal.Create(t.Context(), wish(account, voice.Instant, sound(short, 440)), origin)
	require.ErrorIs(t, err, commandstest.ErrDead)
	require.Len(t, s.roster(account).Places, 4)

	require.NoError(t, s.EndFor(t.Context(), account))
	_, err = s.Create(t.Context(), wish(account, voice.Instant, sound(short, 440)), origin)
	require.Equal(t, domain.Unauthenticated, domain.CodeOf(err))
	require.Equal(t, domain.Unauthenticated, domain.CodeOf(s.Room(t.Context(), account, plan.Pro)))
	require.NoError(t, s.keys.Erase(t.Context(), account))
	for range 2 {
		require.NoError(t, s.EndFor(t.Context(), account))
		for err := s.EraseFor(t.Context(), account); err != nil; err = s.EraseFor(t.Context(), account) {
			require.True(t, errors.As(err, new(*todo.NotYetError)), err)
		}
	}
	require.Empty(t, s.roster(account).Places)
	s.requireOrder(t)
	for _, blob := range s.stored("") {
		require.Contains(t, blob, kept)
	}
	s.Must(s.Speaking(t.Context(), other, kept))
}

func TestTwoInstancesMakeOneVoice(t *testing.T) {
	s := newStudio(t)
	account := s.Open("pro")
	other := s.instance(s.Log, s.store, s.limits)
	for _, of := range []voice.Type{voice.Instant, voice.Professional} {
		id := s.create(wish(account, of, sound(700*time.Millisecond, 440)))
		do := (*voices.Voices).Prepare
		if of == voice.Professional {
			s.carryOut(t, s.Voices, id, do)
			do = (*voices.Voices).Train
		}
		release := s.cloner.wait()
		ended := make(chan error, 2)
		for _, instance := range []*voices.Voices{s.Voices, other} {
			go func() { ended <- s.attempt(instance, id, do) }()
		}
		<-s.cloner.began
		<-s.cloner.began // both are working
		release()
		require.NoError(t, <-ended)
		require.NoError(t, <-ended)
		ready := 0
		for _, event := range s.events(id) {
			if _, is := event.(voice.Ready); is {
				ready++
			}
		}
		require.Equal(t, 1, ready)
		for _, blob := range s.stored(voice.Stream(id) + ".") {
			require.True(t, s.state(id).Needs(blob), "whoever was second removes what it has stored")
		}
	}
	s.settle(t, s.Voices)
	s.requireOrder(t)
}

func TestAClonerThatPanicsEndsNoInstance(t *testing.T) {
	s := newStudio(t)
	account := s.Open("pro")
	id := s.create(wish(account, voice.Instant, sound(short, 440)))
	s.cloner.panics = true
	require.ErrorContains(t, s.attempt(s.Voices, id, (*voices.Voices).Prepare), "panicked")
	s.settle(t, s.Voices)
	require.Equal(t, voice.Speaking, s.state(id).Phase)
}
