package voices_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/testing/longtest"
	"github.com/recital-tts/recital/internal/testing/proptest"
)

// After a crash at any change in the log or the store, before or after it, while a voice is created, made, changed or
// deleted: the to-dos result in a stable state, and in the deletion or outcome that was reported.
func TestACrashAnywhereIsRepaired(t *testing.T) {
	longtest.Only(t)
	s := newStudio(t)
	account := s.Open("pro")
	create := func(of voice.Type, length time.Duration) func(v *voices.Voices, id string) error {
		return func(v *voices.Voices, _ string) error {
			_, err := v.Create(t.Context(), wish(account, of, sound(length, 440), sound(length, 220)), origin)
			return err
		}
	}
	whatIsDue := func(v *voices.Voices, id string) error {
		for do := s.due(id); do != nil; do = s.due(id) {
			if err := s.attempt(v, id, do); err != nil {
				return err
			}
		}
		return nil
	}
	for name, c := range map[string]struct {
		given func() string
		do    func(v *voices.Voices, id string) error
		least int // minimum number of changes
	}{
		"create an instant voice":     {func() string { return "" }, create(voice.Instant, short), 4},
		"create a professional voice": {func() string { return "" }, create(voice.Professional, short), 4},
		"make an instant voice": {func() string { return s.create(wish(account, voice.Instant, sound(short, 440))) },
			whatIsDue, 6},
		"make a professional voice": {
			func() string { return s.create(wish(account, voice.Professional, sound(2*stretch, 440))) }, whatIsDue, 10},
		"break a voice": {func() string { return s.create(wish(account, voice.Instant, sound(short, 0))) },
			whatIsDue, 3},
		"invalidate its preview": {func() string { return s.ready(account) }, func(v *voices.Voices, id string) error {
			_, err := v.InvalidatePreview(t.Context(), account, id, origin)
			return err
		}, 2},
		"delete a voice": {func() string {
			id := s.ready(account)
			s.Must(s.Update(t.Context(), account, id, voices.Change{Starred: new(true)}, origin))
			return id
		}, func(v *voices.Voices, id string) error {
			if _, err := v.Delete(t.Context(), account, id, origin); err != nil {
				return err
			}
			return whatIsDue(v, id)
		}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			for at := 1; ; at++ {
				for _, after := range commandstest.Sides(at) {
					id := c.given()
					f := &commandstest.Fuse{At: at, After: after}
					dying := s.mortal(f)
					err := c.do(dying, id)
					require.NoError(t, dying.Close())
					if !f.Blown() {
						require.NoError(t, err)
						require.Greater(t, at, c.least)
						s.clear(t, account)
						return
					}
					s.settle(t, s.Voices)
					s.requireOrder(t)
					s.clear(t, account)
				}
			}
		})
	}
}

// clear deletes all voices of an account.
func (s *studio) clear(t require.TestingT, account string) {
	for _, place := range s.roster(account).Places {
		_, err := s.Delete(s.T.Context(), account, place.Voice, origin)
		if domain.CodeOf(err) != domain.NotFound {
			require.NoError(t, err)
		}
	}
	s.settle(t, s.Voices)
	require.Empty(t, s.roster(account).Places)
}

// No sequence of commands, crashes and repeated to-dos leaves a voice in an invalid state, or loses a place or leaves a
// blob. Reported outcomes are final.
func TestNoSequenceLeavesAVoiceOutsideItsStates(t *testing.T) {
	s := newStudio(t)
	files := map[string]voices.File{
		"tone": sound(short, 440), "long tone": sound(2*stretch, 330), "silence": sound(short, 0),
		"nothing": file(noise(4000)),
	}
	processes := map[string]process{
		"settle": func(v *voices.Voices, ctx context.Context, id string, cause uuid.UUID) (eventlog.Position, error) {
			return v.SettlePlace(ctx, s.state(id).Account, id, cause)
		},
		"prepare": (*voices.Voices).Prepare, "train": (*voices.Voices).Train, "preview": (*voices.Voices).RenderPreview,
		"erase": (*voices.Voices).Erase,
	}
	proptest.Check(t, 4, func(draw *rapid.T) {
		account := s.Open("pro")
		var known []string                 // voices that were returned
		deleted := map[string]bool{}       // those whose deletion succeeded
		maybeGone := map[string]bool{}     // those whose deletion was interrupted
		former := map[string]voice.Phase{} // the last observed phase of each
		keys := map[string]string{}        // the voice that was returned for a key
		for range rapid.IntRange(1, 12).Draw(draw, "steps") {
			instance := s.Voices
			var f *commandstest.Fuse
			if rapid.IntRange(0, 2).Draw(draw, "crash") == 0 {
				f = &commandstest.Fuse{At: rapid.IntRange(1, 6).Draw(draw, "at"), After: rapid.Bool().Draw(draw, "after")}
				instance = s.mortal(f)
			}
			id := ""
			if len(known) > 0 {
				id = rapid.SampledFrom(known).Draw(draw, "voice")
			}
			step := rapid.SampledFrom([]string{"create", "create", "delete", "update", "star", "invalidate", "process",
				"process", "process", "settle all"}).Draw(draw, "step")
			var err error
			switch {
			case step == "create" || id == "":
				of := rapid.SampledFrom([]voice.Type{voice.Instant, voice.Professional}).Draw(draw, "type")
				c := wish(account, of,
					files[rapid.SampledFrom([]string{"tone", "long tone", "long tone", "silence", "nothing"}).Draw(draw, "file")])
				c.Repetition.Key = rapid.SampledFrom([]string{"", "", account + "1", account + "2"}).Draw(draw, "key")
				c.Repetition.Content = c.Repetition.Key + string(of)
				var made voices.Voice
				if made, err = instance.Create(t.Context(), c, origin); err == nil {
					if c.Repetition.Key != "" {
						require.Contains(draw, []string{"", made.ID}, keys[c.Repetition.Key], "a key is one voice's")
						keys[c.Repetition.Key] = made.ID
					}
					known = append(known, made.ID)
				}
			case step == "delete":
				if _, err = instance.Delete(t.Context(), account, id, origin); err == nil {
					deleted[id] = true
				}
				maybeGone[id] = true
			case step == "update", step == "star":
				c := voices.Change{Name: new(fmt.Sprint(rapid.Int().Draw(draw, "name")))}
				if step == "star" {
					c = voices.Change{Starred: new(rapid.Bool().Draw(draw, "starred"))}
				}
				_, err = instance.Update(t.Context(), account, id, c, origin)
			case step == "invalidate":
				_, err = instance.InvalidatePreview(t.Context(), account, id, origin)
			case step == "process":
				err = s.attempt(instance, id,
					processes[rapid.SampledFrom([]string{"settle", "prepare", "train", "preview", "erase"}).Draw(draw, "process")])
			default:
				s.settle(draw, s.Voices)
			}
			if f != nil {
				require.NoError(draw, instance.Close())
			}
			if err != nil && domain.CodeOf(err) == "" && (f == nil || !f.Blown() || !errors.Is(err, commandstest.ErrDead)) {
				draw.Fatalf("%s: %v", step, err)
			}
			for _, one := range known {
				state := s.state(one)
				require.Contains(draw, successors()[former[one]], state.Phase)
				former[one] = state.Phase
			}
		}
		s.settle(draw, s.Voices)
		s.requireOrder(draw)
		for _, id := range known {
			state := s.state(id)
			require.NotZero(draw, state.Phase, "what was answered is in the log")
			require.True(draw, state.Deleted || !deleted[id])
			require.True(draw, !state.Deleted || maybeGone[id])
		}
		require.NoError(draw, s.EndFor(t.Context(), account))
		require.NoError(draw, s.EraseFor(t.Context(), account))
		require.Empty(draw, s.roster(account).Places)
		s.requireOrder(draw)
	})
}

// successors returns the possible phases of a voice after a phase.
func successors() map[voice.Phase][]voice.Phase {
	all := []voice.Phase{voice.Preparing, voice.Pending, voice.Training, voice.Speaking, voice.Unusable, voice.Withdrawn}
	return map[voice.Phase][]voice.Phase{
		"": all, voice.Preparing: all, voice.Pending: all[1:], voice.Training: all[2:],
		voice.Speaking: {voice.Speaking}, voice.Unusable: {voice.Unusable}, voice.Withdrawn: {voice.Withdrawn},
	}
}
