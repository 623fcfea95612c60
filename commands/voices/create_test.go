package voices_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
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
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

const short = 300 * time.Millisecond

func TestAnInstantVoiceIsMade(t *testing.T) {
	s := newStudio(t)
	account := s.Open("pro")
	made, err := s.Create(t.Context(), wish(account, voice.Instant, sound(short, 440), sound(short, 220)), origin)
	require.NoError(t, err)
	require.True(t, voice.ValidID(made.ID))
	require.Equal(t, voice.Preparing, made.State.Phase)
	require.Equal(t, []roster.Place{{Voice: made.ID, Type: voice.Instant}}, s.roster(account).Places)
	require.Len(t, s.stored(""), 2)
	_, err = s.Speaking(t.Context(), account, made.ID)
	require.Equal(t, domain.Conflict, domain.CodeOf(err), "not yet")

	s.settle(t, s.Voices)
	state := s.state(made.ID)
	require.Equal(t, voice.Speaking, state.Phase)
	require.Len(t, state.Analyses, 2)
	require.EqualValues(t, short.Milliseconds(), state.Analyses[0].Speech)
	speaks, err := s.Speaking(t.Context(), account, made.ID)
	require.NoError(t, err)
	require.Equal(t, made.ID, speaks.ID)
	require.Equal(t, "f2", speaks.Variant)
	s.requireOrder(t)

	// the same files result in the same voice
	again := s.create(wish(account, voice.Instant, sound(short, 440), sound(short, 220)))
	s.settle(t, s.Voices)
	require.Equal(t, state.Model.SHA256, s.state(again).Model.SHA256)
	other := s.create(wish(account, voice.Instant, sound(short, 220), sound(short, 440)))
	s.settle(t, s.Voices)
	require.NotEqual(t, state.Model.SHA256, s.state(other).Model.SHA256)
}

func TestAProfessionalVoiceIsTrainedStretchByStretch(t *testing.T) {
	s := newStudio(t)
	account := s.Open("pro")
	id := s.create(wish(account, voice.Professional, sound(600*time.Millisecond, 440), sound(260*time.Millisecond, 220)))
	s.carryOut(t, s.Voices, id, (*voices.Voices).Prepare)
	require.Equal(t, voice.Pending, s.state(id).Phase)
	require.Equal(t, []int64{600, 260}, s.state(id).Lengths)
	s.carryOut(t, s.Voices, id, (*voices.Voices).Train)
	var stretches []string
	for _, event := range s.events(id) {
		if e, is := event.(voice.Analysed); is {
			stretches = append(stretches, fmt.Sprintf("%d:%d+%d %d/%d", e.Recording, e.From, e.Length, e.Done, e.Total))
		}
	}
	require.Equal(t, []string{"0:0+250 1/5", "0:250+250 2/5", "0:500+100 3/5", "1:0+250 4/5", "1:250+10 5/5"}, stretches)
	require.Equal(t, voice.Speaking, s.state(id).Phase)
	s.settle(t, s.Voices)
	s.requireOrder(t)
}

func TestATrainingGoesOnWhereItWas(t *testing.T) {
	s := newStudio(t)
	account := s.Open("pro")
	id := s.create(wish(account, voice.Professional, sound(time.Second, 440)))
	s.carryOut(t, s.Voices, id, (*voices.Voices).Prepare)
	before := s.cloner.count()
	f := &commandstest.Fuse{At: 6} // begun; a blob and an event for each of two stretches; and the third blob
	require.ErrorIs(t, s.attempt(s.mortal(f), id, (*voices.Voices).Train), commandstest.ErrDead)
	require.Len(t, s.state(id).Analyses, 2)
	s.settle(t, s.Voices)
	require.Equal(t, voice.Speaking, s.state(id).Phase)
	require.Equal(t, before+5, s.cloner.count(), "four stretches, and the third one twice")
	s.requireOrder(t)
}

func TestWhatNoVoiceCanBeMadeOf(t *testing.T) {
	s := newStudio(t)
	account := s.Open("pro")
	nothing, tone := file(noise(5000)), sound(short, 440)
	for name, c := range map[string]struct {
		of      voice.Type
		files   []voices.File
		message string
	}{
		"no audio":               {voice.Instant, []voices.File{nothing}, "audio"},
		"no audio in the second": {voice.Instant, []voices.File{tone, nothing}, "File 2: "},
		"silence":                {voice.Instant, []voices.File{sound(short, 0)}, "There is no speech"},
		"too long together": {voice.Instant,
			[]voices.File{sound(3*time.Second, 440), sound(3*time.Second, 440)},
			"File 2: The recordings are longer than 4s in all"},
		"too short for a professional": {voice.Professional, []voices.File{tone}, "0 minutes of speech"},
		"too much silence for a professional": {voice.Professional, []voices.File{tone, sound(time.Second, 0)},
			"0 minutes of speech"},
	} {
		t.Run(name, func(t *testing.T) {
			id := s.create(wish(account, c.of, c.files...))
			s.settle(t, s.Voices)
			state := s.state(id)
			require.Equal(t, voice.Unusable, state.Phase)
			require.NotEmpty(t, state.Reason)
			require.Contains(t, state.Message, c.message)
			_, err := s.Speaking(t.Context(), account, id)
			require.Equal(t, domain.Rejected, domain.CodeOf(err))
			s.Must(s.Delete(t.Context(), account, id, origin))
		})
	}
	s.settle(t, s.Voices)
	s.requireOrder(t)
	require.Empty(t, s.stored(""))
}

func TestWhatIsRefusedLeavesNothing(t *testing.T) {
	s := newStudio(t)
	account := s.Open("free")
	tone := sound(short, 440)
	many := make([]voices.File, voice.MaxRecordings+1)
	for i := range many {
		many[i] = tone
	}
	for name, c := range map[string]struct {
		creation voices.Creation
		refused  domain.Code
	}{
		"no file":        {wish(account, voice.Instant), domain.Invalid},
		"too many files": {wish(account, voice.Instant, many...), domain.Invalid},
		"an empty file":  {wish(account, voice.Instant, tone, file(nil)), domain.Invalid},
		"a long profile": {func() voices.Creation {
			c := wish(account, voice.Instant, tone)
			c.Profile.Description = strings.Repeat("x", 1<<17)
			return c
		}(), domain.Invalid},
		"beyond the plan": {func() voices.Creation {
			c := wish(account, voice.Professional,
				tone)
			c.Plan = plan.Free
			return c
		}(), domain.PaymentRequired},
	} {
		_, err := s.Create(t.Context(), c.creation, origin)
		require.Equal(t, c.refused, domain.CodeOf(err), name)
		require.Empty(t, s.stored(""), name)
		require.Empty(t, s.roster(account).Places, name)
	}
}

// deadlines fails to store the third blob, and records the deadline of each deletion.
type deadlines struct {
	blobs.Store
	puts    int
	deletes []time.Time
}

func (d *deadlines) Put(ctx context.Context, a blobs.Address, r io.Reader, size int64) (blobs.Blob, error) {
	if d.puts++; d.puts == 3 {
		return blobs.Blob{}, errors.New("the disk is full")
	}
	return d.Store.Put(ctx, a, r, size)
}

func (d *deadlines) Delete(ctx context.Context, address blobs.Address) error {
	deadline, _ := ctx.Deadline()
	d.deletes = append(d.deletes, deadline)
	return d.Store.Delete(ctx, address)
}

// A refused request cleans up within one time limit, however many recordings it has stored.
func TestTheRemovalOfAllRecordingsHasOneDeadline(t *testing.T) {
	s := newStudio(t)
	store := &deadlines{Store: s.store}
	tone := sound(short, 440)
	_, err := s.instance(s.Log, store, s.limits).Create(t.Context(),
		wish(s.Open("free"), voice.Instant, tone, tone, tone), origin)
	require.ErrorContains(t, err, "the disk is full")
	require.Len(t, store.deletes, 2)
	require.Equal(t, store.deletes[0], store.deletes[1])
	require.False(t, store.deletes[0].IsZero())
	require.Empty(t, s.stored(""))
}

func TestPlacesOfAPlan(t *testing.T) {
	s := newStudio(t)
	account := s.Open("free")
	c := wish(account, voice.Instant, sound(short, 440))
	c.Plan = plan.Free
	var ids []string
	for range 5 {
		require.NoError(t, s.Room(t.Context(), account, plan.Free))
		ids = append(ids, s.create(c))
	}
	_, err := s.Create(t.Context(), c, origin)
	require.Equal(t, domain.PaymentRequired, domain.CodeOf(err))
	require.ErrorContains(t, err, "The plan includes 5 instant voices")
	require.Equal(t, domain.PaymentRequired, domain.CodeOf(s.Room(t.Context(), account, plan.Free)))
	require.NoError(t, s.Room(t.Context(), account, plan.Indie), "it has room on another plan")

	// when one is deleted, a place is free immediately
	s.Must(s.Delete(t.Context(), account, ids[0], origin))
	s.create(c)

	// and existing voices are kept on a smaller plan
	c.Plan = plan.Pro
	s.create(c)
	c.Plan = plan.Free
	_, err = s.Create(t.Context(), c, origin)
	require.Equal(t, domain.PaymentRequired, domain.CodeOf(err))
	require.Len(t, s.roster(account).Places, 6)
}

func TestARequestIsRepeatedUnderItsKey(t *testing.T) {
	s := newStudio(t)
	account := s.Open("pro")
	c := wish(account, voice.Instant, sound(short, 440))
	c.Repetition = domain.Repetition{Key: "k1", Content: "c1"}
	first := s.create(c)
	require.Equal(t, first, s.create(c))
	other := c
	other.Repetition.Content = "c2"
	_, err := s.Create(t.Context(), other, origin)
	require.ErrorIs(t, err, domain.ErrKeyReused)
	require.Len(t, s.roster(account).Places, 1)
	require.Len(t, s.stored(""), 1)

	// when the first one was interrupted after it had its place, then it is under way until the place is settled
	c.Repetition = domain.Repetition{Key: "k2", Content: "c1"}
	_, err = s.mortal(&commandstest.Fuse{At: 2, After: true}).Create(t.Context(), c, origin)
	require.ErrorIs(t, err, commandstest.ErrDead)
	_, err = s.Create(t.Context(), c, origin)
	require.ErrorIs(t, err, voices.ErrUnderway)
	s.settle(t, s.Voices)
	second := s.create(c)
	require.NotEqual(t, first, second)
	s.settle(t, s.Voices)

	// a deleted voice is not created again within a day
	s.Must(s.Delete(t.Context(), account, second, origin))
	_, err = s.Create(t.Context(), c, origin)
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
	s.pass(domain.RememberedFor)
	require.NotEqual(t, second, s.create(c))
	s.settle(t, s.Voices)
	s.requireOrder(t)
}

func TestOneOfManyRepetitionsAtOnceCreatesTheVoice(t *testing.T) {
	s := newStudio(t)
	c := wish(s.Open("pro"), voice.Instant, sound(short, 440))
	c.Repetition = domain.Repetition{Key: "k", Content: "c"}
	type outcome struct {
		made voices.Voice
		err  error
	}
	outcomes := make(chan outcome, 8)
	for range cap(outcomes) {
		go func() {
			made, err := s.Create(t.Context(), c, origin)
			outcomes <- outcome{made, err}
		}()
	}
	made := map[string]bool{}
	for range cap(outcomes) {
		if o := <-outcomes; o.err == nil {
			made[o.made.ID] = true
		} else {
			require.ErrorIs(t, o.err, voices.ErrUnderway)
		}
	}
	require.Len(t, made, 1)
	s.settle(t, s.Voices)
	require.Len(t, s.roster(c.Account).Places, 1)
	s.requireOrder(t)
}

func TestARequestWaitsForItsInstantVoice(t *testing.T) {
	s := newStudio(t)
	limits := s.limits
	limits.Wait = time.Hour
	here, elsewhere := s.instance(s.Log, s.store, limits), s.Voices
	for name, maker := range map[string]*voices.Voices{"made here": here, "made by another instance": elsewhere} {
		t.Run(name, func(t *testing.T) {
			account := s.Open("pro")
			made := make(chan voices.Voice, 1)
			go func() {
				v, err := here.Create(t.Context(), wish(account, voice.Instant, sound(short, 440)), origin)
				if err == nil {
					made <- v
				}
				close(made)
			}()
			require.Eventually(t, func() bool {
				places := s.roster(account).Places
				return len(places) == 1 && s.state(places[0].Voice).Phase == voice.Preparing
			}, time.Minute, time.Millisecond)
			s.carryOut(t, maker, s.roster(account).Places[0].Voice, (*voices.Voices).Prepare)
			v, ok := <-made
			require.True(t, ok)
			require.Equal(t, voice.Speaking, v.State.Phase)
		})
	}
	t.Run("not when the client has left", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		account := s.Open("pro")
		go func() {
			_, err := here.Create(ctx, wish(account, voice.Instant, sound(short, 440)), origin)
			ended <- err
		}()
		require.Eventually(t, func() bool { return len(s.roster(account).Places) == 1 }, time.Minute, time.Millisecond)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		s.settle(t, s.Voices)
	})
	s.requireOrder(t)
}

// A slow creator gets an error if its place was settled, or its recordings swept, in the meantime: no voice ever lacks
// its recordings.
func TestACreatorThatIsOnlySlow(t *testing.T) {
	for name, meanwhile := range map[string]func(s *studio, account, id string){
		"its place is settled": func(s *studio, account, id string) {
			_, err := s.SettlePlace(t.Context(), account, id, uuid.New())
			require.NoError(t, err)
		},
		"its recordings are swept": func(s *studio, _, _ string) {
			s.pass(2 * time.Hour)
			removed, err := s.Sweep(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, removed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStudio(t)
			account := s.Open("pro")
			slow := s.instance(&slowLog{Log: s.Log, before: func(id string) { meanwhile(s, account, id) }}, s.store, s.limits)
			_, err := slow.Create(t.Context(), wish(account, voice.Instant, sound(short, 440)), origin)
			require.Equal(t, domain.Unavailable, domain.CodeOf(err))
			require.Empty(t, s.stored(""))
			s.settle(t, s.Voices)
			require.Empty(t, s.roster(account).Places)
			s.requireOrder(t)
		})
	}
}

// slowLog calls before ahead of the creation of a voice.
type slowLog struct {
	eventlog.Log
	once   sync.Once
	before func(id string)
}

func (l *slowLog) Append(
	ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) (eventlog.Appended, error) {
	if id, is := strings.CutPrefix(stream, voice.StreamPrefix); is {
		l.once.Do(func() { l.before(id) })
	}
	return l.Log.Append(ctx, stream, expected, events)
}
