package feed

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

func TestAReleaseRefusesTablesWithAnotherStructure(t *testing.T) {
	// given the tables of a release
	w := newWorld(t)
	p := start(t, w.config(counters("list")))
	p.await(w.live(10))
	p.stop()

	// when their structure differs, then a release does not start
	for change, undo := range map[string]string{
		"add column more text":                           "drop column more",
		"add column more text default 'x'":               "drop column more",
		"alter column label drop not null":               "alter column label set not null",
		"alter column label set default 'x'":             "alter column label drop default",
		"alter column opened type date":                  "alter column opened type timestamptz",
		"rename column label to title":                   "rename column title to label",
		"add constraint one_opening unique (opened, id)": "drop constraint one_opening",
		"add constraint positive check (sum < 1 << 60)":  "drop constraint positive",
	} {
		w.exec("alter table rm_list_v1_g1.counters " + change)
		w.requireRefused(change)
		w.exec("alter table rm_list_v1_g1.counters " + undo)
	}
	for change, undo := range map[string]string{
		"drop index rm_list_v1_g1.by_label": "create index by_label on rm_list_v1_g1.counters (label)",
		"create index more on rm_list_v1_g1.counters " +
			"(sum)": "drop index rm_list_v1_g1.more",
		"create index more on rm_list_v1_g1.counters " +
			"(lower(label))": "drop index rm_list_v1_g1.more",
		"create table rm_list_v1_g1.more (id text primary " +
			"key)": "drop table rm_list_v1_g1.more",
		"alter table rm_list_v1_g1.counters rename to " +
			"more": "alter table rm_list_v1_g1.more rename to counters",
		"drop index rm_list_v1_g1.by_label; create index by_label on rm_list_v1_g1.counters (label " +
			"desc)": "drop index rm_list_v1_g1.by_label; create index by_label on rm_list_v1_g1.counters (label)",
		"drop index rm_list_v1_g1.by_label; create index by_label on rm_list_v1_g1.counters (label) where sum > " +
			"0": "drop index rm_list_v1_g1.by_label; create index by_label on rm_list_v1_g1.counters (label)",
	} {
		w.exec(change)
		w.requireRefused(change)
		w.exec(undo)
	}
	start(t, w.config(counters("list"))).await(w.live(10))
}

func (w *world) requireRefused(change string) {
	w.t.Helper()
	p, err := NewProjector(w.config(counters("list")))
	require.NoError(w.t, err)
	require.ErrorContains(w.t, p.Run(w.t.Context()), "give the projection a new version", change)
}

func TestViewsHaveTheColumnsThatTheyDeclare(t *testing.T) {
	w := newWorld(t)
	for name, change := range map[string]func(v *readmodel.View){
		"another name":  func(v *readmodel.View) { v.Columns[1].Name = "title" },
		"another type":  func(v *readmodel.View) { v.Columns[2].Type = "text" },
		"another order": func(v *readmodel.View) { v.Columns[0], v.Columns[1] = v.Columns[1], v.Columns[0] },
		"one less":      func(v *readmodel.View) { v.Columns = v.Columns[:2] },
		"one more": func(v *readmodel.View) {
			v.Columns = append(v.Columns, table.Column{Name: "opened", Type: "timestamp with time zone"})
		},
	} {
		p := counters("list")
		change(&p.Views[0])
		projector, err := NewProjector(w.config(p))
		require.NoError(t, err)
		require.ErrorContains(t, projector.Run(t.Context()),
			"view list_list has the columns (id text, label text, sum bigint)", name)
	}
	start(t, w.config(counters("list"))).await(w.live(10))
}

func TestReadersNeedExistingViews(t *testing.T) {
	w := newWorld(t)
	list := counters("list")
	p, err := NewProjector(w.config(list))
	require.NoError(t, err)

	there := list.Views[0]
	require.NoError(t, p.Requires(there))
	require.NoError(t, p.RequiresModels(list.Model))
	other := there
	other.Name = "nothing"
	require.ErrorContains(t, p.Requires(there, other), "read_v1.nothing of read model list version 1")
	other = there
	other.Model.Version = 2
	require.ErrorContains(t, p.Requires(other), "read_v2.list_list of read model list version 2")
	require.ErrorContains(t, p.RequiresModels(list.Model, other.Model), "list version 2")
}

func TestAGenerationWithOtherTablesIsNotFed(t *testing.T) {
	// given a generation beside the live one, with changed tables
	w := newWorld(t)
	p := start(t, w.config(counters("list")))
	p.await(w.live(10))
	_, err := p.Rebuild(t.Context(), nil, false)
	require.NoError(t, err)
	p.stop()
	w.exec("alter table rm_list_v1_g2.counters add column more text")

	// then a release feeds only the live one, and raises an alert
	p = start(t, w.config(counters("list")))
	last := w.live(10)
	p.await(last)
	w.requireFold("list", last)
	require.Equal(t, []string{"list: generation 2 has other tables than this release and is not fed: not declared: " +
		"counters: column more text"}, p.alerted())
}
