package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stripe/stripe-go/v84/webhook"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/store"
)

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
