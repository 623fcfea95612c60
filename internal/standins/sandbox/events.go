package sandbox

import (
	"bytes"
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stripe/stripe-go/v84/webhook"

	"github.com/recital-tts/recital/internal/standins"
)

// keepEvents is the time that Stripe keeps events.
const keepEvents = 30 * 24 * time.Hour

// event reports a change of an object.
type event struct {
	base
	APIVersion string    `json:"api_version"`
	Type       string    `json:"type"`
	Data       eventData `json:"data"`
}

type eventData struct {
	Object json.RawMessage `json:"object"`
}

func (*event) kind() string { return "evt" }

// emit stores an event with the object's current state, and the delivery of its webhook.
func (w *work) emit(kind string, o object) {
	e := &event{
		base: w.bareBase("evt", "event"), APIVersion: APIVersion, Type: kind,
		Data: eventData{encode(w.show(encode(o)))},
	}
	next := w.now.Add(time.Duration(w.deliveries.manner().Delay))
	w.save(e, &delivery{base: base{ID: deliveryKey(e.ID)}, Event: e.ID, Next: next})
}

// eventsKept returns the filter for a list of events.
func eventsKept(w *work) func(*event) bool {
	oldest := at(w.now.Add(-keepEvents))
	return func(e *event) bool { return e.Created > oldest }
}

// forgetOld deletes expired events and replies.
func (w *work) forgetOld() {
	kept := eventsKept(w)
	for _, e := range list[event](w, "") {
		if _, waits := w.tx.get(deliveryKey(e.ID)); !waits && !kept(e) {
			w.tx.delete(e.ID)
		}
	}
	for _, r := range list[remembered](w, "") {
		if !w.now.Before(r.Until) {
			w.tx.delete(r.ID)
		}
	}
}

const (
	deliveryTimeout  = 20 * time.Second
	firstRedelivery  = time.Second
	lastRedelivery   = time.Hour
	redeliveriesFor  = 3 * 24 * time.Hour
	deliveryInterval = 250 * time.Millisecond
)

// delivery is a webhook that is not acknowledged yet.
type delivery struct {
	base
	Event    string    `json:"event"`
	Next     time.Time `json:"next"`
	Began    time.Time `json:"began,omitzero"` // time of the first attempt
	Attempts int       `json:"attempts"`
}

func (*delivery) kind() string { return "whd" }

func deliveryKey(eventID string) string { return "whd" + strings.TrimPrefix(eventID, "evt") }

// Disorder describes how webhooks deviate from arriving once, immediately and in order. The zero value is no deviation.
type Disorder struct {
	Hold      bool          `json:"hold"`      // none is sent until this is false
	Lose      int           `json:"lose"`      // percentage that is never sent
	Duplicate int           `json:"duplicate"` // percentage that is sent twice
	Shuffle   bool          `json:"shuffle"`   // waiting ones are sent in random order
	Delay     standins.Span `json:"delay"`     // before the first attempt
}

// deliveries sends webhooks.
type deliveries struct {
	url      atomic.Pointer[string]
	disorder atomic.Pointer[Disorder]
	client   *http.Client
	woken    chan struct{}
}

func (d *deliveries) init(url *string) {
	d.url.Store(url)
	d.disorder.Store(&Disorder{})
	d.woken = make(chan struct{}, 1)
	d.client = &http.Client{Timeout: deliveryTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
}

func (d *deliveries) wake() {
	select {
	case d.woken <- struct{}{}:
	default:
	}
}

func (d *deliveries) setURL(url string) {
	d.url.Store(&url)
	d.wake()
}

func (d *deliveries) target() string { return *d.url.Load() }

// hasTarget reports whether there is an address for webhooks. Without one, webhooks wait.
func (s *Sandbox) hasTarget() bool {
	others, _ := look(s, func(w *work) ([]*endpoint, error) { return list[endpoint](w, ""), nil }) // look cannot fail here
	return s.deliveries.target() != "" || len(others) > 0
}

func (d *deliveries) manner() Disorder { return *d.disorder.Load() }

// Disorder sets how webhooks arrive.
func (s *Sandbox) Disorder(d Disorder) {
	s.deliveries.disorder.Store(&d)
	s.deliveries.wake()
}

// Deliver sends the webhook of an event immediately, even if it was acknowledged before.
func (s *Sandbox) Deliver(ctx context.Context, eventID string) error {
	if err := s.send(ctx, eventID); err != nil {
		return err
	}
	return s.delivered(eventID)
}

// delivered deletes the delivery of an event that was acknowledged or is given up.
func (s *Sandbox) delivered(eventID string) error {
	return s.store.update(func(tx *transaction) error {
		tx.delete(deliveryKey(eventID))
		return nil
	})
}

// deliver sends webhooks until ctx ends.
func (s *Sandbox) deliver(ctx context.Context) error {
	defer s.deliveries.client.CloseIdleConnections()
	return s.repeat(ctx, "send webhooks", s.deliverDue, deliveryInterval, s.deliveries.woken)
}

// deliverDue sends the webhooks that are due, oldest first unless they are shuffled.
func (s *Sandbox) deliverDue(ctx context.Context) error {
	for ctx.Err() == nil {
		manner := s.deliveries.manner()
		if manner.Hold || !s.hasTarget() {
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

// dueDeliveries returns the deliveries that are due, oldest first.
func (s *Sandbox) dueDeliveries() ([]*delivery, error) {
	return look(s, func(w *work) ([]*delivery, error) {
		due := slices.DeleteFunc(list[delivery](w, ""), func(d *delivery) bool { return d.Next.After(s.clock.now()) })
		slices.Reverse(due)
		return due, nil
	})
}

func (s *Sandbox) deliverOne(ctx context.Context, d *delivery, manner Disorder) error {
	if d.Attempts == 0 && strikes(manner.Lose) {
		return s.delivered(d.Event)
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

// strikes returns true with a probability of percentage.
func strikes(percentage int) bool { return rand.IntN(100) < percentage }

// attempted records an attempt to send a webhook, and plans the next attempt if it failed.
func (s *Sandbox) attempted(d *delivery, failed error) error {
	if failed == nil {
		return s.delivered(d.Event)
	}
	now := s.clock.now()
	if d.Attempts == 0 {
		d.Began = now
	}
	d.Attempts++
	d.Next = now.Add(min(firstRedelivery<<min(d.Attempts-1, 20), lastRedelivery))
	if d.Next.Sub(d.Began) > redeliveriesFor {
		return s.delivered(d.Event)
	}
	return s.store.update(func(tx *transaction) error {
		s.work(tx).save(d)
		return nil
	})
}

// Webhook returns the body of an event's webhook and its current signature.
func (s *Sandbox) Webhook(id string) (body []byte, signature string, err error) {
	body, _, err = s.addressed(id)
	return body, signatureOf(body, s.config.WebhookSecret), err
}

// addressed returns the body of an event's webhook, and the signing secret of each URL that it is sent to.
func (s *Sandbox) addressed(id string) (body []byte, secrets map[string]string, err error) {
	secrets, err = look(s, func(w *work) (map[string]string, error) {
		e, err := find[event](w, id)
		if err != nil {
			return nil, err
		}
		body = encode(w.show(encode(e)))
		secrets := map[string]string{}
		for _, to := range list[endpoint](w, "") {
			if to.wants(e.Type) {
				secrets[to.URL] = to.Secret
			}
		}
		if url := s.deliveries.target(); url != "" {
			secrets[url] = s.config.WebhookSecret
		}
		return secrets, nil
	})
	return body, secrets, err
}

func signatureOf(body []byte, secret string) string {
	return webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{
		Payload: body, Secret: secret, Timestamp: time.Now(),
	}).Header
}

// send sends the webhook of an event to all URLs. If one of them fails, send returns an error, and a later attempt
// sends it to all again.
func (s *Sandbox) send(ctx context.Context, id string) error {
	body, secrets, err := s.addressed(id)
	for url, secret := range secrets {
		err = errors.Join(err, s.post(ctx, url, body, signatureOf(body, secret)))
	}
	return err
}

func (s *Sandbox) post(ctx context.Context, url string, body []byte, signature string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
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

// endpoint is an address for webhooks, in addition to the configured one.
type endpoint struct {
	base
	APIVersion    text     `json:"api_version"`
	Description   text     `json:"description"`
	EnabledEvents []string `json:"enabled_events"`
	Status        string   `json:"status"`
	URL           string   `json:"url"`
	Secret        string   `json:"sandbox_secret"`
}

func (*endpoint) kind() string { return "we" }

// wants reports whether the endpoint receives events of this type.
func (e *endpoint) wants(kind string) bool {
	return e.Status == "enabled" && (slices.Contains(e.EnabledEvents, "*") || slices.Contains(e.EnabledEvents, kind))
}

// createEndpoint returns the endpoint with its secret, which no other response has.
func createEndpoint(w *work) (any, error) {
	e := &endpoint{
		base: w.newBase("we", "webhook_endpoint"), APIVersion: text(w.form.String("api_version")),
		Description: text(w.form.String("description")), EnabledEvents: w.form.Strings("enabled_events"),
		Status: "enabled", URL: w.form.Required("url"), Secret: "whsec_" + cryptorand.Text(),
	}
	w.save(e)
	return struct {
		*endpoint
		Shown string `json:"secret"`
	}{e, e.Secret}, nil
}

func updateEndpoint(w *work, e *endpoint) (any, error) {
	w.mergeMetadata(&e.base)
	if w.form.Has("enabled_events") {
		e.EnabledEvents = w.form.Strings("enabled_events")
	}
	if w.form.Has("disabled") {
		e.Status = map[bool]string{true: "disabled", false: "enabled"}[w.form.Bool("disabled", false)]
	}
	w.save(e)
	return e, nil
}

func deleteEndpoint(w *work, e *endpoint) (any, error) {
	w.tx.delete(e.ID)
	return e.remains(), nil
}
