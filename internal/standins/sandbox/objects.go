package sandbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/recital-tts/recital/internal/standins/sandbox/form"
)

// work is what one request, or one thing that is due, does in a transaction.
type work struct {
	*Sandbox
	tx   *transaction
	now  time.Time
	form *form.Form
	id   string // in the request's path
}

func (s *Sandbox) work(tx *transaction) *work {
	return &work{Sandbox: s, tx: tx, now: s.clock.now().Truncate(time.Second), form: form.Parse(nil)}
}

// read calls do with a transaction that changes nothing.
func (s *Sandbox) read(do func(*work) error) error {
	return s.store.update(func(tx *transaction) error { return do(s.work(tx)) })
}

// base holds the fields that all objects have.
type base struct {
	ID       string            `json:"id"`
	Object   string            `json:"object"`
	Created  unix              `json:"created"`
	Metadata map[string]string `json:"metadata"`
}

func (b *base) key() string     { return b.ID }
func (b *base) createdAt() unix { return b.Created }
func (*base) owner() string     { return "" }
func (*base) dueAt() time.Time  { return time.Time{} }
func (w *work) metadata() map[string]string {
	m := w.form.Metadata()
	maps.DeleteFunc(m, func(_, v string) bool { return v == "" })
	return m
}

// newBase returns the base of a new object with the metadata of the request.
func (w *work) newBase(prefix, object string) base {
	return base{ID: w.tx.nextID(prefix), Object: object, Created: at(w.now), Metadata: w.metadata()}
}

// mergeMetadata changes metadata as the request demands: an empty value deletes a key.
func (w *work) mergeMetadata(b *base) {
	for k, v := range w.form.Metadata() {
		b.Metadata[k] = v
		if v == "" {
			delete(b.Metadata, k)
		}
	}
}

// object is what the store keeps.
type object interface {
	key() string      // begins with the kind and "_"
	owner() string    // key of the object that lists it, or ""
	dueAt() time.Time // when the clock has something to do for it, or the zero time
}

// stored is an object of type T.
type stored[T any] interface {
	*T
	object
	kind() string
	createdAt() unix
}

// find returns the object with an id, or a problem.
func find[T any, P stored[T]](w *work, id string) (P, error) {
	o := P(new(T))
	key := keyOf(o.kind(), id)
	r, ok := w.tx.get(key)
	if !ok || kindOf(key) != o.kind() {
		return nil, w.missing(o.kind(), id)
	}
	decode(r.Value, o)
	return o, nil
}

// get returns the object with an id that another object has, so that it exists.
func get[T any, P stored[T], ID ~string](w *work, id ID) P {
	o, err := find[T, P](w, string(id))
	if err != nil {
		panic(fmt.Sprintf("the payment sandbox's state is inconsistent: %v", err))
	}
	return o
}

// list returns the objects of an owner, or all if owner is "", newest first.
func list[T any, P stored[T]](w *work, owner string) []P {
	var all []P
	for _, key := range w.tx.keys(P(new(T)).kind(), owner) {
		o := P(new(T))
		r, _ := w.tx.get(key)
		decode(r.Value, o)
		all = append(all, o)
	}
	return all
}

const (
	scheduleKind = "sched"
	couponKind   = "coupon"
)

// keyOf returns the key of an object. It is its id, except for schedules, whose ids begin like those of subscriptions,
// and coupons, whose ids are arbitrary.
func keyOf(kind, id string) string {
	switch kind {
	case scheduleKind:
		return strings.TrimPrefix(id, "sub_")
	case couponKind:
		return couponKind + "_" + id
	}
	return id
}

// save stores objects as they are now.
func (w *work) save(objects ...object) {
	for _, o := range objects {
		w.tx.put(o.key(), record{Owner: o.owner(), Due: o.dueAt(), Value: encode(o)})
	}
}

// saved stores an object, records an event about it, and returns it as the answer to a request.
func (w *work) saved(o object, event string) any {
	w.save(o)
	w.emit(event, o)
	return o
}

// update stores an object and records an event about it.
func (w *work) update(o object, event string) { w.saved(o, event) }

// unix is a time in Unix seconds; 0 is null.
type unix int64

func at(t time.Time) unix {
	if t.IsZero() {
		return 0
	}
	return unix(t.Unix())
}

func (u unix) time() time.Time {
	if u == 0 {
		return time.Time{}
	}
	return time.Unix(int64(u), 0).UTC()
}

// MarshalJSON implements json.Marshaler.
func (u unix) MarshalJSON() ([]byte, error) {
	if u == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(int64(u))
}

// text is a string; "" is null. It may be the id of an object, which a request can expand.
type text string

// MarshalJSON implements json.Marshaler.
func (t text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(t))
}
