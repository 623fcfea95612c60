package table

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// rangeRows is the number of rows in a new range of a ranking. A range with more than twice as many is cut.
const rangeRows = 2000

// Ranking is an order of a table's rows with a table of counts by ranges of this order, so that readers find any row of
// a long list by its number, and the list's length, without reading the rows before it.
//
// A range begins at a row identified by the columns of the order, or before all rows, and ends where the next one
// begins. It has a line with the number of its rows for each combination of facets (columns that readers filter by). It
// has at most 4,000 rows. The bounds of ranges depend on the pages that added the rows.
type Ranking struct {
	*Table
	within     string
	by, facets []string
	piece      int // rangeRows
}

// Ranked adds a ranking to the table: of the rows with one value of a column (within), ordered by columns that together
// are unique. It also adds indexes in this order: <name>_all for all rows, <name>_facets for the rows with given
// facets. The projection lists the ranking among its tables. Its column for numbers is "rows".
func (t Typed[R]) Ranked(name, within string, by, facets []string) Ranking {
	r := Ranking{
		Table:  &Table{name: name, byName: map[string]int{}, row: reflect.TypeFor[struct{}]()},
		within: within, by: by, facets: facets, piece: rangeRows,
	}
	for _, column := range slices.Concat([]string{within}, by, facets) {
		i, known := t.byName[column]
		if !known || t.columns[i].null {
			t.fail(fmt.Errorf("the ranking %s needs a column %q that is never NULL", name, column))
			return r
		}
		c := t.columns[i]
		if _, ranks := least[c.kind]; !ranks && slices.Contains(by, column) {
			t.fail(fmt.Errorf("the ranking %s cannot order by column %q", name, column))
		}
		c.key = true
		r.add(c)
	}
	r.add(column{name: "rows", kind: bigint})
	t.Index(name+"_all", slices.Concat([]string{within}, by)...)
	t.Index(name+"_facets", slices.Concat([]string{within}, facets, by)...)
	t.ranked = append(t.ranked, r)
	return r
}

// least has the lowest values of each kind, where the first range begins.
var least = map[kind]string{text: "''", bigint: "-9223372036854775808", timestamptz: "'-infinity'"}

// reads reports whether a ranking depends on one of the columns in a mask.
func (r Ranking) reads(t *Table, mask uint64) bool {
	return slices.ContainsFunc(columnsOf(mask), func(i int) bool { _, known := r.byName[t.columns[i].name]; return known })
}

// rankedWriter counts the rows of a table in its rankings.
type rankedWriter struct {
	rankings []Ranking
	count    string // counts the existing rows with the given keys, times the last parameter, and cuts ranges
}

func newRankedWriter(w *Writer, schema string) rankedWriter {
	t := w.table
	ranked := rankedWriter{rankings: t.ranked}
	var columns, parts []string
	for _, r := range t.ranked {
		columns = append(columns, r.lines()...)
		parts = append(parts, r.counting(t, w.name, quote(schema, r.name), len(t.keys)+1)...)
	}
	slices.Sort(columns)
	changed := `changed as materialized (select ` + columnList("t", slices.Compact(columns)) + ` from ` + w.name + ` as t
		join unnest(` + w.arrays(t.keys) + `) as u(` + columnList("", t.keyNames()) + `) on ` + w.sameKey() + `)`
	ranked.count = `with ` + strings.Join(slices.Insert(parts, 0, changed), ", ") + ` select`
	return ranked
}

// lines returns the columns that identify a line of the ranking.
func (r Ranking) lines() []string { return slices.Concat([]string{r.within}, r.by, r.facets) }

// counting returns the parts of a statement that count the rows in changed. Changes are added to the lines of a range.
// If the range has become too long, it is cut, and the new ranges are counted. All parts see the ranking as it was
// before the statement.
func (r Ranking) counting(t *Table, ranked, ranking string, times int) []string {
	within, by, line := quote(r.within), columnList("", r.by), columnList("", r.lines())
	inRange := slices.Concat([]string{r.within}, r.by)
	first := prefixed("first_", r.by)
	var begin, begins []string
	for _, column := range r.by {
		smallest := least[t.columns[t.byName[column]].kind]
		begin = append(begin, fmt.Sprintf("coalesce(r.%s, %s) as %[1]s", quote(column), smallest))
		begins = append(begins, fmt.Sprintf("case piece when 0 then %s "+
			"else first_value(%s) over (partition by %s, %s, piece order by %s) end as %[2]s",
			quote("first_"+column), quote(column), within, columnList("", first), by))
	}
	part := func(name, query string) string { return r.name + "_" + name + " as (" + query + ")" }
	return []string{
		part("counted", `select c.`+within+`, `+strings.Join(begin, ", ")+`, `+columnList("c", r.facets)+`,
				count(*) * $`+strconv.Itoa(times)+`::bigint as rows
			from changed as c left join lateral (
				select `+columnList("r", r.by)+` from `+ranking+` as r
				where r.`+within+` = c.`+within+` and (`+columnList("r", r.by)+`) <= (`+columnList("c", r.by)+`)
				order by `+strings.Join(quotedIn("r", r.by), " desc, ")+` desc limit 1) as r on true
			group by c.`+within+`, `+columnList("r", r.by)+`, `+columnList("c", r.facets)),
		part("long", `select `+columnList("c", inRange)+`, (c.rows + coalesce(sum(r.rows), 0))::bigint as rows
			from (
				select `+columnList("", inRange)+`, sum(rows) as rows from `+r.name+`_counted
				group by `+columnList("", inRange)+`) as c
			left join `+ranking+` as r on `+equal("r", "c", inRange)+`
			group by `+columnList("c", inRange)+`, c.rows having c.rows + coalesce(sum(r.rows), 0) > `+fmt.Sprint(2*r.piece)),
		part("numbered", `select x.*, (row_number() over (
				partition by x.`+within+`, `+columnList("x", first)+` order by `+columnList("x", r.by)+`) - 1) / `+fmt.Sprint(r.piece)+` as piece
			from `+r.name+`_long as f(`+within+`, `+columnList("", first)+`, first_rows) cross join lateral (
				select t.`+within+`, `+columnList("f", first)+`, `+columnList("t", slices.Concat(r.by, r.facets))+`
				from `+ranked+` as t
				where t.`+within+` = f.`+within+` and (`+columnList("t", r.by)+`) >= (`+columnList("f", first)+`)
				order by `+columnList("t", r.by)+` limit f.first_rows) as x`),
		part("begun", `select `+within+`, `+strings.Join(begins, ", ")+`, `+columnList("", r.facets)+`
			from `+r.name+`_numbered`),
		part("moved", `
			select `+line+`, rows from `+r.name+`_counted as c
			where not exists (select from `+r.name+`_long as f where `+equal("f", "c", inRange)+`)
			union all select `+line+`, sum(rows)::bigint from (
				select `+line+`, 1 as rows from `+r.name+`_begun
				union all select `+columnList("r", r.lines())+`, -r.rows from `+ranking+` as r
				join `+r.name+`_long as f on `+equal("f", "r", inRange)+`) as m
			group by `+line+` having sum(rows) <> 0`),
		part("emptied", `delete from `+ranking+` as r using `+r.name+`_moved as m
			where `+equal("r", "m", r.lines())+` and r.rows + m.rows = 0`),
		part("written", `insert into `+ranking+` as r (`+line+`, rows) select `+line+`, rows from `+r.name+`_moved as m
			where not exists (select from `+ranking+` as r where `+equal("r", "m", r.lines())+` and r.rows + m.rows = 0)
			on conflict (`+line+`) do update set rows = r.rows + excluded.rows`),
	}
}

// columnList lists columns, qualified by a table or alias unless that is "".
func columnList(of string, names []string) string { return strings.Join(quotedIn(of, names), ", ") }

func quotedIn(of string, names []string) []string {
	list := quoted(names...)
	for i := range list {
		if of != "" {
			list[i] = of + "." + list[i]
		}
	}
	return list
}

// equal compares the columns of two aliases.
func equal(a, b string, names []string) string {
	conditions := make([]string, len(names))
	for i, name := range quoted(names...) {
		conditions[i] = a + "." + name + " = " + b + "." + name
	}
	return strings.Join(conditions, " and ")
}

func prefixed(prefix string, names []string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = prefix + name
	}
	return list
}
