package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/store"
)

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
