package table

import (
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// tallyRow has two counts for each name and day.
type tallyRow struct {
	Name  string    `col:"name,key"`
	Day   time.Time `col:"day,key,date"`
	Ones  int64     `col:"ones"`
	Twos  int64     `col:"twos"`
	Small int32     `col:"small"`
}

func TestSumsOfPagesEqualTheSumOfAll(t *testing.T) {
	tally := Of[tallyRow]("tally")
	pool := tables(t, tally.Table)
	writer := NewWriter(tally.Table, "rows")
	rapid.Check(t, func(r *rapid.T) {
		_, err := pool.Exec(t.Context(), "truncate rows.tally")
		require.NoError(r, err)
		want := map[[2]string]tallyRow{}
		for range rapid.IntRange(1, 4).Draw(r, "pages") {
			rows := NewRows([]*Table{tally.Table})
			for range rapid.IntRange(0, 9).Draw(r, "rows") {
				row := tallyRow{
					Name: rapid.SampledFrom([]string{"a", "b"}).Draw(r, "name"),
					Day:  time.Date(2026, 3, rapid.IntRange(1, 2).Draw(r, "day"), 0, 0, 0, 0, time.UTC),
					Ones: rapid.Int64Range(-5, 5).Draw(r, "ones"), Twos: rapid.Int64Range(0, 1e12).Draw(r, "twos"), Small: 1,
				}
				tally.Sum(rows, row)
				sum := want[[2]string{row.Name, row.Day.String()}]
				row.Ones, row.Twos, row.Small = row.Ones+sum.Ones, row.Twos+sum.Twos, row.Small+sum.Small
				want[[2]string{row.Name, row.Day.String()}] = row
			}
			require.NoError(r, rows.err)
			flush(r, t, pool, writer, rows)
		}
		stored, err := pool.Query(t.Context(), "select name, day, ones, twos, small from rows.tally")
		require.NoError(r, err)
		found, err := pgx.CollectRows(stored, pgx.RowToStructByPos[tallyRow])
		require.NoError(r, err)
		got := map[[2]string]tallyRow{}
		for _, row := range found {
			got[[2]string{row.Name, row.Day.String()}] = row
		}
		require.Equal(r, want, got)
	})
}

func TestInvalidSums(t *testing.T) {
	type row struct {
		Key    string `col:"key,key"`
		Text   string `col:"text"`
		Number *int64 `col:"number"`
	}
	texts := Of[row]("texts")
	rows := NewRows([]*Table{texts.Table})
	texts.Sum(rows, row{Number: new(int64(1))})
	require.ErrorContains(t, rows.Err(), "table texts: column text: what is added is not a number")

	tally := Of[tallyRow]("tally")
	rows = NewRows([]*Table{tally.Table})
	tally.Sum(rows, tallyRow{Ones: math.MaxInt64})
	tally.Sum(rows, tallyRow{Ones: 1})
	require.ErrorContains(t, rows.Err(), "table tally: column ones: the sum is out of range")
}
