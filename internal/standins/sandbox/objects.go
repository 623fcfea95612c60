package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/recital-tts/recital/internal/standins/sandbox/form"
)

// work is the context of a request, or of an item of due work, in a transaction.
type work struct {
	*Sandbox
	tx   *transaction
	now  time.Time
	form *form.Form
	id   string // the id in the request's path
}

func (s *Sandbox) work(tx *transaction) *work {
	return &work{Sandbox: s, tx: tx, now: s.clock.now().Truncate(time.Second), form: form.Parse(nil)}
}

// look calls do in a transaction. do must not make changes.
func look[T any](s *Sandbox, do func(*work) (T, error)) (found T, err error) {
	err = s.store.update(func(tx *transaction) (err error) {
		found, err = do(s.work(tx))
		return err
	})
	return found, err
}

// base holds the fields of all objects.
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

// remains returns the response for a deleted object.
func (b *base) remains() any { return map[string]any{"id": b.ID, "object": b.Object, "deleted": true} }

func (w *work) metadata() map[string]string {
	m := w.form.Metadata()
	maps.DeleteFunc(m, func(_, v string) bool { return v == "" })
	return m
}

// newBase returns the base of a new object, with the request's metadata.
func (w *work) newBase(prefix, object string) base {
	return base{ID: w.tx.nextID(prefix), Object: object, Created: at(w.now), Metadata: w.metadata()}
}

// bareBase is like newBase, for objects without metadata.
func (w *work) bareBase(prefix, object string) base {
	return base{ID: w.tx.nextID(prefix), Object: object, Created: at(w.now)}
}

// mergeMetadata merges the request's metadata into an object's. An empty value deletes a key.
func (w *work) mergeMetadata(b *base) {
	for k, v := range w.form.Metadata() {
		b.Metadata[k] = v
		if v == "" {
			delete(b.Metadata, k)
		}
	}
}

// object is an object in the store.
type object interface {
	key() string      // starts with the kind and "_"
	owner() string    // key of the object that it is listed by, or ""
	dueAt() time.Time // time of its next due work, or the zero time
}

// stored is implemented by objects of type *T.
type stored[T any] interface {
	*T
	object
	kind() string
	createdAt() unix
}

// find returns the object with this id, or a problem.
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

// get returns an object that another object refers to. It panics if there is none.
func get[T any, P stored[T], ID ~string](w *work, id ID) P {
	o, err := find[T, P](w, string(id))
	if err != nil {
		panic(fmt.Sprintf("the payment sandbox's state is inconsistent: %v", err))
	}
	return o
}

// list returns the objects of an owner, newest first. If owner is "", it returns all objects of the type.
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

// keyOf returns the key of an object. It is its id, except for schedules, whose ids have the prefix of subscriptions,
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

// save stores objects.
func (w *work) save(objects ...object) {
	for _, o := range objects {
		w.tx.put(o.key(), record{Owner: o.owner(), Due: o.dueAt(), Value: encode(o)})
	}
}

// saved stores an object, emits an event about it, and returns it as the response to a request.
func (w *work) saved(o object, event string) any {
	w.save(o)
	w.emit(event, o)
	return o
}

// update stores an object and emits an event about it.
func (w *work) update(o object, event string) { w.saved(o, event) }

// unix is a time in Unix seconds. 0 is null in JSON.
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

// text is a string, or the id of an object that a request can expand. "" is null in JSON.
type text string

// MarshalJSON implements json.Marshaler.
func (t text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(t))
}

// private is the prefix of fields that are not part of the API.
const private = "sandbox_"

// inner is a list inside of an object.
type inner[T any] struct {
	Object string `json:"object"`
	Data   []T    `json:"data"`
}

// listing is a page of objects.
type listing struct {
	inner[any]
	URL     string `json:"url"`
	HasMore bool   `json:"has_more"`
}

const (
	usualPage = 10
	fullPage  = 100
)

// listOf returns an operation that lists objects, newest first. If ownerParam is not "", the parameter of that name
// limits the list to the objects of an owner. match, which may be nil, returns a further filter from the request.
func listOf[T any, P stored[T]](ownerParam string, match func(*work) func(P) bool) operation {
	return func(w *work) (any, error) {
		limit, after, owner := int(w.form.Int("limit", usualPage)), w.form.String("starting_after"), ""
		if limit < 1 || limit > fullPage {
			return nil, invalid("parameter_invalid_integer", "limit", "Invalid limit: must be between 1 and %d", fullPage)
		}
		if ownerParam != "" {
			owner = w.form.String(ownerParam)
		}
		if _, ok := w.tx.get(owner); owner != "" && !ok {
			return nil, w.missing(ownerParam, owner)
		}
		created, matches := w.created(), func(P) bool { return true }
		if match != nil {
			matches = match(w)
		}
		kind := P(new(T)).kind()
		if after != "" {
			if _, err := find[T, P](w, after); err != nil {
				return nil, err
			}
		}
		page := &listing{inner[any]{"list", []any{}}, "/v1/" + kind, false}
		for _, o := range list[T, P](w, owner) {
			if after != "" && o.key() >= keyOf(kind, after) || !created(o.createdAt()) || !matches(o) {
				continue
			}
			if page.HasMore = len(page.Data) == limit; page.HasMore {
				break
			}
			page.Data = append(page.Data, o)
		}
		return page, nil
	}
}

// created returns the filter from the parameter created.
func (w *work) created() func(unix) bool {
	f := w.form.Sub("created")
	from, until := f.Int("gte", 0), f.Int("lt", 0)
	return func(u unix) bool { return int64(u) >= from && (until == 0 || int64(u) < until) }
}

// render returns the JSON value of a response, in which expand names ids to replace by their objects.
func (w *work) render(o any, expand []string) (any, error) {
	v := w.show(encode(o))
	for _, path := range expand {
		if err := w.expand(v, strings.Split(path, ".")); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// show decodes an object, without private fields and with computed ones.
func (w *work) show(raw []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		panic(err) // encode has written it
	}
	w.tidy(v)
	return v
}

func (w *work) tidy(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			w.tidy(e)
		}
	case map[string]any:
		for name, e := range v {
			if strings.HasPrefix(name, private) {
				delete(v, name)
				continue
			}
			w.tidy(e)
		}
		w.complete(v)
	}
}

// complete adds the computed fields of an object.
func (w *work) complete(o map[string]any) {
	id, _ := o["id"].(string)
	switch {
	case o["object"] == "invoice" && o["status"] != "draft":
		o["hosted_invoice_url"] = w.URL() + invoicePath + id
		o["invoice_pdf"] = o["hosted_invoice_url"] // people can print the page from their browser
	case o["object"] == "subscription_item":
		if p, ok := o["price"].(string); ok {
			o["price"] = w.show(encode(get[price](w, p)))
		}
	}
}

// expand replaces the ids at a path by their objects.
func (w *work) expand(v any, path []string) error {
	if len(path) == 0 {
		return nil
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := w.expand(e, path); err != nil {
				return err
			}
		}
	case map[string]any:
		field, err := w.expanded(v, path[0])
		if err != nil {
			return err
		}
		v[path[0]] = field
		return w.expand(field, path[1:])
	}
	return nil
}

// expanded returns a field of an object, with ids replaced by their objects.
func (w *work) expanded(o map[string]any, name string) (any, error) {
	id, _ := o["id"].(string)
	if o["object"] == "invoice" && name == "confirmation_secret" {
		return w.confirmationSecret(get[invoice](w, id)), nil
	}
	if o["object"] == "invoice" && name == "payments" {
		return w.show(encode(inner[*invoicePayment]{"list", list[invoicePayment](w, id)})), nil
	}
	v, ok := o[name]
	if !ok {
		return nil, invalid("", "expand", "This property cannot be expanded (%s).", name)
	}
	switch v := v.(type) {
	case string:
		return w.fetch(name, v)
	case []any:
		for i, e := range v {
			if id, ok := e.(string); ok {
				o, err := w.fetch(name, id)
				if err != nil {
					return nil, err
				}
				v[i] = o
			}
		}
	}
	return v, nil
}

// fetch returns the object with an id that a field has.
func (w *work) fetch(field, id string) (any, error) {
	kind := ""
	switch {
	case field == "coupon":
		kind = couponKind
	case strings.HasPrefix(id, "sub_sched_"):
		kind = scheduleKind
	}
	r, ok := w.tx.get(keyOf(kind, id))
	if !ok {
		return nil, invalid("", "expand", "This property cannot be expanded (%s).", field)
	}
	return w.show(r.Value), nil
}
