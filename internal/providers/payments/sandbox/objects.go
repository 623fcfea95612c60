package sandbox

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/form"
	"github.com/recital-tts/recital/internal/providers/payments/sandbox/store"
)

// work is what one request, or one thing that is due, does in a transaction.
type work struct {
	*Sandbox
	tx      *store.Tx
	now     time.Time
	form    *form.Form
	id      string // in the request's path
	request eventRequest
	lasting *[]func(*work) error       // what stays done if the rest is undone
	before  map[string]json.RawMessage // objects before the changes that no event has told yet, by their keys
}

func (s *Sandbox) work(tx *store.Tx) *work {
	return &work{Sandbox: s, tx: tx, now: s.clock.now().Truncate(time.Second), form: form.Parse(nil), lasting: new([]func(*work) error), before: map[string]json.RawMessage{}}
}

// base is what all objects have.
type base struct {
	ID       string            `json:"id"`
	Object   string            `json:"object"`
	Created  unix              `json:"created"`
	Livemode bool              `json:"livemode"`
	Metadata map[string]string `json:"metadata"`
}

// Key implements store.Object.
func (b *base) Key() string { return b.ID }

// Owner implements store.Object.
func (*base) Owner() string { return "" }

// Due implements store.Object.
func (*base) Due() time.Time { return time.Time{} }

// Queue implements store.Object: all but webhooks are a matter of the clock.
func (*base) Queue() string { return clockQueue }

const (
	clockQueue   = "clock"
	webhookQueue = "webhooks"
)

// newBase returns the base of a new object with the metadata of the request.
func (w *work) newBase(kind, object string) (base, error) {
	id, err := w.tx.NextID(kind)
	return base{ID: id, Object: object, Created: at(w.now), Metadata: w.metadata()}, err
}

// metadata returns the metadata of the request.
func (w *work) metadata() map[string]string {
	m := w.form.Metadata()
	maps.DeleteFunc(m, func(_, v string) bool { return v == "" })
	return m
}

// mergeMetadata changes metadata as the request says: an empty value deletes a key.
func (w *work) mergeMetadata(b *base) {
	for k, v := range w.form.Metadata() {
		b.Metadata[k] = v
		if v == "" {
			delete(b.Metadata, k)
		}
	}
}

// kept is an object of the sandbox, of type T.
type kept[T any] interface {
	*T
	store.Object
	kind() string // what its key begins with
}

// find returns the object with an id, or a problem.
func find[T any, P kept[T]](w *work, id string) (P, error) {
	o := P(new(T))
	key := keyOf(o.kind(), id)
	if !strings.HasPrefix(key, o.kind()+"_") {
		return nil, w.missing(o.kind(), id)
	}
	err := w.tx.Get(key, o)
	if errors.Is(err, store.ErrNotFound) {
		return nil, w.missing(o.kind(), id)
	}
	return o, err
}

// list returns the objects of an owner, or all if owner is "", newest first.
func list[T any, P kept[T]](w *work, owner string) ([]P, error) {
	var all []P
	for raw, err := range w.tx.List(P(new(T)).kind(), owner, "") {
		if err != nil {
			return nil, err
		}
		o := P(new(T))
		if err := json.Unmarshal(raw, o); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

const (
	scheduleKind = "sched"
	couponKind   = "coupon"
)

// keyOf returns the key under which an object is kept. It is its id, but for schedules, whose ids begin like those of
// subscriptions, and coupons, whose ids are anything.
func keyOf(kind, id string) string {
	switch kind {
	case scheduleKind:
		return strings.TrimPrefix(id, "sub_")
	case couponKind:
		return couponKind + "_" + id
	}
	return id
}

// save keeps objects as they are now.
func (w *work) save(objects ...store.Object) error {
	for _, o := range objects {
		if err := w.keepBefore(o.Key()); err != nil {
			return err
		}
		if err := w.tx.Put(o); err != nil {
			return err
		}
	}
	return nil
}

// keepBefore keeps an object as it was before it changes.
func (w *work) keepBefore(key string) error {
	if _, ok := w.before[key]; ok {
		return nil
	}
	raw, err := w.tx.Raw(key)
	if err == nil {
		w.before[key] = raw
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// saved keeps an object and returns it as a request's answer, after the event that it is about.
func (w *work) saved(o store.Object, event string) (any, error) {
	if err := w.save(o); err != nil {
		return nil, err
	}
	return o, w.emit(event, o)
}

// update keeps an object after a change, and the event that it is.
func (w *work) update(o store.Object, event string) error {
	_, err := w.saved(o, event)
	return err
}

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
