package app

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo/pglist"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
)

func TestWhatIsDueIsShownAndScrapesCostOneQuery(t *testing.T) {
	t.Parallel()
	// given two lists, one of them with two due items and one that is not due
	pool := pgtest.Empty(t)
	_, err := pool.Exec(t.Context(), `create schema read_v1;
		create view read_v1.todo_chores as select 'item' || n as item, 'chore-' || n as stream,
			now() - n * interval '30 minutes' as due_at, '' as cause
			from generate_series(-1, 2) as n where n <> 0;
		create view read_v1.todo_idle as select item, stream, due_at, cause from read_v1.todo_chores where false`)
	require.NoError(t, err)
	var lists []watchedList
	for _, name := range []string{"chores", "idle"} {
		view := readmodel.NewToDo(readmodel.Model{Name: "chores", Version: 1}, "todo_"+name)
		lists = append(lists, watchedList{name, pglist.NewView(pool, view), time.Now})
	}
	backlogs := newBacklogs(lists)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(backlogMetrics(lists, backlogs))

	// when the metrics are scraped repeatedly, then Postgres is queried once
	before := pool.Stat().AcquireCount()
	for range 10 {
		lines := scrape(t, registry)
		backlogs.asked = time.Now() // also on a slow machine
		require.Subset(t, lines, []string{
			"recital_todo_due_items{process=chores} 2", "recital_todo_due_items{process=idle} 0",
			"recital_todo_oldest_due_age_seconds{process=idle} 0"})
		require.Len(t, lines, 4)
		var age float64
		_, err := fmt.Sscanf(lines[2], "recital_todo_oldest_due_age_seconds{process=chores} %g", &age)
		require.NoError(t, err)
		require.GreaterOrEqual(t, age, 3600.0)
	}
	require.EqualValues(t, 1, pool.Stat().AcquireCount()-before)

	// and without Postgres they are missing
	pool.Close()
	backlogs.asked = time.Time{}
	require.Empty(t, scrape(t, registry))
}
