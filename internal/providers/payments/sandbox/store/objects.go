package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Object is a thing with an id.
type Object interface {
	// Key returns the id. Ids of one kind begin alike, and sort in the order in which NextID returned them.
	Key() string
	// Owner returns the id of the object that it is found by, or "".
	Owner() string
	// Due returns when something is to be done about it; the zero time means never.
	Due() time.Time
	// Queue returns the name of the queue in which it is due.
	Queue() string
}

// record is an object as it is kept, with the indexes that lead to it.
type record struct {
	Owner string          `json:"owner,omitempty"`
	Due   time.Time       `json:"due,omitzero"`
	Queue string          `json:"queue,omitempty"`
	Value json.RawMessage `json:"value"`
}

func objectKey(id string) []byte { return []byte("o/" + id) }

func ownerKey(owner, id string) []byte { return []byte("c/" + owner + "/" + id) }

func dueKey(queue string, due time.Time, id string) []byte {
	return fmt.Appendf(nil, "d/%s/%020d/%s", queue, due.UnixNano(), id)
}

// NextID returns a new id for a kind, such as "cus".
func (t *Tx) NextID(kind string) (string, error) {
	key := []byte("n/")
	n := uint64(1)
	if err := t.load(key, &n); err != nil && !errors.Is(err, ErrNotFound) {
		return "", err
	}
	if err := t.save(key, n+1); err != nil {
		return "", err
	}
	digits := strings.ToUpper(strconv.FormatUint(n, 36))
	return kind + "_" + strings.Repeat("0", max(0, 10-len(digits))) + digits, nil
}

// Setting reads a value that was kept under a name. It leaves into as it is if there is none.
func (t *Tx) Setting(name string, into any) error {
	if err := t.load([]byte("s/"+name), into); !errors.Is(err, ErrNotFound) {
		return err
	}
	return nil
}

// SetSetting keeps a value under a name.
func (t *Tx) SetSetting(name string, value any) error { return t.save([]byte("s/"+name), value) }

// Get reads the object with an id, or returns ErrNotFound.
func (t *Tx) Get(id string, into any) error {
	raw, err := t.Raw(id)
	if err != nil {
		return err
	}
	return decode(raw, into)
}

// Raw returns the JSON of the object with an id, or ErrNotFound.
func (t *Tx) Raw(id string) (json.RawMessage, error) {
	var r record
	if err := t.load(objectKey(id), &r); err != nil {
		return nil, err
	}
	return r.Value, nil
}

// Put creates or replaces an object.
func (t *Tx) Put(o Object) error {
	if err := t.unlink(o.Key()); err != nil {
		return err
	}
	value, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	r := record{Owner: o.Owner(), Due: o.Due(), Queue: o.Queue(), Value: value}
	if r.Owner != "" {
		if err := written(t.batch.Set(ownerKey(r.Owner, o.Key()), nil, nil)); err != nil {
			return err
		}
	}
	if !r.Due.IsZero() {
		if err := written(t.batch.Set(dueKey(r.Queue, r.Due, o.Key()), nil, nil)); err != nil {
			return err
		}
	}
	return t.save(objectKey(o.Key()), r)
}

// Delete deletes the object with an id, if there is one.
func (t *Tx) Delete(id string) error {
	if err := t.unlink(id); err != nil {
		return err
	}
	return written(t.batch.Delete(objectKey(id), nil))
}

// unlink drops the indexes that lead to an object.
func (t *Tx) unlink(id string) error {
	var r record
	switch err := t.load(objectKey(id), &r); {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	if err := written(t.batch.Delete(ownerKey(r.Owner, id), nil)); err != nil {
		return err
	}
	return written(t.batch.Delete(dueKey(r.Queue, r.Due, id), nil))
}

// List returns the objects of a kind, such as "cus", newest first: those of an owner, or all if owner is "". It begins
// after the object with the id after, if that is not "".
func (t *Tx) List(kind, owner, after string) iter.Seq2[json.RawMessage, error] {
	prefix := "o/" + kind + "_"
	if owner != "" {
		prefix = "c/" + owner + "/" + kind + "_"
	}
	return func(yield func(json.RawMessage, error) bool) {
		for key, err := range t.backward(prefix, after) {
			if err != nil {
				yield(nil, err)
				return
			}
			raw, err := t.Raw(kind + "_" + strings.TrimPrefix(key, prefix))
			if !yield(raw, err) || err != nil {
				return
			}
		}
	}
}

// backward returns the keys with a prefix, the last first, or those before the key whose id is before. What is written
// meanwhile is not among them.
func (t *Tx) backward(prefix, before string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		upper := prefix + "\xff"
		if _, rest, ok := strings.Cut(before, "_"); ok {
			upper = prefix + rest
		}
		it, err := t.batch.NewIter(&pebble.IterOptions{LowerBound: []byte(prefix), UpperBound: []byte(upper)})
		if err != nil {
			yield("", reading(err))
			return
		}
		for ok := it.Last(); ok; ok = it.Prev() {
			if !yield(string(it.Key()), nil) {
				_ = it.Close() // it was read only
				return
			}
		}
		if err := it.Close(); err != nil {
			yield("", reading(err))
		}
	}
}

// FirstDue returns the object that is due first in a queue, and when, of those that are not due before a time; id is "" if
// none is. What was deleted before that time need not be passed over.
func (t *Tx) FirstDue(queue string, from time.Time) (id string, due time.Time, err error) {
	err = t.eachDue(queue, from, func(first string, at time.Time) bool {
		id, due = first, at
		return false
	})
	return id, due, err
}

// Due returns the ids of the objects that are due in a queue until a time, the first at the front, and not more than most.
func (t *Tx) Due(queue string, until time.Time, most int) (ids []string, err error) {
	err = t.eachDue(queue, time.Unix(0, 0), func(id string, at time.Time) bool {
		if at.After(until) {
			return false
		}
		ids = append(ids, id)
		return len(ids) < most
	})
	return ids, err
}

// eachDue calls visit with the objects that are due in a queue from a time on, the first at the front, until it returns
// false.
func (t *Tx) eachDue(queue string, from time.Time, visit func(string, time.Time) bool) error {
	prefix := "d/" + queue + "/"
	it, err := t.batch.NewIter(&pebble.IterOptions{LowerBound: dueKey(queue, from, ""), UpperBound: []byte(prefix + "\xff")})
	if err != nil {
		return reading(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		nanoseconds, id, _ := strings.Cut(strings.TrimPrefix(string(it.Key()), prefix), "/")
		n, err := strconv.ParseInt(nanoseconds, 10, 64)
		if err != nil {
			return reading(errors.Join(err, it.Close()))
		}
		if !visit(id, time.Unix(0, n).UTC()) {
			break
		}
	}
	return reading(it.Close())
}
