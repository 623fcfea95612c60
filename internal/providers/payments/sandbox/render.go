package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/store"
)

// listing is a page of objects.
type listing struct {
	Object  string `json:"object"`
	URL     string `json:"url"`
	HasMore bool   `json:"has_more"`
	Data    []any  `json:"data"`
}

func newListing(url string) *listing { return &listing{Object: "list", URL: url, Data: []any{}} }

const (
	usualPage = 10
	fullPage  = 100
)

// page returns the page of objects that a request wants: those of an owner, or all if owner is "", that match.
func page[T any, P kept[T]](w *work, owner string, match func(P) bool) (any, error) {
	limit := int(w.form.Int("limit", usualPage))
	after, before := w.form.String("starting_after"), w.form.String("ending_before")
	if limit < 1 || limit > fullPage {
		return nil, invalid("parameter_invalid_integer", "limit", "Invalid limit: must be between 1 and %d", fullPage)
	}
	if err := w.known(owner); err != nil {
		return nil, err
	}
	kind := P(new(T)).kind()
	for _, id := range []string{after, before} {
		if id == "" {
			continue
		}
		if _, err := find[T, P](w, id); err != nil {
			return nil, err
		}
	}
	all := newListing("/v1/" + nameOf(kind) + "s")
	for raw, err := range w.tx.List(kind, owner, keyOf(kind, after)) {
		if err != nil {
			return nil, err
		}
		o := P(new(T))
		if err := json.Unmarshal(raw, o); err != nil {
			return nil, err
		}
		if before != "" && o.Key() == keyOf(kind, before) {
			break
		}
		if !match(o) {
			continue
		}
		all.Data = append(all.Data, o)
		if before == "" && len(all.Data) > limit {
			break
		}
	}
	if all.HasMore = len(all.Data) > limit; !all.HasMore {
		return all, nil
	}
	if before != "" { // those next to it
		all.Data = slices.Clone(all.Data[len(all.Data)-limit:])
	} else {
		all.Data = all.Data[:limit]
	}
	return all, nil
}

// known returns a problem if there is no owner of a list.
func (w *work) known(owner string) error {
	if owner == "" {
		return nil
	}
	kind, _, _ := strings.Cut(owner, "_")
	_, err := w.tx.Raw(owner)
	if errors.Is(err, store.ErrNotFound) {
		return w.missing(kind, owner)
	}
	return err
}

// created returns the filter of a request by the time of creation.
func (w *work) created() func(unix) bool {
	f := w.form.Sub("created")
	exactly := w.form.Int("created", 0)
	gt, gte, lt, lte := f.Int("gt", 0), f.Int("gte", 0), f.Int("lt", 0), f.Int("lte", 0)
	return func(u unix) bool {
		t := int64(u)
		return (exactly == 0 || t == exactly) && (gt == 0 || t > gt) && (gte == 0 || t >= gte) &&
			(lt == 0 || t < lt) && (lte == 0 || t <= lte)
	}
}

// private is how the names of fields begin that are the sandbox's own.
const private = "sandbox_"

const deepestExpansion = 4

// render returns an answer as JSON shows it, with the objects that are to be expanded in place of their ids.
func (w *work) render(o any, expand []string) (any, error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	v, err := w.show(raw)
	if err != nil {
		return nil, err
	}
	for _, path := range expand {
		parts := strings.Split(path, ".")
		if len(parts) > deepestExpansion {
			return nil, invalid("", "expand", "You cannot expand more than %d levels of a property. Property: %s", deepestExpansion, path)
		}
		if err := w.expand(v, parts); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// show decodes an object without the fields that are the sandbox's own.
func (w *work) show(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, err
	}
	return v, w.tidy(v)
}

func (w *work) tidy(v any) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := w.tidy(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, e := range v {
			if strings.HasPrefix(name, private) {
				delete(v, name)
				continue
			}
			if err := w.tidy(e); err != nil {
				return err
			}
		}
		return w.complete(v)
	}
	return nil
}

// complete adds to an object what is not kept with it.
func (w *work) complete(o map[string]any) (err error) {
	id, _ := o["id"].(string)
	switch {
	case o["object"] == "invoice" && o["status"] != "draft":
		o["hosted_invoice_url"] = w.URL() + invoicePath + id
		o["invoice_pdf"] = w.URL() + invoicePath + id + "/pdf"
	case o["object"] == "subscription_item":
		if p, ok := o["price"].(string); ok {
			o["price"], err = w.fetch("price", p)
		}
	}
	return err
}

// invoicePath is where the pages of invoices are.
const invoicePath = "/pages/invoices/"

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

// expanded returns a field of an object, with objects in place of ids.
func (w *work) expanded(o map[string]any, name string) (any, error) {
	id, _ := o["id"].(string)
	if o["object"] == "invoice" && name == "confirmation_secret" {
		return w.confirmationSecret(id)
	}
	if o["object"] == "invoice" && name == "payments" {
		return w.invoicePaymentsOf(id)
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

// fetch returns the object that a field names.
func (w *work) fetch(field, id string) (any, error) {
	kind := ""
	switch {
	case field == "coupon":
		kind = couponKind
	case strings.HasPrefix(id, "sub_sched_"):
		kind = scheduleKind
	}
	raw, err := w.tx.Raw(keyOf(kind, id))
	if errors.Is(err, store.ErrNotFound) {
		return nil, invalid("", "expand", "This property cannot be expanded (%s).", field)
	}
	if err != nil {
		return nil, err
	}
	return w.show(raw)
}

// searched is the answer to a search.
type searched struct {
	Object   string `json:"object"`
	URL      string `json:"url"`
	HasMore  bool   `json:"has_more"`
	NextPage text   `json:"next_page"`
	Data     []any  `json:"data"`
}

// clause is a condition such as metadata['attempt']:'x'.
type clause struct{ field, key, value string }

// parseQuery reads the part of Stripe's query language that the sandbox knows: conditions of equality, joined by AND.
func parseQuery(query string) ([]clause, error) {
	condition := regexp.MustCompile(`^(\w+)(?:\[["']([^"']*)["']\])?:(?:"([^"]*)"|'([^']*)')$`)
	var all []clause
	for _, part := range strings.Split(query, " AND ") {
		m := condition.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return nil, invalid("", "query", "We were unable to parse your search query: %s", query)
		}
		all = append(all, clause{field: m[1], key: m[2], value: m[3] + m[4]})
	}
	return all, nil
}

func (c clause) match(o map[string]any) bool {
	v := o[c.field]
	if c.key != "" {
		inside, _ := v.(map[string]any)
		v = inside[c.key]
	}
	switch v := v.(type) {
	case string:
		return v == c.value
	case bool:
		return (c.value == "true") == v
	}
	return false
}

// search finds objects of a kind.
func search[T any, P kept[T]](w *work) (any, error) {
	clauses, err := parseQuery(w.form.Required("query"))
	if err != nil {
		return nil, err
	}
	limit, after := int(w.form.Int("limit", usualPage)), w.form.String("page")
	kind := P(new(T)).kind()
	found := &searched{Object: "search_result", URL: "/v1/" + nameOf(kind) + "s/search", Data: []any{}}
	for raw, err := range w.tx.List(kind, "", keyOf(kind, after)) {
		if err != nil {
			return nil, err
		}
		o := P(new(T))
		if err := json.Unmarshal(raw, o); err != nil {
			return nil, err
		}
		matches, err := w.matches(raw, clauses)
		if err != nil {
			return nil, err
		}
		if !matches {
			continue
		}
		if len(found.Data) == limit {
			found.HasMore = true
			break
		}
		found.Data = append(found.Data, o)
		found.NextPage = text(o.Key())
	}
	if !found.HasMore {
		found.NextPage = ""
	}
	return found, nil
}

func (w *work) matches(raw []byte, clauses []clause) (bool, error) {
	shown, err := w.show(raw)
	o, ok := shown.(map[string]any)
	if err != nil || !ok || o["deleted"] == true {
		return false, err
	}
	for _, c := range clauses {
		if !c.match(o) {
			return false, nil
		}
	}
	return true, nil
}
