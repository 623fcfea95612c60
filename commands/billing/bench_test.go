package billing_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	api "github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/internal/providers/payments/stripe"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkSubscriptionsAtOnce subscribes 40 accounts concurrently with a provider that permits 25 requests a second.
// The baseline requests only customers and subscriptions, as fast as permitted.
func BenchmarkSubscriptionsAtOnce(b *testing.B) {
	many := benchtest.Size(40, 4)
	s := newWorld(b)
	var ours, bare time.Duration
	var asked, refused, bareAsked int
	for b.Loop() {
		l, address := s.limited(25)
		gateway, err := stripe.New(stripe.Config{Key: key, URL: address, Rate: 20, Now: s.sandbox.Now})
		require.NoError(b, err)
		instance := s.instance(s.Log, gateway, "")
		ours += atOnce(b, many, func(ctx context.Context) error {
			_, err := instance.Subscribe(ctx, accounts.NewAccountID(), pro, none, origin)
			return err
		})
		require.NoError(b, gateway.Close())
		asked, refused = asked+l.asked, refused+l.refused

		l, _ = s.limited(25)
		bare += atOnce(b, many, func(ctx context.Context) error { return s.subscribeBare(ctx, l) })
		bareAsked += l.asked
	}
	each := float64(b.N * many)
	benchtest.Compare(b, "s", ours.Seconds()/float64(b.N), bare.Seconds()/float64(b.N))
	benchtest.Compare(b, "calls/op", float64(asked)/each, float64(bareAsked)/each)
	b.ReportMetric(float64(refused)/each, "refused/op")
	benchtest.Finish(b)
}

// atOnce runs a function many times concurrently, and returns how long that takes. All calls must succeed.
func atOnce(b *testing.B, many int, do func(ctx context.Context) error) time.Duration {
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	failed := make(chan error, many)
	began := time.Now()
	var all sync.WaitGroup
	for range many {
		all.Go(func() { failed <- do(ctx) })
	}
	all.Wait()
	took := time.Since(began)
	for range many {
		require.NoError(b, <-failed)
	}
	return took
}

// subscribeBare creates a customer with a subscription, each when the limit permits it.
func (s *world) subscribeBare(ctx context.Context, l *limited) error {
	l.wait()
	customer, err := s.api.V1Customers.Create(ctx, &api.CustomerCreateParams{})
	if err != nil {
		return err
	}
	l.wait()
	_, err = s.api.V1Subscriptions.Create(ctx, &api.SubscriptionCreateParams{
		Customer: &customer.ID, PaymentBehavior: new("default_incomplete"),
		Items: []*api.SubscriptionCreateItemParams{{Price: &pro}},
	})
	return err
}

// wait waits until another request is permitted.
func (l *limited) wait() {
	for !l.permits(time.Now()) {
		time.Sleep(10 * time.Millisecond)
	}
}
