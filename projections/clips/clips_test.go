package clips_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

func saved(n int) clip.Saved {
	return clip.Saved{
		Clip: fmt.Sprint("c", n), Account: "a1", Voice: "leah", Language: "en-us", Speed: 0.1 + 0.2, MediaType: "audio/mpeg",
		Characters: int64(n), Blob: fmt.Sprint("b", n), Bytes: 1 << 40, Debug: n%2 == 1, Sealed: []byte{0, 255, byte(n)},
		At: now,
	}
}

func row(n int) readmodel.ClipRow {
	return readmodel.ClipRow{
		Clip: fmt.Sprint("c", n), Account: "a1", Voice: "leah", Language: "en-us", Speed: 0.1 + 0.2, MediaType: "audio/mpeg",
		Characters: int64(n), Blob: fmt.Sprint("b", n), Bytes: 1 << 40, Debug: n%2 == 1, Sealed: []byte{0, 255, byte(n)},
		SavedAt: now,
	}
}

func shown(t *testing.T, w *feedtest.World, account string) []readmodel.ClipRow {
	t.Helper()
	return feedtest.Shown(t, w, readmodel.ClipsView, `where account_id = $1 order by clip_id`, account)
}

func TestClips(t *testing.T) {
	w := suite.World(t)
	w.Write(t, "clip-c1", saved(1))
	w.Write(t, "clip-c2", saved(2), clip.Deleted{Clip: "c2", Account: "a1", Blob: "b2", At: now})
	w.Write(t, "clip-c3", saved(3))
	require.Equal(t, []readmodel.ClipRow{row(1), row(3)}, shown(t, w, "a1"))
	require.Empty(t, shown(t, w, "a2"))
}

func TestClosedAccountsAreListedAsLongAsTheyHaveClips(t *testing.T) {
	w := suite.World(t)
	type listed struct{ Account string }
	list := func() []listed {
		return feedtest.Rows[listed](t, w, `select item from read_v3.todo_erase_clips order by item`)
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

	// when a clip is saved late, then the account is listed until its deletion
	save("2")
	require.Equal(t, []listed{{"a1"}}, list())
	remove("2")
	require.Empty(t, list())

	// and at the end of the closing no rows of the account are left
	w.Append(t, account.Stream("a1"), closed, account.ErasureRepeated{Account: "a1", At: now})
	for _, table := range []string{"clips", "clips_by_time", "clips_by_length", "clips_by_voice"} {
		require.Empty(t, feedtest.Rows[listed](t, w,
			`select account_id from rm_clips_v3_g1.`+table+` where account_id = 'a1'`), table)
	}
	require.Empty(t, feedtest.Rows[listed](t, w, `select item from rm_clips_v3_g1.todo_erase_clips where item = 'a1'`))
}
