// Package pglist reads to-do lists from Postgres views, and elects the instance that works each of them.
package pglist

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo"
)

// View is a to-do list of a read model; the cause is the text of a UUID. A row is an item, and is deleted when the item
// has its outcome. View implements todo.List.
type View struct {
	pool *pgxpool.Pool
	name string
	due  string
}

// NewView returns the to-do list of a view.
func NewView(pool *pgxpool.Pool, view readmodel.ToDo) *View {
	name := view.SQL()
	return &View{
		pool: pool,
		name: name,
		due: `
			(select item, stream, due_at, cause::text as cause from ` + name + ` as list
			where due_at <= $1 and not exists (
				select from unnest($2::text[], $3::text[]) as resting (item, cause)
				where resting.item = list.item and resting.cause = list.cause::text)
			order by due_at, item limit $4)
			union all
			(select item, stream, due_at, cause::text from ` + name + ` where due_at > $1 order by due_at limit 1)`,
	}
}

// Due implements todo.List.
func (v *View) Due(ctx context.Context, by time.Time, except []todo.Item, limit int) (
	items []todo.Item, next time.Time, err error,
) {
	ids, causes := make([]string, len(except)), make([]string, len(except))
	for i, item := range except {
		ids[i], causes[i] = item.ID, item.Cause.String()
	}
	rows, err := v.pool.Query(ctx, v.due, by, ids, causes, limit)
	if err != nil {
		return nil, next, err
	}
	items, err = pgx.CollectRows(rows, pgx.RowToStructByPos[todo.Item])
	// Postgres promises no order of the two halves.
	if i := slices.IndexFunc(items, func(item todo.Item) bool { return item.Due.After(by) }); i >= 0 {
		next = items[i].Due
		items = slices.Delete(items, i, i+1)
	}
	return items, next, err
}

// Backlog is the number of due items and their age.
type Backlog struct {
	Items  int
	Oldest time.Time // due time of the oldest; zero if there is none
}

// Backlog counts the items that are due by a time.
func (v *View) Backlog(ctx context.Context, by time.Time) (Backlog, error) {
	all, err := Backlogs(ctx, []*View{v}, []time.Time{by})
	if err != nil {
		return Backlog{}, err
	}
	return all[0], nil
}

// Backlogs counts the items of several lists of one database that are due, each by its own time, in one query.
func Backlogs(ctx context.Context, lists []*View, by []time.Time) ([]Backlog, error) {
	if len(lists) == 0 {
		return nil, nil
	}
	counts := make([]string, len(lists))
	for i, list := range lists {
		counts[i] = fmt.Sprintf("select %d, count(*), min(due_at) from %s where due_at <= ($1::timestamptz[])[%d]",
			i, list.name, i+1)
	}
	rows, err := lists[0].pool.Query(ctx, strings.Join(counts, " union all "), by)
	if err != nil {
		return nil, err
	}
	all := make([]Backlog, len(lists))
	var list, items int
	var oldest *time.Time
	_, err = pgx.ForEachRow(rows, []any{&list, &items, &oldest}, func() error {
		all[list].Items = items
		if oldest != nil {
			all[list].Oldest = *oldest
		}
		return nil
	})
	return all, err
}
