package clips_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
)

type clipRow struct {
	ID, Voice, Language, Blob, MediaType, SealedFor string
	Speed                                           float64
	Characters, Bytes                               int64
	Debug                                           bool
	SavedAt                                         time.Time
	Sealed                                          []byte
}

const clipRows = `select clip_id, voice, language, blob, media_type, sealed_for, speed, characters, bytes, debug, saved_at, sealed
from read_v2.clips where account_id = $1 order by clip_id`

func TestClips(t *testing.T) {
	w := suite.World(t)
	saved := func(n int) clip.Saved {
		return clip.Saved{
			Clip: fmt.Sprint("c", n), Account: "a1", Voice: "leah", Language: "en-us", Speed: 0.1 + 0.2, MediaType: "audio/mpeg",
			Characters: int64(n), Blob: fmt.Sprint("b", n), Bytes: 1 << 40, Debug: n%2 == 1, Sealed: []byte{0, 255, byte(n)}, At: now,
		}
	}
	row := func(n int) clipRow {
		s := saved(n)
		return clipRow{s.Clip, s.Voice, s.Language, s.Blob, s.MediaType, clip.SealedFor(s.Clip), s.Speed, s.Characters, s.Bytes, s.Debug, now, s.Sealed}
	}

	w.Write(t, "clip-c1", saved(1))
	w.Write(t, "clip-c2", saved(2), clip.Deleted{Clip: "c2", Account: "a1", Blob: "b2", At: now})
	w.Write(t, "clip-c3", saved(3))
	require.Equal(t, []clipRow{row(1), row(3)}, feedtest.Rows[clipRow](t, w, clipRows, "a1"))
	require.Empty(t, feedtest.Rows[clipRow](t, w, clipRows, "a2"))
}

func TestClosedAccountsAreListedAsLongAsTheyHaveClips(t *testing.T) {
	w := suite.World(t)
	type listed struct{ Account string }
	list := func() []listed {
		return feedtest.Rows[listed](t, w, `select item from read_v2.todo_erase_clips order by item`)
	}
	save := func(id string) {
		w.Write(t, clip.Stream(id), clip.Saved{Clip: id, Account: "a1", Blob: "b", Bytes: 1, Sealed: []byte{1}, At: now})
	}
	remove := func(id string) { w.Append(t, clip.Stream(id), 0, clip.Deleted{Clip: id, Account: "a1", At: now}) }
	save("1")
	require.Empty(t, list(), "it is open")
	w.Write(t, account.Stream("a2"), account.Closed{Account: "a2", At: now})
	closed := w.Append(t, account.Stream("a1"), eventlog.NoStream, account.Closed{Account: "a1", At: now})
	require.Equal(t, []listed{{"a1"}}, list())
	remove("1")
	require.Empty(t, list())

	// when one is saved late, then until it is deleted
	save("2")
	require.Equal(t, []listed{{"a1"}}, list())
	remove("2")
	require.Empty(t, list())

	// and at the end of the closing nothing is left of the account
	w.Append(t, account.Stream("a1"), closed, account.ErasureRepeated{Account: "a1", At: now})
	for _, table := range []string{"clips", "by_time", "by_length", "by_voice", "erasures"} {
		require.Empty(t, feedtest.Rows[listed](t, w, `select account_id from rm_clips_v2_g1.`+table+` where account_id = 'a1'`), table)
	}
}
