package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"time"
)

// Key holds the values of a row's key columns, in the order of the table's columns.
type Key []any

// Rows collects the row operations of a page. Operations on one row coalesce, so that each row is written once. What
// ends up in the tables is what the same operations would give one by one.
//
// A mistake (a value of the wrong type, an unknown column or table) is remembered and fails the event.
type Rows struct {
	tables map[*Table]*tableChanges
	err    error
}

// NewRows is for the rows of these tables.
func NewRows(tables []*Table) *Rows {
	r := &Rows{tables: make(map[*Table]*tableChanges, len(tables))}
	for _, t := range tables {
		r.tables[t] = &tableChanges{table: t, byKey: map[string]*change{}}
	}
	return r
}

// Put writes a whole row, its values in the order of the table's columns. It inserts or replaces.
func (r *Rows) Put(t *Table, values ...any) {
	changes, ok := r.changes(t)
	if !ok {
		return
	}
	if len(values) != len(t.columns) {
		r.fail(t, fmt.Errorf("a row has %d values, not %d", len(t.columns), len(values)))
		return
	}
	row := make([]any, len(values))
	for i, v := range values {
		converted, err := t.columns[i].value(v)
		if err != nil {
			r.fail(t, err)
			return
		}
		row[i] = converted
	}
	key := make([]any, len(t.keys))
	for i, k := range t.keys {
		key[i] = row[k]
	}
	c := changes.at(key)
	c.kind, c.values, c.patches = putRow, row, nil
}

// Set gives a column of an existing row a value. A row that does not exist stays missing.
func (r *Rows) Set(t *Table, key Key, column string, value any) {
	c, i, ok := r.patch(t, key, column)
	if !ok {
		return
	}
	v, err := t.columns[i].value(value)
	if err != nil {
		r.fail(t, err)
		return
	}
	c.set(i, v)
}

// Add adds to a number column of an existing row. A row that does not exist stays missing, a NULL stays NULL.
func (r *Rows) Add(t *Table, key Key, column string, delta int64) {
	c, i, ok := r.patch(t, key, column)
	if !ok {
		return
	}
	if !t.columns[i].number() {
		r.fail(t, fmt.Errorf("column %s is no number", column))
		return
	}
	if err := c.add(i, delta); err != nil {
		r.fail(t, fmt.Errorf("column %s: %w", column, err))
	}
}

// Delete removes a row, if it exists.
func (r *Rows) Delete(t *Table, key Key) {
	changes, ok := r.changes(t)
	if !ok {
		return
	}
	converted, err := t.key(key)
	if err != nil {
		r.fail(t, err)
		return
	}
	c := changes.at(converted)
	c.kind, c.values, c.patches = deletedRow, nil, nil
}

// Err is the first mistake.
func (r *Rows) Err() error { return r.err }

// Count is the number of rows that are touched.
func (r *Rows) Count() int {
	n := 0
	for _, changes := range r.tables {
		n += len(changes.ordered)
	}
	return n
}

func (r *Rows) changes(t *Table) (*tableChanges, bool) {
	if t == nil {
		r.failWith(errors.New("no table is given"))
		return nil, false
	}
	changes, ok := r.tables[t]
	if !ok {
		r.fail(t, errors.New("it is not a table of this projection"))
	}
	return changes, ok
}

// patch finds the row and the column that Set and Add change. Nothing is to be done for a row that is known to be
// missing.
func (r *Rows) patch(t *Table, key Key, column string) (*change, int, bool) {
	changes, ok := r.changes(t)
	if !ok {
		return nil, 0, false
	}
	i, known := t.byName[column]
	if !known || t.columns[i].Key {
		r.fail(t, fmt.Errorf("column %q is unknown or part of the key", column))
		return nil, 0, false
	}
	converted, err := t.key(key)
	if err != nil {
		r.fail(t, err)
		return nil, 0, false
	}
	c := changes.at(converted)
	return c, i, c.kind != deletedRow
}

func (r *Rows) fail(t *Table, err error) { r.failWith(fmt.Errorf("table %s: %w", t.name, err)) }

func (r *Rows) failWith(err error) {
	if r.err == nil {
		r.err = err
	}
}

// key brings the values of a key to the types of its columns.
func (t *Table) key(given Key) ([]any, error) {
	if len(given) != len(t.keys) {
		return nil, fmt.Errorf("a key has %d values, not %d", len(t.keys), len(given))
	}
	key := make([]any, len(given))
	for i, v := range given {
		converted, err := t.columns[t.keys[i]].value(v)
		if err != nil {
			return nil, err
		}
		key[i] = converted
	}
	return key, nil
}

// tableChanges are the changes of one table in a page, in the order in which the rows were first touched.
type tableChanges struct {
	table   *Table
	byKey   map[string]*change
	ordered []*change
}

func (tc *tableChanges) at(key []any) *change {
	name := keyName(key)
	c, ok := tc.byKey[name]
	if !ok {
		c = &change{key: key, columns: len(tc.table.columns)}
		tc.byKey[name] = c
		tc.ordered = append(tc.ordered, c)
	}
	return c
}

type changeKind int

const (
	patchedRow changeKind = iota // whether the row exists is not known; some of its columns change
	putRow
	deletedRow
)

type patchKind int16

const (
	keepColumn patchKind = iota
	setColumn
	addColumn
)

// change is what happens to one row.
type change struct {
	kind    changeKind
	key     []any
	columns int
	values  []any       // putRow: the row; patchedRow: the operands of its patches
	patches []patchKind // patchedRow only
}

func (c *change) set(column int, value any) {
	if c.kind == patchedRow {
		c.prepare()
		c.patches[column] = setColumn
	}
	c.values[column] = value
}

func (c *change) add(column int, delta int64) error {
	if c.kind == patchedRow {
		c.prepare()
		if c.patches[column] == keepColumn {
			c.patches[column], c.values[column] = addColumn, int64(0)
		}
	}
	before, isNumber := c.values[column].(int64)
	if !isNumber {
		return nil // NULL plus anything is NULL
	}
	sum := before + delta
	if (delta > 0) != (sum > before) && delta != 0 {
		return errors.New("the sum is out of range")
	}
	c.values[column] = sum
	return nil
}

func (c *change) prepare() {
	if c.patches == nil {
		c.values, c.patches = make([]any, c.columns), make([]patchKind, c.columns)
	}
}

// touched is a bit for each column that the patches change.
func (c *change) touched() uint64 {
	var mask uint64
	for i, p := range c.patches {
		if p != keepColumn {
			mask |= 1 << i
		}
	}
	return mask
}

// columnsOf lists the columns of a mask.
func columnsOf(mask uint64) []int {
	columns := make([]int, 0, bits.OnesCount64(mask))
	for ; mask != 0; mask &= mask - 1 {
		columns = append(columns, bits.TrailingZeros64(mask))
	}
	return columns
}

// keyName is equal for equal keys only. The values have the Go types that Column.value gives.
func keyName(key []any) string {
	if len(key) == 1 {
		if text, ok := key[0].(string); ok {
			return text
		}
	}
	var name []byte
	for _, v := range key {
		switch v := v.(type) {
		case string:
			name = binary.AppendUvarint(name, uint64(len(v)))
			name = append(name, v...)
		case []byte:
			name = binary.AppendUvarint(name, uint64(len(v)))
			name = append(name, v...)
		case int64:
			name = binary.BigEndian.AppendUint64(name, uint64(v))
		case bool:
			name = strconv.AppendBool(name, v)
		case time.Time:
			name = binary.BigEndian.AppendUint64(name, uint64(v.UnixMicro()))
		}
	}
	return string(name)
}
