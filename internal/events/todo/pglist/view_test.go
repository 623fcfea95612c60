package pglist_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/events/todo/pglist"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// list returns a view with items that are due at intervals of a minute, starting at noon.
func list(t *testing.T, items int, causeType string) (*pglist.View, *pgxpool.Pool, []todo.Item) {
	t.Helper()
	pool := pgtest.Empty(t)
	_, err := pool.Exec(t.Context(),
		fmt.Sprintf(`create schema read_v1; create table rows (item text, stream text, due_at timestamptz, cause %s);
		create view read_v1.todo_chores as select item, stream, due_at, cause from rows`, causeType))
	require.NoError(t, err)
	all := make([]todo.Item, items)
	for i := range all {
		all[i] = todo.Item{ID: fmt.Sprint("item", i), Stream: fmt.Sprint("stream-", i),
			Due: noon.Add(time.Duration(i) * time.Minute), Cause: uuid.New()}
		_, err := pool.Exec(t.Context(), `insert into rows values ($1, $2, $3, $4)`, all[i].ID, all[i].Stream, all[i].Due,
			all[i].Cause.String())
		require.NoError(t, err)
	}
	return pglist.NewView(pool, readmodel.NewToDo(readmodel.Model{Name: "chores", Version: 1}, "todo_chores")), pool, all
}

func TestDue(t *testing.T) {
	for _, causeType := range []string{"text", "uuid"} {
		t.Run("causes as "+causeType, func(t *testing.T) {
			view, _, all := list(t, 10, causeType)
			other := all[1]
			other.Cause = uuid.New()
			for name, test := range map[string]struct {
				by     time.Time
				except []todo.Item
				limit  int
				want   []todo.Item
			}{
				"before the first":                {noon.Add(-time.Microsecond), nil, 100, nil},
				"at the first":                    {noon, nil, 100, all[:1]},
				"some":                            {noon.Add(3*time.Minute + 30*time.Second), nil, 100, all[:4]},
				"no more than the limit":          {noon.Add(time.Hour), nil, 3, all[:3]},
				"all but some":                    {noon.Add(time.Hour), all[:6], 3, all[6:9]},
				"an item with another cause":      {noon.Add(time.Minute), []todo.Item{other}, 100, all[:2]},
				"an exception that is not listed": {noon.Add(time.Minute), []todo.Item{{ID: "gone"}}, 100, all[:2]},
				"all are excepted":                {noon.Add(time.Hour), all, 100, nil},
			} {
				t.Run(name, func(t *testing.T) {
					due, next, err := view.Due(t.Context(), test.by, test.except, test.limit)
					require.NoError(t, err)
					for i := range due {
						due[i].Due = due[i].Due.UTC()
					}
					require.Equal(t, firstAfter(test.by, all), next.UTC())
					require.Len(t, due, len(test.want))
					require.ElementsMatch(t, test.want, due)
				})
			}
		})
	}
}

// firstAfter returns the due time of the first item after a time, the zero time if there is none.
func firstAfter(by time.Time, items []todo.Item) time.Time {
	for _, item := range items {
		if item.Due.After(by) {
			return item.Due
		}
	}
	return time.Time{}
}

func TestBacklog(t *testing.T) {
	view, pool, all := list(t, 10, "text")
	backlog, err := view.Backlog(t.Context(), all[3].Due)
	require.NoError(t, err)
	require.Equal(t, 4, backlog.Items)
	require.Equal(t, noon, backlog.Oldest.UTC())
	backlog, err = view.Backlog(t.Context(), noon.Add(-1))
	require.NoError(t, err)
	require.Zero(t, backlog)

	// when Postgres does not answer, then that is an error
	pool.Close()
	_, _, err = view.Due(t.Context(), noon, nil, 1)
	require.Error(t, err)
	_, err = view.Backlog(t.Context(), noon)
	require.Error(t, err)
}

func TestBacklogsOfSeveralLists(t *testing.T) {
	chores, pool, all := list(t, 10, "text")
	_, err := pool.Exec(t.Context(),
		`create view read_v1.todo_late as select item, stream, due_at - interval '1 hour' as due_at, cause
			from rows where item <> 'item0';
		create view read_v1.todo_none as select item, stream, due_at, cause from rows where false`)
	require.NoError(t, err)
	lists := []*pglist.View{chores}
	for _, name := range []string{"todo_none", "todo_late"} {
		lists = append(lists, pglist.NewView(pool, readmodel.NewToDo(readmodel.Model{Name: "chores", Version: 1}, name)))
	}
	before := pool.Stat().AcquireCount()
	backlogs, err := pglist.Backlogs(t.Context(), lists, slices.Repeat([]time.Time{all[2].Due}, len(lists)))
	require.NoError(t, err)
	require.EqualValues(t, 1, pool.Stat().AcquireCount()-before)
	for i := range backlogs {
		backlogs[i].Oldest = backlogs[i].Oldest.UTC()
	}
	require.Equal(t, []pglist.Backlog{{Items: 3, Oldest: noon}, {}, {Items: 9, Oldest: all[1].Due.Add(-time.Hour)}},
		backlogs)

	// each list has its own time
	backlogs, err = pglist.Backlogs(t.Context(), lists, []time.Time{{}, all[2].Due, all[2].Due})
	require.NoError(t, err)
	require.Zero(t, backlogs[0].Items)
	require.Equal(t, 9, backlogs[2].Items)
	none, err := pglist.Backlogs(t.Context(), nil, nil)
	require.NoError(t, err)
	require.Empty(t, none)
}
