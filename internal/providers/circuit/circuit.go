// Package circuit has a circuit breaker, so that requests fail fast while a provider is down.
package circuit

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// Breaker is the circuit breaker of a provider.
type Breaker struct {
	*gobreaker.TwoStepCircuitBreaker[struct{}]
	pause time.Duration
	open  atomic.Pointer[time.Time] // the end of the last pause
}

// failuresToOpen is the number of consecutive failures that mean an outage.
const failuresToOpen = 5

// ErrNoSign is reported for a request whose end does not show whether there is an outage.
var ErrNoSign = errors.New("the request does not show whether the provider is down")

// New returns the breaker of a provider, such as "the blob store". Once open, it refuses requests for a pause (5 s if
// that is 0), and then admits one.
func New(provider string, pause time.Duration, log *slog.Logger) *Breaker {
	b := &Breaker{pause: cmp.Or(pause, 5*time.Second)}
	b.TwoStepCircuitBreaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        provider,
		MaxRequests: 1,
		Timeout:     b.pause,
		ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= failuresToOpen },
		IsExcluded:  func(err error) bool { return errors.Is(err, context.Canceled) || errors.Is(err, ErrNoSign) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				until := time.Now().Add(b.pause)
				b.open.Store(&until)
			}
			if from == gobreaker.StateClosed || to == gobreaker.StateClosed { // not after each trial request
				log.Warn("the circuit to "+provider+" changed", "state", to.String())
			}
		},
	})
	return b
}

// Rest returns the remaining time in which all requests are refused. It is 0 while one is admitted.
func (b *Breaker) Rest() time.Duration {
	until := b.open.Load()
	if until == nil {
		return 0
	}
	return max(0, time.Until(*until))
}
