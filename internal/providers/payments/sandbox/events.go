package sandbox

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/store"
)

// Stripe keeps events for 30 days.
const eventsKept = 30 * 24 * time.Hour

// event is something that happened to an object.
type event struct {
	base
	APIVersion      string       `json:"api_version"`
	Type            string       `json:"type"`
	Data            eventData    `json:"data"`
	PendingWebhooks int          `json:"pending_webhooks"`
	Request         eventRequest `json:"request"`
	Old             bool         `json:"sandbox_old,omitempty"` // it is forgotten once its webhook was sent
}

type eventData struct {
	Object             json.RawMessage `json:"object"`
	PreviousAttributes map[string]any  `json:"previous_attributes,omitempty"`
}

type eventRequest struct {
	ID             text `json:"id"`
	IdempotencyKey text `json:"idempotency_key"`
}

func (*event) kind() string { return "evt" }

// Due implements store.Object.
func (e *event) Due() time.Time {
	if e.Old {
		return time.Time{}
	}
	return e.Created.time().Add(eventsKept)
}

// emit keeps an event about an object as it is now, and a webhook that tells of it.
func (w *work) emit(kind string, o store.Object) error {
	rendered, err := w.render(o, nil)
	if err != nil {
		return err
	}
	object, err := json.Marshal(rendered)
	if err != nil {
		return err
	}
	previous, err := w.previous(kind, o.Key(), rendered)
	if err != nil {
		return err
	}
	b, err := w.newBase("evt", "event")
	if err != nil {
		return err
	}
	b.Metadata = nil
	e := &event{
		base: b, APIVersion: APIVersion, Type: kind, Data: eventData{Object: object, PreviousAttributes: previous},
		PendingWebhooks: 1, Request: w.request,
	}
	return w.save(e, &delivery{Event: e.ID, Type: kind, Next: w.now.Add(w.deliveries.manner().Delay)})
}

// previous returns what an event says of the fields that have changed, where it is about a change.
func (w *work) previous(kind, key string, now any) (map[string]any, error) {
	raw := w.before[key]
	delete(w.before, key)
	if raw == nil || !strings.HasSuffix(kind, ".updated") && !strings.HasSuffix(kind, ".detached") {
		return nil, nil
	}
	before, err := w.show(raw)
	if err != nil {
		return nil, err
	}
	fields, _ := before.(map[string]any)
	current, _ := now.(map[string]any)
	maps.DeleteFunc(fields, func(name string, v any) bool { return reflect.DeepEqual(v, current[name]) })
	return fields, nil
}

// eventDue forgets an event, unless its webhook has yet to be sent.
func (w *work) eventDue(id string) error {
	e, err := find[event](w, id)
	if err != nil {
		return err
	}
	switch _, err := w.tx.Raw(deliveryKey(id)); {
	case errors.Is(err, store.ErrNotFound):
		return w.tx.Delete(id)
	case err != nil:
		return err
	}
	e.Old = true
	return w.tx.Put(e)
}

// delivered ends the webhook of an event: it was acknowledged, or is never sent again.
func (w *work) delivered(id string, acknowledged bool) error {
	if err := w.tx.Delete(deliveryKey(id)); err != nil {
		return err
	}
	var e event
	switch err := w.tx.Get(id, &e); {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	case e.Old:
		return w.tx.Delete(id)
	case !acknowledged:
		return nil
	}
	e.PendingWebhooks = 0
	return w.tx.Put(&e)
}

func getEvent(w *work) (any, error) { return find[event](w, w.id) }

func listEvents(w *work) (any, error) {
	types := w.form.Strings("types")
	if t := w.form.String("type"); t != "" {
		types = append(types, t)
	}
	created, delivered := w.created(), w.form.String("delivery_success")
	oldest := at(w.now.Add(-eventsKept))
	return page(w, "", func(e *event) bool {
		return (len(types) == 0 || slices.Contains(types, e.Type)) && created(e.Created) && e.Created > oldest &&
			(delivered == "" || (delivered == "true") == (e.PendingWebhooks == 0))
	})
}
