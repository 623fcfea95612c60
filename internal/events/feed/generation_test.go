package feed

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

func TestReadersSeeTheViewsColumnsOnly(t *testing.T) {
	// given a read model whose table has more columns than its view
	w := newWorld(t)
	p := start(t, w.config(counters("list")))
	p.await(w.live(10))

	// then the view of its version shows the chosen ones
	rows, err := w.pool.Query(t.Context(), "select * from read_v1.list_list limit 0")
	require.NoError(t, err)
	defer rows.Close()
	var names []string
	for _, field := range rows.FieldDescriptions() {
		names = append(names, field.Name)
	}
	require.Equal(t, []string{"id", "label", "sum"}, names)
}

func TestVersionsStandSideBySide(t *testing.T) {
	// given a read model of version 1
	w := newWorld(t)
	last := w.live(100)
	one := start(t, w.config(counters("list")))
	one.await(last)

	// when another release runs version 2, with other views
	next := countersIn(newCounterTable(), "list", 2)
	next.Views[0].Columns = []table.Column{{Name: "id", Type: "text"}, {Name: "sum", Type: "bigint"}}
	next.Views[0].Select = "select id, sum from counters"
	two := start(t, w.config(next))
	last = w.live(100)
	one.await(last)
	two.await(last)

	// then both are fed, each for its readers
	w.requireFold("list", last)
	var same bool
	require.NoError(t, w.pool.QueryRow(t.Context(), `
		select count(*) = (select count(*) from read_v1.list_list) from read_v2.list_list`).Scan(&same))
	require.True(t, same)
	require.Equal(t, StateRunning, one.Status()[0].State)
	require.Equal(t, StateRunning, two.Status()[0].State)
}

func TestViewsMayChangeAndTablesMayNot(t *testing.T) {
	// given a read model
	w := newWorld(t)
	last := w.live(20)
	p := start(t, w.config(counters("list")))
	p.await(last)
	p.stop()

	// when a release has another view of it
	other := newCounterTable()
	changed := countersIn(other, "list", 1)
	changed.Views[0].Columns = []table.Column{{Name: "name", Type: "text"}}
	changed.Views[0].Select = "select id as name from counters"
	p = start(t, w.config(changed))
	<-p.CaughtUp()

	// then readers see the new view
	var name string
	require.NoError(t, w.pool.QueryRow(t.Context(), "select name from read_v1.list_list limit 1").Scan(&name))
	p.stop()

	// when a release has other tables under the same version
	other.Index("another", "sum")
	refused, err := NewProjector(w.config(changed))
	require.NoError(t, err)

	// then it does not start
	err = refused.Run(t.Context())
	require.ErrorContains(t, err, "new version")
	require.ErrorContains(t, err, "missing: counters: index another (sum)")
}

func TestInstancesMayStartTogether(t *testing.T) {
	// given several instances on an empty database
	w := newWorld(t)
	last := w.live(50)
	var all []*running
	for _, name := range []string{"one", "two", "three"} {
		config := w.config(counters("a"), counters("b"))
		config.Instance = name
		all = append(all, start(t, config))
	}

	// then all of them follow the one that reads
	for _, p := range all {
		p.await(last)
	}
	w.requireFold("a", last)
	w.requireFold("b", last)
}

func TestMistakesInProjectionsAreRefused(t *testing.T) {
	type keyOnly struct {
		ID string `col:"id,key"`
	}
	mistakes := map[string]func(*Projection){
		"no name":       func(p *Projection) { p.Name = "" },
		"a name of SQL": func(p *Projection) { p.Name = "a; drop table x" },
		"no version":    func(p *Projection) { p.Version = 0 },
		"no handler":    func(p *Projection) { p.Handle = nil },
		"no table":      func(p *Projection) { p.Tables = nil },
		"a table twice": func(p *Projection) { p.Tables = append(p.Tables, p.Tables[0]) },
		"a table without key": func(p *Projection) {
			p.Tables = []*table.Table{table.Of[struct {
				ID string `col:"id"`
			}]("t").Table}
		},
		"a nullable key": func(p *Projection) {
			p.Tables = []*table.Table{table.Of[struct {
				ID *string `col:"id,key"`
			}]("t").Table}
		},
		"an index on an unknown column": func(p *Projection) {
			p.Tables = []*table.Table{table.Of[keyOnly]("t").Index("i",
				"x").Table}
		},
		"a view of everything":         func(p *Projection) { p.Views[0].Select = "select * from counters" },
		"a view of all of one":         func(p *Projection) { p.Views[0].Select = "select c.* from counters c" },
		"a view of another read model": func(p *Projection) { p.Views[0].Model.Version++ },
	}
	for name, mistake := range mistakes {
		t.Run(name, func(t *testing.T) {
			p := counters("list")
			mistake(&p)
			require.Error(t, checkAll([]Projection{p}))
		})
	}
	t.Run("one projection twice", func(t *testing.T) {
		require.Error(t, checkAll([]Projection{counters("list"), counters("list")}))
	})
	t.Run("none of these", func(t *testing.T) {
		p := counters("list")
		p.Views = append(p.Views,
			readmodel.View{Model: p.Model, Name: "size", Select: "select count(*) as n, sum(sum) * 2 as twice from counters"})
		require.NoError(t, checkAll([]Projection{p}))
	})
}
