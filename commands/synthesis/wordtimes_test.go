package synthesis_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/wordtimes"
	"github.com/recital-tts/recital/internal/testing/longtest"
	"github.com/recital-tts/recital/internal/testing/proptest"
)

// keepTimes makes the archive store word times, too.
func (a *archive) keepTimes() *wordtimes.Store {
	store := wordtimes.New(a.Keys, a.Store, time.Now)
	a.Synthesiser.WordTimes, a.Synthesiser.Logger = store, a.Logger()
	return store
}

// timed returns a synthesis with stored word times.
func timed(id, text string, format audio.Format) synthesis.Synthesis {
	o := order(id, text, format)
	o.StoreTimes = true
	return o
}

func joined(timings []speech.Timing) string {
	var text strings.Builder
	for _, timing := range timings {
		text.WriteString(timing.Text)
	}
	return text.String()
}

func TestTheTimesOfAReplyCanBeReadWhenItHasEnded(t *testing.T) {
	a := newArchive(t)
	store := a.keepTimes()
	account := a.Open("indie")

	// given the times of a recording
	recording, err := a.begin(t.Context(), collected(timed(account, story, audio.MP3))).Whole(t.Context())
	require.NoError(t, err)
	require.Empty(t, a.Files(), "a recording has its times itself")

	// when the same text is streamed, then its times cannot be read before it has ended, and are the same then
	reply := a.begin(t.Context(), timed(account, story, audio.MP3))
	require.NotEmpty(t, reply.WordTimes())
	_, err = store.Find(t.Context(), reply.WordTimes())
	require.ErrorIs(t, err, wordtimes.ErrNotFound)
	require.NoError(t, reply.Write(t.Context(), io.Discard))
	times, err := store.Find(t.Context(), reply.WordTimes())
	require.NoError(t, err)
	require.Equal(t, recording.Timings, times)
	require.Equal(t, story, joined(times))
	require.Equal(t, []readmodel.Model{readmodel.Usage}, a.models.models, "nothing more is waited for")

	// and a reply that does not request them stores none
	files := len(a.Files())
	reply = a.begin(t.Context(), order(account, story, audio.MP3))
	require.Empty(t, reply.WordTimes())
	require.NoError(t, reply.Write(t.Context(), io.Discard))
	require.Len(t, a.Files(), files)
}

// A client that disconnects can read the times of the part that it has paid for.
func TestTheTimesOfACutReplyAreThoseOfWhatWasHandedOver(t *testing.T) {
	longtest.Only(t)
	a := newArchive(t)
	store := a.keepTimes()
	account := a.Open("enterprise")
	_, ends := a.segments(story)
	a.Encoders = untouched{}
	proptest.Check(t, 4, func(r *rapid.T) {
		takes := rapid.Int64Range(0, ends[len(ends)-1]-1).Draw(r, "bytes that the client takes")
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		reply := a.begin(ctx, timed(account, story, audio.Raw))
		require.ErrorIs(r, reply.Write(ctx, &client{takes: takes, then: cancel}), errHungUp)

		settled := a.Books(account).SettledBy[reply.ID()]
		times, err := store.Find(t.Context(), reply.WordTimes())
		if settled == 0 {
			require.ErrorIs(r, err, wordtimes.ErrNotFound)
			return
		}
		require.NoError(r, err)
		require.True(r, strings.HasPrefix(story, joined(times)))
		require.EqualValues(r, settled, utf8.RuneCountInString(joined(times)))
	})
}

func TestTimesThatCannotBeKeptCostNoReply(t *testing.T) {
	for name, breaks := range map[string]func(a *archive, account string) error{
		"no disk":           func(a *archive, _ string) error { return os.RemoveAll(a.Dir) },
		"an erased account": func(a *archive, account string) error { return a.Keys.Erase(t.Context(), account) },
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			a.keepTimes()
			account := a.Open("indie")
			require.NoError(t, breaks(a, account))
			var got bytes.Buffer
			require.NoError(t, a.begin(t.Context(), timed(account, story, audio.MP3)).Write(t.Context(), &got))
			require.Greater(t, got.Len(), 10_000)
			require.EqualValues(t, utf8.RuneCountInString(story), a.Books(account).Settled)
			require.Contains(t, a.Logged.String(), "word times were not stored")
			require.NotContains(t, a.Logged.String(), "Once upon")
		})
	}
}

func TestAClipAndItsTimesAreKeptBesideEachOther(t *testing.T) {
	a := newArchive(t)
	store := a.keepTimes()
	o := keep(a.Open("indie"), story, audio.MP3)
	o.StoreTimes = true
	reply := a.begin(t.Context(), o)
	require.NoError(t, reply.Write(t.Context(), io.Discard))
	require.Len(t, a.Kept(), 2)
	times, err := store.Find(t.Context(), reply.WordTimes())
	require.NoError(t, err)
	require.Equal(t, story, joined(times))

	// the sweep of clips keeps times, and the sweep of times keeps clips
	a.late = 2 * time.Hour
	removed, err := a.clips.Sweep(t.Context(), showsNothing)
	require.NoError(t, err)
	require.Zero(t, removed)
	late := wordtimes.New(a.Keys, a.Store, func() time.Time { return time.Now().Add(wordtimes.Kept) })
	erased, err := late.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, erased)
	require.Equal(t, a.saved(reply.Clip()).Blob, string(a.Kept()[0]))
}
