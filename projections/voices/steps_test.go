package voices_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
)

// next returns the to-do lists that contain the voice, with the stream of the cause and the seconds from noon until it
// is due.
func (s *story) next() (steps []step) {
	s.t.Helper()
	return feedtest.Rows[step](s.t, s.w, `
		select process, stream, (extract(epoch from due_at - $2::timestamptz))::bigint from (
		select 'settle' as process, item, stream, due_at from read_v1.todo_settle_voice_place
		union all select 'prepare', item, stream, due_at from read_v1.todo_prepare_voice
		union all select 'train', item, stream, due_at from read_v1.todo_train_voice
		union all select 'render', item, stream, due_at from read_v1.todo_render_voice_preview
		union all select 'erase', item, stream, due_at from read_v1.todo_erase_voice) as lists where item = $1`, s.id, noon)
}

type step struct {
	Process, Stream string
	After           int64 // seconds
}

func TestAVoiceIsOnTheListOfItsNextStepAlone(t *testing.T) {
	w := suite.World(t)
	s := begin(t, w, "0123456789abcdef")
	later := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	is := func(process string, after int64) {
		t.Helper()
		require.Equal(t, []step{{process, voice.Stream(s.id), after}}, s.next())
	}
	w.Write(t, roster.Stream("a1"), roster.PlaceTaken{Account: "a1", Voice: s.id, Type: voice.Professional, At: noon})
	require.Equal(t, []step{{"settle", roster.Stream("a1"), 60}}, s.next(), "the account is known by the stream")

	s.happens(s.created(voice.Professional, later(1)))
	is("prepare", 1)
	s.happens(voice.Queued{Voice: s.id, Account: "a1", At: later(2)})
	is("train", 2)
	s.happens(voice.TrainingBegun{Voice: s.id, Account: "a1", At: later(3)})
	is("train", 2)
	s.happens(voice.Analysed{Voice: s.id, Account: "a1", Done: 1, Total: 2, At: later(4)})
	is("train", 4)
	s.happens(voice.Ready{Voice: s.id, Account: "a1", At: later(5)})
	is("render", 5)
	preview := voice.Preview{Blob: "p", SHA256: "h", Bytes: 9}
	rendered := voice.PreviewRendered{Voice: s.id, Account: "a1", Preview: preview, At: later(6)}
	s.happens(rendered)
	require.Empty(t, s.next())
	s.happens(voice.Changed{Voice: s.id, Account: "a1", Sealed: []byte("x"), At: later(7)})
	require.Empty(t, s.next())
	s.happens(voice.PreviewInvalidated{Voice: s.id, Account: "a1", Blob: "p", At: later(8)})
	is("render", 8)
	s.happens(rendered)
	s.happens(voice.Deleted{Voice: s.id, Account: "a1", At: later(9)})
	is("erase", 9)

	// it stays there until its end, although its place is freed earlier
	w.Append(t, roster.Stream("a1"), 0, roster.PlaceFreed{Account: "a1", Voice: s.id, Type: voice.Professional, At: noon})
	is("erase", 9)
	s.happens(voice.Erased{Voice: s.id, Account: "a1", At: noon})
	require.Empty(t, s.next())
}

func TestWhatEndsAStep(t *testing.T) {
	w := suite.World(t)
	broken := begin(t, w, "000000000000000b")
	broken.happens(broken.created(voice.Instant, noon))
	broken.happens(broken.broken())
	require.Empty(t, broken.next())

	cancelled := begin(t, w, "000000000000000c")
	cancelled.happens(cancelled.created(voice.Instant, noon), voice.Cancelled{Voice: cancelled.id, Account: "a1",
		At: noon},
		voice.Deleted{Voice: cancelled.id, Account: "a1", At: noon})
	require.Equal(t, "erase", cancelled.next()[0].Process)

	// a place whose voice was never created is on the list until it is freed
	s := begin(t, w, "000000000000000a")
	w.Write(t, roster.Stream("a1"), roster.PlaceTaken{Account: "a1", Voice: s.id, Type: voice.Instant, At: noon})
	s.happens(voice.Abandoned{Voice: s.id, Account: "a1", At: noon})
	require.Len(t, s.next(), 1)
	w.Append(t, roster.Stream("a1"), 0,
		roster.PlaceFreed{Account: "a1", Voice: s.id, Type: voice.Instant, Abandoned: true, At: noon})
	require.Empty(t, s.next())
}

func TestEachStepOfTrainingIsAnItemOfItsOwn(t *testing.T) {
	w := suite.World(t)
	s := begin(t, w, "0123456789abcdef")
	s.happens(s.created(voice.Professional, noon), voice.Queued{Voice: s.id, Account: "a1", At: noon})
	cause := func() string {
		return feedtest.Rows[struct{ Cause string }](t, w, `select cause from read_v1.todo_train_voice`)[0].Cause
	}
	before := cause()
	s.happens(voice.Analysed{Voice: s.id, Account: "a1", Done: 1, Total: 2, At: noon})
	require.NotEqual(t, before, cause())
}
