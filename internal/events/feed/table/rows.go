package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Rows collects the row operations of a page. Operations on one row coalesce, so that each row is written once. The
// result equals that of the same operations one by one.
//
// The first mistake (an invalid value for a column, a table of another projection) is kept and fails the event.
type Rows struct {
	tables  []*Table
	changes map[*Table]*tableChanges // of the tables with changes, which are few in a short page
	err     error
}

// NewRows returns an empty collection for the rows of these tables.
func NewRows(tables []*Table) *Rows { return &Rows{tables: tables} }

// put inserts or replaces the held row.
func (r *Rows) put(changes *tableChanges) {
	if values, ok := r.read(changes, len(changes.table.columns)); ok {
		keys := len(changes.table.keys)
		c := changes.at(values[:keys:keys])
		c.kind, c.values, c.patches = putRow, values, nil
	}
}

// set sets columns of the existing row with the held row's key to the held row's values.
func (r *Rows) set(changes *tableChanges, columns []int) {
	c, ok := r.patch(changes)
	if !ok {
		return
	}
	for _, i := range columns {
		v, err := changes.table.columns[i].value(changes.held.Field(i))
		if err != nil {
			r.fail(changes.table, err)
			return
		}
		c.set(i, v)
	}
}

// add adds the held row's numbers to the existing row with its key.
func (r *Rows) add(changes *tableChanges, columns []int) {
	c, ok := r.patch(changes)
	if !ok {
		return
	}
	for _, i := range columns {
		r.addTo(changes, c, i, changes.held.Field(i))
	}
}

// addTo adds a number to a column of a row.
func (r *Rows) addTo(changes *tableChanges, c *change, i int, number reflect.Value) {
	column := &changes.table.columns[i]
	v, err := column.value(number)
	delta, isNumber := v.(int64)
	switch {
	case err != nil:
	case !isNumber || !column.number():
		err = errors.New("what is added is not a number")
	default:
		err = c.add(i, delta)
	}
	if err != nil {
		r.fail(changes.table, fmt.Errorf("column %s: %w", column.name, err))
	}
}

// sum adds the held row to the row with its key, or inserts it. Rows of such a table have no other operations.
func (r *Rows) sum(changes *tableChanges) {
	key, ok := r.read(changes, len(changes.table.keys))
	if !ok {
		return
	}
	c := changes.at(key)
	if c.kind != summedRow {
		c.kind, c.values = summedRow, slices.Clone(key)
		for range changes.table.columns[len(key):] {
			c.values = append(c.values, int64(0))
		}
	}
	for i := len(key); i < len(c.values); i++ {
		r.addTo(changes, c, i, changes.held.Field(i))
	}
}

// delete removes the row with the key of the held one, if it exists.
func (r *Rows) delete(changes *tableChanges) {
	if key, ok := r.read(changes, len(changes.table.keys)); ok {
		c := changes.at(key)
		c.kind, c.values, c.patches = deletedRow, nil, nil
	}
}

// Err returns the first mistake.
func (r *Rows) Err() error { return r.err }

// Count returns the number of changed rows.
func (r *Rows) Count() int {
	n := 0
	for _, changes := range r.changes {
		n += len(changes.ordered)
	}
	return n
}

func (r *Rows) of(t *Table) (*tableChanges, bool) {
	if changes, ok := r.changes[t]; ok {
		return changes, true
	}
	if !slices.Contains(r.tables, t) {
		r.fail(t, errors.New("it is not a table of this projection"))
		return nil, false
	}
	if r.changes == nil {
		r.changes = map[*Table]*tableChanges{}
	}
	r.changes[t] = &tableChanges{table: t, held: reflect.New(t.row).Elem(), byKey: map[string]*change{}}
	return r.changes[t], true
}

// ordered returns the changes of a table in the order in which the rows were first touched.
func (r *Rows) ordered(t *Table) []*change {
	if changes, ok := r.changes[t]; ok {
		return changes.ordered
	}
	return nil
}

// read returns the values of the held row's first n columns.
func (r *Rows) read(changes *tableChanges, n int) ([]any, bool) {
	values := make([]any, n)
	for i := range values {
		v, err := changes.table.columns[i].value(changes.held.Field(i))
		if err != nil {
			r.fail(changes.table, err)
			return nil, false
		}
		values[i] = v
	}
	return values, true
}

// patch returns the change of the row for set and add, or false if the row is known to be missing.
func (r *Rows) patch(changes *tableChanges) (*change, bool) {
	key, ok := r.read(changes, len(changes.table.keys))
	if !ok {
		return nil, false
	}
	c := changes.at(key)
	return c, c.kind != deletedRow
}

func (r *Rows) fail(t *Table, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("table %s: %w", t.name, err)
	}
}

// tableChanges are the changes of one table in a page, in the order in which the rows were first touched.
type tableChanges struct {
	table   *Table
	held    reflect.Value // the current row
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
	patchedRow changeKind = iota // some columns change, whether or not the row exists
	putRow
	deletedRow
	summedRow // values are added to the row's, which is inserted if it does not exist
)

type patchKind int16

const (
	keepColumn patchKind = iota
	setColumn
	addColumn
)

// change is the change of one row.
type change struct {
	kind    changeKind
	key     []any
	columns int
	values  []any       // putRow, summedRow: the row; patchedRow: the operands of its patches
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

// touched returns a mask with a bit for each column that the patches change.
func (c *change) touched() uint64 {
	var mask uint64
	for i, p := range c.patches {
		if p != keepColumn {
			mask |= 1 << i
		}
	}
	return mask
}

// columnsOf returns the columns of a mask.
func columnsOf(mask uint64) []int {
	columns := make([]int, 0, bits.OnesCount64(mask))
	for ; mask != 0; mask &= mask - 1 {
		columns = append(columns, bits.TrailingZeros64(mask))
	}
	return columns
}

// keyName returns a unique name of a key. The values have the Go types of column.value.
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
