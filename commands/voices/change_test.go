package voices_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/voice"
)

// profile opens the profile of a voice.
func (s *studio) profile(account, id string) (p voice.Profile) {
	s.T.Helper()
	plain, err := s.keys.Open(s.T.Context(), account, s.state(id).Sealed, voice.SealedFor(id))
	require.NoError(s.T, err)
	require.NoError(s.T, json.Unmarshal(plain, &p))
	return p
}

func TestOnlyWhatAClientNamesChanges(t *testing.T) {
	s := newStudio(t)
	account := s.Open("pro")
	id := s.create(wish(account, voice.Instant, sound(short, 440)))
	require.NotContains(t, string(s.state(id).Sealed), "Mine")
	updated, err := s.Update(t.Context(), account, id, voices.Change{Description: new("soft"), Gender: new("F"),
		Starred: new(true)}, origin)
	require.NoError(t, err)
	require.True(t, updated.Starred)
	require.Equal(t, s.state(id).Sealed, updated.State.Sealed)
	require.Equal(t, voice.Profile{Name: "Mine", Description: "soft", Gender: "F", Tags: []string{"warm"}},
		s.profile(account, id))
	before := len(s.events(id))
	updated, err = s.Update(t.Context(), account, id, voices.Change{Name: new("Mine"), Tags: &[]string{"warm"}}, origin)
	require.NoError(t, err)
	require.True(t, updated.Starred, "the star stays")
	require.Len(t, s.events(id), before, "what is so already is no event")
	s.Must(s.Update(t.Context(), account, id, voices.Change{Tags: &[]string{}, Starred: new(false)}, origin))
	require.Empty(t, s.profile(account, id).Tags)
	require.Empty(t, s.stars(account).Voices)
}

func TestAVoiceThatChangesOftenIsLoadedFromASnapshot(t *testing.T) {
	s := newStudio(t)
	account := s.Open("pro")
	id := s.ready(account)
	for i := range 2*voice.SnapshotEvery + 5 {
		_, err := s.Update(t.Context(), account, id, voices.Change{Name: new(strings.Repeat("x", i+1)),
			Starred: new(i%2 == 0)}, origin)
		require.NoError(t, err)
	}
	state := s.state(id)
	require.Less(t, state.SinceSnapshot, voice.SnapshotEvery)
	require.Less(t, s.stars(account).SinceSnapshot, 100)
	before := s.Log.Read(voice.Stream(id))
	s.Must(s.instance(s.Log, s.store, s.limits).Speaking(t.Context(), account, id))
	require.LessOrEqual(t, s.Log.Read(voice.Stream(id))-before, int64(voice.SnapshotEvery+1))
	s.requireOrder(t)
}

func TestVoicesOfOthers(t *testing.T) {
	s := newStudio(t)
	owner, other := s.Open("pro"), s.Open("pro")
	id := s.ready(owner)
	for _, of := range []string{id, strings.Repeat("0", 16), "", "../x", "voice-" + id, strings.ToUpper(id)} {
		_, err := s.Update(t.Context(), other, of, voices.Change{Starred: new(true)}, origin)
		require.Equal(t, domain.NotFound, domain.CodeOf(err), of)
		_, err = s.Delete(t.Context(), other, of, origin)
		require.Equal(t, domain.NotFound, domain.CodeOf(err), of)
		_, err = s.InvalidatePreview(t.Context(), other, of, origin)
		require.Equal(t, domain.NotFound, domain.CodeOf(err), of)
		_, err = s.Speaking(t.Context(), other, of)
		require.Equal(t, domain.NotFound, domain.CodeOf(err), of)
	}
	require.Empty(t, s.stars(other).Voices)

	// a system voice is only starred
	updated, err := s.Update(t.Context(), other, "leah", voices.Change{Name: new("Mine"), Starred: new(true)}, origin)
	require.NoError(t, err)
	require.True(t, updated.Starred)
	require.Equal(t, []string{"leah"}, s.stars(other).Voices)
	_, err = s.Update(t.Context(), other, "leah", voices.Change{Name: new("Mine")}, origin)
	require.Equal(t, domain.Denied, domain.CodeOf(err))
	_, err = s.Delete(t.Context(), other, "leah", origin)
	require.Equal(t, domain.Denied, domain.CodeOf(err))
	_, err = s.InvalidatePreview(t.Context(), other, "leah", origin)
	require.Equal(t, domain.Denied, domain.CodeOf(err))
	leah, err := s.Speaking(t.Context(), other, "leah")
	require.NoError(t, err)
	require.Equal(t, "f2", leah.Variant)
}

func TestAPreviewIsRenderedOnceAndAgainWhenItIsInvalid(t *testing.T) {
	s := newStudio(t)
	account := s.Open("pro")
	id := s.ready(account)
	first := s.state(id).Preview
	s.Must(s.RenderPreview(t.Context(), id, uuid.New()))
	require.Equal(t, first, s.state(id).Preview)
	before := len(s.stored(""))

	s.Must(s.InvalidatePreview(t.Context(), account, id, origin))
	require.NotContains(t, s.stored(""), first.Blob)
	s.Must(s.InvalidatePreview(t.Context(), account, id, origin))
	s.settle(t, s.Voices)
	require.NotEqual(t, first.Blob, s.state(id).Preview.Blob)
	require.Equal(t, first.SHA256, s.state(id).Preview.SHA256)
	require.Len(t, s.stored(""), before)
	s.requireOrder(t)
}
