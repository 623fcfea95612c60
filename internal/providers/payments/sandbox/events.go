package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stripe/stripe-go/v84/webhook"

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

const (
	deliveryTimeout  = 20 * time.Second
	firstRedelivery  = time.Second
	lastRedelivery   = time.Hour
	redeliveriesFor  = 3 * 24 * time.Hour
	deliveryInterval = 250 * time.Millisecond
)

// delivery is a webhook that has not been acknowledged yet.
type delivery struct {
	Event    string    `json:"event"`
	Type     string    `json:"type"`
	Next     time.Time `json:"next"`
	Began    time.Time `json:"began,omitzero"` // the first attempt
	Attempts int       `json:"attempts"`
}

// Key implements store.Object.
func (d *delivery) Key() string { return deliveryKey(d.Event) }

func deliveryKey(eventID string) string { return "whd" + strings.TrimPrefix(eventID, "evt") }

// Owner implements store.Object.
func (*delivery) Owner() string { return "" }

// Due implements store.Object.
func (d *delivery) Due() time.Time { return d.Next }

// Queue implements store.Object.
func (*delivery) Queue() string { return webhookQueue }

func (*delivery) kind() string { return "whd" }

// deliveries is where webhooks go.
type deliveries struct {
	mu       sync.Mutex
	url      string
	disorder Disorder
	client   *http.Client
	woken    chan struct{}
}

func (d *deliveries) init(url string) {
	d.url, d.woken = url, make(chan struct{}, 1)
	d.client = &http.Client{Timeout: deliveryTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
}

func (d *deliveries) wake() {
	select {
	case d.woken <- struct{}{}:
	default:
	}
}

func (d *deliveries) setURL(url string) {
	d.mu.Lock()
	d.url = url
	d.mu.Unlock()
	d.wake()
}

func (d *deliveries) target() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.url
}

func (d *deliveries) manner() Disorder {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.disorder
}

// deliver sends webhooks until ctx ends.
func (s *Sandbox) deliver(ctx context.Context) error {
	defer s.deliveries.client.CloseIdleConnections()
	ticker := time.NewTicker(deliveryInterval)
	defer ticker.Stop()
	for {
		if err := s.deliverDue(ctx); err != nil && ctx.Err() == nil {
			s.config.Logger.Error("the payment sandbox cannot send webhooks", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.deliveries.woken:
		case <-ticker.C:
		}
	}
}

// deliveriesAtOnce is how many webhooks are read, and shuffled, at once.
const deliveriesAtOnce = 100

// deliverDue sends the webhooks whose time has come, oldest first unless there is to be disorder.
func (s *Sandbox) deliverDue(ctx context.Context) error {
	for ctx.Err() == nil {
		manner := s.deliveries.manner()
		if s.deliveries.target() == "" || manner.Hold {
			return nil
		}
		due, err := s.dueDeliveries()
		if err != nil || len(due) == 0 {
			return err
		}
		if manner.Shuffle {
			rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
		}
		for _, d := range due {
			if ctx.Err() != nil || s.deliveries.manner() != manner {
				break
			}
			if err := s.deliverOne(ctx, d, manner); err != nil {
				return err
			}
		}
	}
	return nil
}

// dueDeliveries returns webhooks whose time has come, oldest first.
func (s *Sandbox) dueDeliveries() (due []*delivery, err error) {
	err = s.store.Update(func(tx *store.Tx) error {
		ids, err := tx.Due(webhookQueue, s.clock.now(), deliveriesAtOnce)
		if err != nil {
			return err
		}
		for _, id := range ids {
			d := &delivery{}
			if err := tx.Get(id, d); err != nil {
				return err
			}
			due = append(due, d)
		}
		return nil
	})
	return due, err
}

func (s *Sandbox) deliverOne(ctx context.Context, d *delivery, manner Disorder) error {
	if d.Attempts == 0 && strikes(manner.Lose) {
		return s.Lose(d.Event)
	}
	failed := s.send(ctx, d.Event)
	if failed == nil && strikes(manner.Duplicate) {
		failed = s.send(ctx, d.Event)
	}
	if ctx.Err() != nil {
		return nil
	}
	return s.attempted(d, failed)
}

// waiting returns the webhooks that have not been acknowledged, oldest first.
func (s *Sandbox) waiting() (waiting []*delivery, err error) {
	err = s.store.Update(func(tx *store.Tx) error {
		waiting, err = list[delivery](s.work(tx), "")
		return err
	})
	slices.Reverse(waiting)
	return waiting, err
}

// attempted notes an attempt to send a webhook. If it was not acknowledged, it is sent again later. What is lost of this in
// a crash makes a duplicate.
func (s *Sandbox) attempted(d *delivery, failed error) error {
	return s.store.UpdateSoon(func(tx *store.Tx) error {
		if failed == nil {
			return s.work(tx).delivered(d.Event, true)
		}
		now := s.clock.now()
		if d.Attempts == 0 {
			d.Began = now
		}
		d.Attempts++
		d.Next = now.Add(min(firstRedelivery<<min(d.Attempts-1, 20), lastRedelivery))
		if d.Next.Sub(d.Began) > redeliveriesFor {
			return s.work(tx).delivered(d.Event, false)
		}
		return tx.Put(d)
	})
}

// Webhook returns the body of an event's webhook and its signature, as of now.
func (s *Sandbox) Webhook(id string) (body []byte, signature string, err error) {
	err = s.store.Update(func(tx *store.Tx) error {
		w := s.work(tx)
		e, err := find[event](w, id)
		if err != nil {
			return err
		}
		shown, err := w.render(e, nil)
		if err != nil {
			return err
		}
		body, err = json.Marshal(shown)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{
		Payload: body, Secret: s.config.WebhookSecret, Timestamp: time.Now(),
	})
	return body, signed.Header, nil
}

func (s *Sandbox) send(ctx context.Context, id string) error {
	body, signature, err := s.Webhook(id)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.deliveries.target(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.Header.Set("Stripe-Signature", signature)
	response, err := s.deliveries.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the webhook was answered with %d", response.StatusCode)
	}
	return nil
}

// Disorder is how webhooks come other than once, at once and in their order. The zero value is order.
type Disorder struct {
	Hold      bool          // none is sent: they wait
	Lose      int           // of a hundred, how many are never sent
	Duplicate int           // of a hundred, how many are sent twice
	Shuffle   bool          // those that wait are sent in any order
	Delay     time.Duration // before each is sent first
}

// Disorder sets how webhooks come from now on.
func (s *Sandbox) Disorder(d Disorder) {
	s.deliveries.mu.Lock()
	s.deliveries.disorder = d
	s.deliveries.mu.Unlock()
	s.deliveries.wake()
}

// Pending returns the ids of the events whose webhooks have not been acknowledged, oldest first.
func (s *Sandbox) Pending() ([]string, error) {
	waiting, err := s.waiting()
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(waiting))
	for _, d := range waiting {
		ids = append(ids, d.Event)
	}
	return ids, nil
}

// Deliver sends the webhook of an event now, whether or not it was sent before.
func (s *Sandbox) Deliver(ctx context.Context, eventID string) error {
	if err := s.send(ctx, eventID); err != nil {
		return err
	}
	return s.store.Update(func(tx *store.Tx) error { return s.work(tx).delivered(eventID, true) })
}

// Lose has the webhook of an event never sent.
func (s *Sandbox) Lose(eventID string) error {
	return s.store.Update(func(tx *store.Tx) error { return s.work(tx).delivered(eventID, false) })
}

// strikes reports whether something befalls one of those that it befalls in a hundred.
func strikes(ofHundred int) bool { return rand.IntN(100) < ofHundred }
