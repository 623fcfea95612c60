package table

import "fmt"

// Sums is a table whose columns outside of the key are numbers that only grow by what is added: rows of the struct R, as in
// Typed.
type Sums[R any] struct{ *Table }

// SumsOf describes the table of a name. Check returns what is wrong with it.
func SumsOf[R any](name string) Sums[R] {
	t := Of[R](name).Table
	for _, c := range t.columns {
		if !c.key && (!c.number() || c.null) {
			t.fail(fmt.Errorf("column %s: a sum is a number and never NULL", c.name))
		}
	}
	return Sums[R]{t}
}

// Add adds the numbers of a row to those in the row with its key, or inserts it if there is none.
func (s Sums[R]) Add(rows *Rows, row R) {
	if changes, ok := hold(rows, s.Table, row); ok {
		rows.sum(changes)
	}
}

// sum adds the held row to the one with its key.
func (r *Rows) sum(changes *tableChanges) {
	values, ok := r.read(changes, len(changes.table.columns))
	if !ok {
		return
	}
	keys := len(changes.table.keys)
	c := changes.at(values[:keys:keys])
	if c.kind != summedRow {
		c.kind, c.values = summedRow, values
		return
	}
	for i := keys; i < len(values); i++ {
		delta, _ := values[i].(int64) // SumsOf has checked the columns
		if err := c.add(i, delta); err != nil {
			r.fail(changes.table, fmt.Errorf("column %s: %w", changes.table.columns[i].name, err))
		}
	}
}
