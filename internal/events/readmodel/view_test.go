package readmodel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

type song struct {
	ID       string     `col:"id,key"`
	Singer   string     `col:"singer"`
	Plays    int64      `col:"plays"`
	Released *time.Time `col:"released"`
	Known    bool       `col:"known" sql:"plays > 100"`
}

var music = readmodel.Model{Name: "music", Version: 3}

func TestAViewFollowsFromItsRows(t *testing.T) {
	songs := readmodel.Show(music, table.Of[song]("songs"))
	require.Equal(t, "read_v3.songs", songs.SQL())
	require.Equal(t, []table.Column{
		{Name: "id", Type: "text"}, {Name: "singer", Type: "text"}, {Name: "plays", Type: "bigint"},
		{Name: "released", Type: "timestamp with time zone"}, {Name: "known", Type: "boolean", Expression: "plays > 100"},
	}, songs.View.Columns)
	require.Equal(t, "select id, singer, plays, released, plays > 100 as known from songs", songs.Select)
	require.Equal(t, songs.Select+" where plays > 0", songs.Where("plays > 0").Select)

	// and so do the selections of queries
	require.Equal(t, "id, singer, plays, released, known", songs.Selection(""))
	require.Equal(t,
		"array(select row(s.id, s.singer, s.plays, s.released, s.known) from read_v3.songs s where s.singer = $1)",
		songs.Array("s", "where s.singer = $1"))
}

func TestTheViewOfARanking(t *testing.T) {
	songs := table.Of[song]("songs")
	byPlays := readmodel.ShowRanking(music, songs.Ranked("by_plays", "singer", []string{"plays", "id"}, nil), "songs")
	require.Equal(t, "read_v3.by_plays", byPlays.SQL())
	require.Equal(t, "select singer, plays, id, rows as songs from by_plays", byPlays.Select)
	require.Equal(t, "singer, plays, id, songs", byPlays.Selection(""))
}
