package table

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type songRow struct {
	ID     int64     `col:"id,key"`
	Singer string    `col:"singer"`
	Length int64     `col:"length"`
	Sung   time.Time `col:"sung"`
	Genre  string    `col:"genre"`
	Live   bool      `col:"live"`
	Plays  int64     `col:"plays"`
}

// songs returns a table with rankings that have very short ranges.
func songs() (Typed[songRow], []Ranking) {
	t := Of[songRow]("songs")
	facets := []string{"genre", "live"}
	t.Ranked("songs_by_time", "singer", []string{"sung", "id"}, facets)
	t.Ranked("songs_by_length", "singer", []string{"length", "sung", "id"}, facets)
	t.Ranked("songs_by_genre", "singer", []string{"genre", "id"}, []string{"live"})
	for i := range t.ranked {
		t.ranked[i].piece = 2
	}
	return t, t.ranked
}

func drawSong(r *rapid.T) songRow {
	return songRow{
		ID: rapid.Int64Range(0, 30).Draw(r, "id"), Singer: rapid.SampledFrom([]string{"a", "b", ""}).Draw(r, "singer"),
		Length: rapid.Int64Range(-2, 2).Draw(r, "length"), Sung: time.Unix(rapid.Int64Range(-3, 3).Draw(r, "sung"), 0),
		Genre: rapid.SampledFrom([]string{"pop", "jazz"}).Draw(r, "genre"), Live: rapid.Bool().Draw(r, "live"),
	}
}

func TestARankingCountsTheRowsOfItsRanges(t *testing.T) {
	table, rankings := songs()
	plays, length, genre := table.Fields("plays"), table.Fields("length"), table.Fields("genre")
	all := []*Table{table.Table}
	for _, r := range rankings {
		all = append(all, r.Table)
	}
	pool := tables(t, all...)
	writer := NewWriter(table.Table, "rows")
	rapid.Check(t, func(r *rapid.T) {
		_, err := pool.Exec(t.Context(), "truncate rows.songs, rows.songs_by_time, rows.songs_by_length, rows.songs_by_genre")
		require.NoError(r, err)
		for range rapid.IntRange(1, 8).Draw(r, "pages") {
			rows := NewRows(all)
			for range rapid.IntRange(0, 20).Draw(r, "operations") {
				song := drawSong(r)
				switch rapid.IntRange(0, 7).Draw(r, "kind") {
				case 0:
					table.Delete(rows, song)
				case 1:
					song.Plays = 1
					plays.Add(rows, song)
				case 2:
					song.Length = 1
					length.Add(rows, song)
				case 3:
					genre.Set(rows, song)
				default:
					table.Put(rows, song)
				}
			}
			batch := &pgx.Batch{}
			writer.Queue(batch, rows)
			require.NoError(r, pool.SendBatch(t.Context(), batch).Close())
			for _, ranking := range rankings {
				requireCounted(r, pool, ranking)
			}
		}
	})
}

// requireCounted compares a ranking with a count of the rows in its ranges, and checks the lengths of ranges.
func requireCounted(r require.TestingT, pool *pgxpool.Pool, ranking Ranking) {
	by, facets := columnList("", ranking.by), columnList("", ranking.facets)
	var wrong, longest int64
	require.NoError(r, pool.QueryRow(context.Background(), `
		with begins as (select distinct singer, `+by+` from rows.`+ranking.name+`),
		lines as (
			select t.singer, `+columnList("b", ranking.by)+`, `+columnList("t", ranking.facets)+`, count(*) as rows
				from rows.songs as t left join lateral (
				select `+by+` from begins where begins.singer = t.singer
					and (`+columnList("begins", ranking.by)+`) <= (`+columnList("t", ranking.by)+`)
				order by `+strings.ReplaceAll(by, ",", " desc,")+` desc limit 1) as b on true
			group by t.singer, `+columnList("b", ranking.by)+`, `+columnList("t", ranking.facets)+`),
		kept as (select singer, `+by+`, `+facets+`, rows from rows.`+ranking.name+`)
		select (select count(*) from ((table lines except all table kept)
			union all (table kept except all table lines)) as wrong),
			(select coalesce(max(sum), 0)::bigint from (select sum(rows) as sum
				from kept group by singer, `+by+`) as ranges)`).Scan(&wrong, &longest))
	require.Zero(r, wrong, ranking.name)
	require.LessOrEqual(r, longest, int64(2*ranking.piece), ranking.name)
}

func TestMistakesInRankings(t *testing.T) {
	for want, ranked := range map[string]func(Typed[everythingRow]) Ranking{
		`needs a column "gone"`: func(t Typed[everythingRow]) Ranking {
			return t.Ranked("r", "gone", []string{"total"}, []string{"flag"})
		},
		`needs a column "text"`: func(t Typed[everythingRow]) Ranking {
			return t.Ranked("r", "group", []string{"total"}, []string{"text"})
		},
		`cannot order by column "raw"`: func(t Typed[everythingRow]) Ranking {
			return t.Ranked("r", "group", []string{"raw"},
				[]string{"flag"})
		},
	} {
		table := everything()
		ranked(table)
		require.ErrorContains(t, table.Check(), want)
	}
}
