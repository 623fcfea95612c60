package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/events/readmodel"
)

// description is the canonical description of a read model's tables, in sorted lines. It decides whether a generation
// fits a projection: two descriptions are equal exactly if the tables have the same structure.
type description []string

// describe returns the description of the tables that the projection declares.
func (p Projection) describe() description {
	var lines description
	for _, t := range p.Tables {
		lines = append(lines, t.Describe()...)
	}
	slices.Sort(lines)
	return lines
}

// Describe returns the canonical description of the projection's tables. A released version never changes it.
func (p Projection) Describe() string { return strings.Join(p.describe(), "\n") + "\n" }

// describeQuery selects the same lines for the schemas $1 from Postgres' catalogue. Features that a projection cannot
// declare have a line, too, so that they differ: defaults, other constraints, special indexes.
const describeQuery = `
with tables as (
	select c.oid, n.nspname, c.relname
	from pg_class c join pg_namespace n on n.oid = c.relnamespace
	where n.nspname = any($1) and c.relkind in ('r', 'p')
)
select t.nspname, t.relname || ': column ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) ||
       case when a.attnotnull then ' not null' else '' end || coalesce(' default '
       || pg_get_expr(d.adbin, d.adrelid), '')
from tables t
join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
left join pg_attrdef d on d.adrelid = t.oid and d.adnum = a.attnum
union all
select t.nspname, t.relname || ': ' ||
       case when i.indisprimary then 'primary key'
            when i.indisunique and k.oid is not null then 'unique ' || ic.relname
            when i.indisunique then 'unique index ' || ic.relname
            else 'index ' || ic.relname end ||
       ' (' || (select string_agg(coalesce(a.attname, 'an expression'), ', ' order by o.n)
                from unnest(i.indkey) with ordinality o(attnum, n)
                left join pg_attribute a on a.attrelid = t.oid and a.attnum = o.attnum and o.attnum > 0) || ')' ||
       case when k.condeferrable then ' deferrable' else '' end || case when k.condeferred
       then ' initially deferred' else '' end ||
       case when am.amname <> 'btree' or i.indpred is not null or i.indexprs is not null or i.indnkeyatts <> i.indnatts
                 or exists (select from unnest(i.indoption) o where o <> 0)
            then ' as ' || pg_get_indexdef(i.indexrelid) else '' end
from tables t
join pg_index i on i.indrelid = t.oid
join pg_class ic on ic.oid = i.indexrelid
join pg_am am on am.oid = ic.relam
left join pg_constraint k on k.conindid = i.indexrelid and k.contype in ('p', 'u')
union all
select t.nspname, t.relname || ': constraint ' || k.conname || ' ' || pg_get_constraintdef(k.oid)
from tables t join pg_constraint k on k.conrelid = t.oid
where k.contype in ('c', 'f', 'x')`

// queryer is a pool of connections or a transaction.
type queryer interface {
	Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error)
}

// describeSchemas returns the descriptions of the tables in schemas.
func describeSchemas(ctx context.Context, db queryer, schemas ...string) (map[string]description, error) {
	rows, err := db.Query(ctx, describeQuery, schemas)
	if err != nil {
		return nil, err
	}
	all := map[string]description{}
	var schema, line string
	_, err = pgx.ForEachRow(rows, []any{&schema, &line}, func() error {
		all[schema] = append(all[schema], line)
		return nil
	})
	for _, lines := range all {
		slices.Sort(lines)
	}
	return all, err
}

// compare returns nil if the actual tables of a generation have the description d.
func (d description) compare(actual description) error {
	if slices.Equal(d, actual) {
		return nil
	}
	var differences []string
	for _, line := range d {
		if !slices.Contains(actual, line) {
			differences = append(differences, "missing: "+line)
		}
	}
	for _, line := range actual {
		if !slices.Contains(d, line) {
			differences = append(differences, "not declared: "+line)
		}
	}
	return errors.New(strings.Join(differences, "; "))
}

// checkTables returns an error if the tables of a generation differ from the projection's declaration.
func checkTables(ctx context.Context, tx pgx.Tx, p Projection, number int) error {
	schema := tableSchema(p.Name, p.Version, number)
	all, err := describeSchemas(ctx, tx, schema)
	if err != nil {
		return err
	}
	if err := p.describe().compare(all[schema]); err != nil {
		return &permanentError{fmt.Errorf(
			"the tables of version %d differ from those in the database (%w): give the projection a new version, or, if "+
				"they were changed by hand, drop schema %s cascade, and the next start builds them again", p.Version, err,
			quote(schema))}
	}
	return nil
}

// viewColumnsQuery selects the columns of the views $2 in the schema $1.
const viewColumnsQuery = `
select c.relname, a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
where n.nspname = $1 and c.relname = any($2) and c.relkind = 'v'
order by c.relname, a.attnum`

// checkViews returns an error if the columns of the views in the database differ from the projection's declaration.
func checkViews(ctx context.Context, tx pgx.Tx, p Projection) error {
	names := make([]string, len(p.Views))
	for i, v := range p.Views {
		names[i] = v.Name
	}
	rows, err := tx.Query(ctx, viewColumnsQuery, readmodel.Schema(p.Version), names)
	if err != nil {
		return err
	}
	actual := map[string][]string{}
	var view, column string
	_, err = pgx.ForEachRow(rows, []any{&view, &column}, func() error {
		actual[view] = append(actual[view], column)
		return nil
	})
	if err != nil {
		return err
	}
	for _, v := range p.Views {
		declared := make([]string, len(v.Columns))
		for i, c := range v.Columns {
			declared[i] = c.Name + " " + c.Type
		}
		if !slices.Equal(declared, actual[v.Name]) {
			return &permanentError{fmt.Errorf("view %s has the columns (%s) and declares (%s)",
				v.Name, strings.Join(actual[v.Name], ", "), strings.Join(declared, ", "))}
		}
	}
	return nil
}
