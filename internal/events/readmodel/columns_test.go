package readmodel_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/readmodel"
)

var songs = readmodel.View{
	Model: readmodel.Model{Name: "music", Version: 3}, Name: "songs",
	Columns: []readmodel.Column{
		{Name: "title", Type: readmodel.Text},
		{Name: "singer", Type: readmodel.Text},
		{Name: "plays", Type: readmodel.Bigint},
		{Name: "released", Type: readmodel.Timestamptz},
		{Name: "cover", Type: readmodel.Bytea},
		{Name: "tempo", Type: readmodel.Double},
		{Name: "live", Type: readmodel.Bool},
		{Name: "year", Type: readmodel.Integer},
		{Name: "day", Type: readmodel.Date},
		{Name: "credits", Type: readmodel.Jsonb},
	},
}

func TestColumnsAreThoseOfTheFieldsInTheirOrder(t *testing.T) {
	type name string
	type row struct {
		Singer   *name           `col:"singer"`
		Title    string          `col:"title"`
		Plays    int64           `col:"plays"`
		Released *time.Time      `col:"released"`
		Cover    []byte          `col:"cover"`
		Tempo    float64         `col:"tempo"`
		Live     bool            `col:"live"`
		Year     int32           `col:"year"`
		Day      time.Time       `col:"day"`
		Credits  json.RawMessage `col:"credits"`
	}
	require.Equal(t, "read_v3.songs", songs.SQL())
	require.Equal(t, "singer, title, plays, released, cover, tempo, live, year, day, credits", readmodel.Columns[row](songs, ""))
	require.Equal(t, "s.title, s.plays", readmodel.Columns[struct {
		Title string `col:"title"`
		Plays int64  `col:"plays"`
	}](songs, "s"))
}

func TestColumnsThatTheViewDoesNotHaveAreRefused(t *testing.T) {
	for want, list := range map[string]func(){
		`the view read_v3.songs has no column "name"`: func() {
			readmodel.Columns[struct {
				Name string `col:"name"`
			}](songs, "")
		},
		`has no column ""`: func() { readmodel.Columns[struct{ Title string }](songs, "") },
		"a int64 does not hold the column title text": func() {
			readmodel.Columns[struct {
				Title int64 `col:"title"`
			}](songs, "")
		},
		"a string does not hold the column released timestamp with time zone": func() {
			readmodel.Columns[struct {
				Released string `col:"released"`
			}](songs, "")
		},
	} {
		require.Contains(t, panicOf(list), want)
	}
}

func panicOf(do func()) (text string) {
	defer func() { text, _ = recover().(string) }()
	do()
	return ""
}
