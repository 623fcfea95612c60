package voices_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	voicesevents "github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain/star"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/projections/voices"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 22, 12, 30, 15, 123_456_000, time.UTC)

var suite = feedtest.Suite{
	Events:      voicesevents.Events(),
	Projections: voices.ReadModels(),
}

func TestReleasedReadModels(t *testing.T) { suite.RequireReleased(t) }

// story has the events of one voice.
type story struct {
	t        *testing.T
	w        *feedtest.World
	id       string
	revision eventlog.Revision
}

func begin(t *testing.T, w *feedtest.World, id string) *story {
	return &story{t: t, w: w, id: id, revision: eventlog.NoStream}
}

func (s *story) happens(events ...any) {
	s.t.Helper()
	s.revision = s.w.Append(s.t, voice.Stream(s.id), s.revision, events...)
}

func (s *story) created(of voice.Type, at time.Time) voice.Created {
	return voice.Created{
		Voice: s.id, Account: "a1", Type: of, Sealed: []byte("sealed " + s.id), At: at,
		Recordings: []voice.Recording{{Blob: "b", Bytes: 1, SHA256: "h"}},
	}
}

func (s *story) broken() voice.Broken {
	return voice.Broken{Voice: s.id, Account: "a1", Reason: "silent", Message: "There is no speech", At: noon}
}

type row struct {
	Type, State, Reason, Sealed string
	Starred                     bool
	CreatedAt                   time.Time
}

func (s *story) rows() []row {
	s.t.Helper()
	return feedtest.Rows[row](s.t, s.w, `select type, state, reason, convert_from(sealed, 'utf8'), starred, created_at
		from read_v1.voices where voice_id = $1 and account_id = 'a1'`, s.id)
}

func TestAVoiceFromItsCreationToItsEnd(t *testing.T) {
	w := suite.World(t)
	s := begin(t, w, "0123456789abcdef")
	requireRow := func(want row) {
		t.Helper()
		want.CreatedAt = noon
		require.Equal(t, []row{want}, s.rows())
	}
	want := row{Type: "professional", State: "preparing", Sealed: "sealed " + s.id}
	s.happens(s.created(voice.Professional, noon))
	requireRow(want)

	s.happens(voice.Queued{Voice: s.id, Account: "a1", At: noon})
	want.State = "pending"
	requireRow(want)

	s.happens(voice.TrainingBegun{Voice: s.id, Account: "a1", At: noon})
	s.happens(voice.Analysed{Voice: s.id, Account: "a1", Done: 1, Total: 1, At: noon})
	want.State = "training"
	requireRow(want)

	s.happens(voice.Ready{Voice: s.id, Account: "a1", At: noon})
	want.State = "ready"
	requireRow(want)

	preview := voice.Preview{Blob: "p", SHA256: "h", Bytes: 9}
	s.happens(voice.PreviewRendered{Voice: s.id, Account: "a1", Preview: preview, At: noon.Add(time.Second)})
	requireRow(want)

	s.happens(voice.Changed{Voice: s.id, Account: "a1", Sealed: []byte("other"), At: noon},
		voice.PreviewInvalidated{Voice: s.id, Account: "a1", Blob: "p", At: noon.Add(time.Minute)})
	w.Write(t, star.Stream("a1"), star.Starred{Account: "a1", Voice: s.id, At: noon})
	want.Sealed, want.Starred = "other", true
	requireRow(want)

	s.happens(voice.Deleted{Voice: s.id, Account: "a1", At: noon})
	require.Empty(t, s.rows())
}

func TestABrokenVoiceSaysWhy(t *testing.T) {
	s := begin(t, suite.World(t), "0123456789abcdef")
	s.happens(s.created(voice.Instant, noon), s.broken())
	want := row{Type: "instant", State: "broken", Reason: "There is no speech", Sealed: "sealed " + s.id, CreatedAt: noon}
	require.Equal(t, []row{want}, s.rows())
}

func TestStars(t *testing.T) {
	w := suite.World(t)
	type starred struct{ Account, Voice string }
	list := func() []starred {
		return feedtest.Rows[starred](t, w, `select account_id, voice_id from read_v1.stars order by account_id, voice_id`)
	}
	w.Write(t, star.Stream("a1"),
		star.Starred{Account: "a1", Voice: "leah", At: noon}, star.Starred{Account: "a1", Voice: "ava", At: noon})
	w.Write(t, star.Stream("a2"), star.Starred{Account: "a2", Voice: "leah", At: noon})
	require.Equal(t, []starred{{"a1", "ava"}, {"a1", "leah"}, {"a2", "leah"}}, list())
	w.Append(t, star.Stream("a1"), 1, star.Unstarred{Account: "a1", Voice: "leah", At: noon})
	require.Equal(t, []starred{{"a1", "ava"}, {"a2", "leah"}}, list())
}
